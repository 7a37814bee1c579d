/** What a damaged row of the embedded engine's file comes to: an error that names it, and nothing else. */
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openEmbeddedStore } from '../../server/engines/embedded/open.ts';
import type { Log } from '../../server/ports/log.ts';
import { type Store, StoreDamaged } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { createTestFolder } from './embedded-under-test.ts';
import { changeOutput } from './output-calls.ts';
import {
  buildState,
  endingOf,
  finish,
  must,
  readFeed,
  readState,
  register,
  settle,
  submit,
  writeTask,
} from './store-under-test.ts';

let testFolder: ReturnType<typeof createTestFolder>;
let clock: FakeClock;
let opened: Store[];
let logged: string[];
const DAY_MS = 24 * 3_600_000;
const PIECE = { pieces: ['{"text":"a"}'], by: { writer: 'w', from: 0 } };

beforeEach(() => {
  testFolder = createTestFolder();
  clock = createFakeClock();
  opened = [];
  logged = [];
});
afterEach(async () => {
  for (const store of opened) await store.close();
  testFolder.remove();
});

const LOG: Log = { ...SILENT, error: (_fields, message) => void logged.push(message) };

async function open(): Promise<Store> {
  const store = await openEmbeddedStore({ storage: `sqlite:${testFolder.path}`, clock, log: LOG });
  opened.push(store);
  return store;
}

/** Changes the file while no store has it open. */
function runSql(sql: string): void {
  const sqlite = new DatabaseSync(testFolder.path);
  sqlite.exec(sql);
  sqlite.close();
}

const damage = (key: string): void =>
  runSql(`UPDATE kv SET value = replace(value, '"v"', '"w"') WHERE key = '${key}'`);

test('damage of a stored value is an error that names the key, never a wrong value', async () => {
  const store = await open();
  await finish(store, 't1');
  await finish(store, 't2');
  await store.close();
  damage('task/t1/done');
  const again = await open();
  const reading = again.get('task', 't1');
  await expect(reading).rejects.toThrow(StoreDamaged);
  await expect(reading).rejects.toThrow(/"task\/t1\/done".*is damaged/);
  expect((await readState(again, 't2')).value.status).toBe('success');
  await expect(submit(again, 't1')).rejects.toThrow(/task\/t1\/done/);
});

test('damage of an event ends its feed with an error that names the key', async () => {
  const store = await open();
  await finish(store, 't1');
  await store.close();
  runSql("UPDATE kv SET value = '[1,\"t9\"]' WHERE key LIKE 'feed/s/%'");
  await expect(readFeed(await open(), 's', null, 1)).rejects.toThrow(/"feed\/s\/.*is damaged/);
});

test('damage that hides an event within a feed ends the feed with an error that names the next key', async () => {
  const store = await open();
  for (const id of ['t1', 't2', 't3']) await finish(store, id);
  await store.close();
  runSql("DELETE FROM kv WHERE key LIKE 'feed/s/%' AND value LIKE '%t2%'");
  const reading = readFeed(await open(), 's', null, 3);
  await expect(reading).rejects.toThrow(/damaged.*"feed\/s\/.*can't be found/);
});

test('damage of open tasks and agents sets them aside, and everything else is loaded', async () => {
  const store = await open();
  const ids = Array.from({ length: 200 }, (_, index) => `t${String(index).padStart(3, '0')}`);
  const agent_ids = ids.map((id) => `a-${id}`);
  for (const id of ids) await submit(store, id);
  for (const agent_id of agent_ids) await register(store, agent_id);
  await store.close();
  // The first and the last of all, neighbours, and both sides of the end of a slice.
  const lost = [0, 63, 64, 65, 100, 101, 199];
  for (const index of lost) damage(`open/${ids[index]}`);
  for (const index of lost) damage(`agent/${agent_ids[index]}`);
  const again = await open();
  for (const [index, id] of ids.entries()) {
    const agent = await again.get('agent', agent_ids[index] ?? '');
    if (!lost.includes(index)) {
      expect((await readState(again, id)).value.status).toBe('pending');
      expect(agent?.value.agent_id).toBe(agent_ids[index]);
      continue;
    }
    await expect(again.get('task', id)).rejects.toThrow(StoreDamaged);
    await expect(again.getForCommit(id)).rejects.toThrow(`"open/${id}"`);
    const write = writeTask(id, 'absent', buildState(again));
    await expect(again.commit(write)).rejects.toThrow(StoreDamaged);
    await expect(again.readOutput(id, 0, 10)).rejects.toThrow(StoreDamaged);
    expect(agent).toBeUndefined();
  }
  await register(again, 'a-t000');
  await settle(again, 't001');
  await again.close();
  const third = await open();
  expect((await third.get('agent', 'a-t000'))?.value.agent_id).toBe('a-t000');
  expect((await readState(third, 't001')).value.status).toBe('success');
  await expect(third.get('task', 't000')).rejects.toThrow(StoreDamaged);
});

test('damage of the row of the high-water mark refuses the start, naming the key', async () => {
  await (await open()).close();
  runSql("UPDATE kv SET value = value || ' ' WHERE key = 'meta/mark'");
  await expect(open()).rejects.toThrow(/"meta\/mark".*is damaged/);
});

test('damage is detected when a value is stored under the key of another', async () => {
  const store = await open();
  await finish(store, 't1');
  await store.close();
  runSql("UPDATE kv SET key = 'task/t2/done' WHERE key = 'task/t1/done'");
  await expect((await open()).get('task', 't2')).rejects.toThrow(/"task\/t2\/done".*is damaged/);
});

test('a damaged row does not keep retention from the others: it goes, and the log names it', async () => {
  const store = await open();
  for (const id of ['t1', 't2', 't3', 't4']) {
    await submit(store, id, { cli_session_id: id });
    must(await changeOutput(store, id, { begins: { writer: 'w' }, append: PIECE }));
    must(await store.commit(await endingOf(store, id)));
  }
  const value = { request_id: 't1', fingerprint: 'f', create_time: 1 };
  for (const id of ['k1', 'k2'])
    must(await store.commit({ writes: [{ kind: 'key', id, expect: 'absent', value, keepMs: 1_000 }] }));
  await store.close();
  // Of each kind that retention reads, the first that it comes to, and others behind it.
  for (const key of ['task/t1/done', 'feed/t2/%', 'key/k1', 'output/t3/%', 'feed/t4/%', 'ended/%/t4'])
    runSql(`UPDATE kv SET value = value || ' ' WHERE key LIKE '${key}'`);
  const again = await open();
  await clock.advance(2 * DAY_MS);
  const retention = { keepTasksMs: DAY_MS, sessionEventsMax: 5, outputBytesMax: 2 ** 20 };
  while ((await again.trim(retention, 100)) > 0);
  await clock.advance(2 * DAY_MS);
  while ((await again.trim(retention, 100)) > 0);
  for (const id of ['t1', 't2', 't3']) expect(await again.get('task', id)).toBeUndefined();
  for (const id of ['k1', 'k2']) expect(await again.get('key', id)).toBeUndefined();
  expect(logged).toContain('a damaged row was removed: what it held is past its time, or cannot be read');
  await finish(again, 'after');
  expect((await readState(again, 'after')).value.status).toBe('success');
});

// What a flipped bit makes of a key may be no valid text, before or behind the sign that it is read as.
test.each(['b6', 'fa'])(
  'a damaged key that is no valid text (%s) is an error, and nothing goes in circles',
  async (byte) => {
    const spoil = (prefix: string): void =>
      runSql(`UPDATE kv SET key = CAST(CAST(substr(key, 1, length(key) - 1) AS BLOB) || x'${byte}' AS TEXT)
            WHERE key = (SELECT max(key) FROM kv WHERE key LIKE '${prefix}%')`);
    const store = await open();
    for (const id of ['t1', 't2', 't3']) await finish(store, id);
    await submit(store, 't4');
    await store.close();
    for (const prefix of ['all/', 'ended/']) spoil(prefix);
    const again = await open();
    const listed = again.list('tasks', {}, { limit: 10 }).then(
      ({ items }) => items.length,
      (error: unknown) => error instanceof StoreDamaged,
    );
    expect([true, 3]).toContain(await listed);
    await clock.advance(2 * DAY_MS);
    const retention = { keepTasksMs: DAY_MS, sessionEventsMax: 5, outputBytesMax: 2 ** 20 };
    const trimAll = async (): Promise<void> => {
      while ((await again.trim(retention, 100)) > 0);
    };
    for (let passes = 0; passes < 3; passes += 1) await trimAll().catch(() => undefined);
    expect(logged.length).toBeLessThanOrEqual(1);
    await again.close();
    spoil('open/');
    const started = await open().then(
      async (third) => (await third.get('task', 't4')) === undefined,
      (error: unknown) => /damaged/.test(String(error)),
    );
    expect(started).toBe(true);
  },
);

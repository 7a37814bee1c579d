/**
 * One damaged row of each kind in the store of a whole world: the gateway starts, its duties go on, lists and
 * streams have the others, all that is past its time goes, and new tasks are served as before.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openFileHere } from '../../server/engines/embedded/open.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { listAgents } from '../harness/listings.ts';
import { createWallClock, SILENT } from '../harness/silent-log.ts';
import { buildRegistration, countIds, createWorld, type World } from '../harness/world.ts';
import { read, submitLong as submit } from '../harness/world-calls.ts';
import { createTestFolder } from './embedded-under-test.ts';
import { FILLED_MS, STORED_FOLDER } from './stored-world.ts';

const DAY_MS = 24 * 3_600_000;
/** In the stored world. */
const TASKS = 21;
const NEWEST =
  readdirSync(STORED_FOLDER)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .at(-1) ?? '';
const SQL = readFileSync(join(STORED_FOLDER, NEWEST), 'utf8');
/** Keys like these; without the row of the high-water mark nothing opens. */
const KINDS = [...new Set([...SQL.matchAll(/^INSERT INTO kv VALUES \('([a-z-]+)/gm)].map(([, kind]) => kind))]
  .flatMap((kind) => (kind === 'task' ? ['task/%/done', 'task/%/input'] : [`${kind}/%`]))
  .filter((kind) => kind !== 'meta/%');

let testFolder: ReturnType<typeof createTestFolder>;
beforeEach(() => {
  testFolder = createTestFolder();
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  testFolder.remove();
});

/** Opens the world, of which one row is damaged: the first whose key is like this, or the last. */
async function openDamaged(kind: string, order: 'ASC' | 'DESC'): Promise<World> {
  const sqlite = new DatabaseSync(testFolder.path);
  sqlite.exec(SQL);
  const damaged = `SELECT key FROM kv WHERE key LIKE '${kind}' ORDER BY key ${order} LIMIT 1`;
  sqlite.exec(`UPDATE kv SET crc = crc + 1 WHERE key = (${damaged})`);
  sqlite.close();
  const clock = createFakeClock();
  await clock.advance(FILLED_MS);
  const openStorage = () => openFileHere(testFolder.path);
  const store = await createEmbeddedStore({
    openStorage,
    clock,
    log: SILENT,
    wallMs: createWallClock(clock),
  });
  const ids = countIds();
  const newRequestId = () => `new-${ids.newRequestId()}`;
  return createWorld(store, { clock, ids: { ...ids, newRequestId } });
}

/** What many tasks are in: one that is damaged hides none of the others. */
async function readAll({ gateway, clock }: World): Promise<void> {
  const { tasks } = await gateway.listTasks({ limit: 100 });
  expect(tasks.length).toBeGreaterThanOrEqual(TASKS - 1);
  for (const { agent_id } of (await listAgents(gateway)).agents) await gateway.getAgent(agent_id);
  expect((await clock.drive(gateway.getOverview(10))).store).toMatchObject({ ok: true, error: null });
  const leaving = new AbortController();
  const events: unknown[] = [];
  const stream = gateway.subscribeEvents('trimmed', null, (item) => item, leaving.signal);
  for await (const item of stream) if (events.push(item) >= 2) break;
  leaving.abort();
}

test.each(KINDS.flatMap((kind) => [[kind, 'ASC'] as const, [kind, 'DESC'] as const]))(
  'a damaged row of %s (%s) ends no duty',
  async (kind, order) => {
    const world = await openDamaged(kind, order);
    const { clock, gateway, store } = world;
    await world.pass(5_000);
    await readAll(world);
    await gateway.registerAgent(buildRegistration('fresh', { agent_tags: ['fresh'] }));
    const request_id = await submit(world, { task_tags: ['fresh'] });
    await gateway.reportResult({ request_id, agent_id: 'fresh', status: 'success', result: {} });
    expect((await read(world, request_id)).status).toBe('success');
    const retention = { keepTasksMs: DAY_MS, sessionEventsMax: 1, outputBytesMax: 2 ** 20 };
    for (let days = 0; days < 3; days += 1) {
      await clock.advance(DAY_MS);
      await world.pass(2_000);
      while ((await store.trim(retention, 500)) > 0);
    }
    expect(await store.get('task', request_id)).toBeUndefined();
    await store.close();
  },
);

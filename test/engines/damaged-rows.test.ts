/**
 * One damaged row of each kind in the store of a whole world: the gateway starts, its duties go on, lists and
 * streams have the others, all that is past its time goes, and new tasks are served as before.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSqliteStore } from '../../server/engines/sqlite/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { listAgents } from '../harness/listings.ts';
import { createWallClock, SILENT } from '../harness/silent-log.ts';
import { buildRegistration, countIds, createWorld, type World } from '../harness/world.ts';
import { read, submitLong as submit } from '../harness/world-calls.ts';
import { createTestFolder, openFileHere } from './sqlite-under-test.ts';
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
/** Where texts are that are parsed: a table, its column, which of its rows, and their order. */
const KINDS: readonly (readonly [table: string, column: string, where: string, by: string])[] = [
  ...['task', 'input', 'details', 'agent', 'key'].map(
    (kind) => ['value', 'json', `kind = '${kind}'`, 'id'] as const,
  ),
  ['large', 'json', 'true', 'id'],
  ['ended', 'json', 'true', 'ms'],
  ['count', 'step', 'true', 'pending'],
  ['output', 'replaced', 'true', 'task'],
  ['piece', 'json', 'json IS NOT NULL', 'task'],
];

let testFolder: ReturnType<typeof createTestFolder>;
beforeEach(() => {
  testFolder = createTestFolder();
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  testFolder.remove();
});

/** Opens the world, of which one row is damaged: the first of this kind, or the last. */
async function openDamaged(
  [table, column, where, by]: (typeof KINDS)[number],
  order: 'ASC' | 'DESC',
): Promise<World> {
  const sqlite = new DatabaseSync(testFolder.path);
  sqlite.exec(SQL);
  const end = sqlite.prepare(`SELECT * FROM ${table} WHERE ${where} ORDER BY ${by} ${order} LIMIT 1`).get();
  const key = Object.keys(end ?? {}).slice(0, 2);
  const damage = `UPDATE ${table} SET ${column} = '{' WHERE ${key.map((name) => `${name} = ?`).join(' AND ')}`;
  expect(sqlite.prepare(damage).run(...key.map((name) => end?.[name] ?? null)).changes).toBe(1);
  sqlite.close();
  const clock = createFakeClock();
  await clock.advance(FILLED_MS);
  const store = createSqliteStore(openFileHere(testFolder.path), {
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

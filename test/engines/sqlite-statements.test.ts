/** The statements of the SQLite engine: each finds its rows by an index, and a task’s life has few. */
import { expect, test } from 'vitest';
import { openMemory } from '../../server/engines/sqlite/connection.ts';
import { createSqliteStore } from '../../server/engines/sqlite/store.ts';
import { writeHere } from '../../server/engines/sqlite/writer.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { createWallClock, SILENT } from '../harness/silent-log.ts';
import { assign, finish, readState, register, settle, submit } from './store-under-test.ts';

/** Read whole: counts, steps, tags and given lists are few, and a start reads the ids of all agents. */
const READ_WHOLE = /^SCAN (count|step|tag|agent|json_each)\b/;
/** The first rows in the order of a key. */
const FIRST_ROWS = /^SELECT \w+ FROM (due|ended) ORDER BY [\w ,]+ LIMIT/;

/** A store in memory whose statements are noted: what was prepared, and what ran. */
function openNoted() {
  const prepared: string[] = [];
  const ran: string[] = [];
  const sqlite = openMemory();
  const prepare = sqlite.prepare.bind(sqlite);
  sqlite.prepare = (sql: string) => {
    prepared.push(sql);
    const statement = prepare(sql);
    for (const name of ['get', 'all', 'run'] as const) {
      const call = statement[name].bind(statement) as (...values: never[]) => never;
      statement[name] = ((...values: never[]) => {
        ran.push(sql);
        return call(...values);
      }) as never;
    }
    return statement;
  };
  const clock = createFakeClock();
  const tables = { writer: writeHere(sqlite), reader: sqlite, isShared: true };
  const store = createSqliteStore(tables, { clock, log: SILENT, wallMs: createWallClock(clock) });
  return { sqlite, store, prepared, ran };
}

test('every query searches by an index, and sorts nothing', () => {
  const { sqlite, prepared } = openNoted();
  const queries = prepared.filter((sql) => /^(SELECT|UPDATE|DELETE|INSERT)/.test(sql));
  expect(queries.length).toBeGreaterThan(60);
  const wrong: string[] = [];
  for (const sql of queries) {
    const plan = sqlite
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((row) => String(row.detail));
    for (const detail of plan) {
      const isWhole = detail.startsWith('SCAN ') && !READ_WHOLE.test(detail) && !FIRST_ROWS.test(sql);
      if (isWhole || detail.includes('TEMP B-TREE')) wrong.push(`${detail}: ${sql}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('a task is submitted, assigned and reported in few statements', async () => {
  const { store, ran } = openNoted();
  await register(store, 'A', { max_concurrent: 9 });
  await finish(store, 'first');
  const countStatements = async (work: () => Promise<unknown>): Promise<number> => {
    ran.length = 0;
    await work();
    return ran.filter((sql) => !/^(BEGIN|COMMIT)/.test(sql)).length;
  };
  const counts = [
    await countStatements(() => submit(store, 't1')),
    await countStatements(() => assign(store, 't1', 'A')),
    await countStatements(() => readState(store, 't1')),
    await countStatements(() => settle(store, 't1')),
  ];
  // Of each commit one is of its group: the counts.
  expect(counts).toEqual([8, 10, 0, 10]);
});

test('a read that fails is an outage of its call, and never reads as absent', async () => {
  const { sqlite, store } = openNoted();
  await submit(store, 't1');
  sqlite.exec('ALTER TABLE value RENAME TO elsewhere; ALTER TABLE entry RENAME TO somewhere');
  for (const read of [
    () => store.get('input', 'other'),
    () => store.get('task', 'other'),
    () => store.readOutput('t1', 0, 1),
    () => store.list('tasks', {}, { limit: 1 }),
  ])
    await expect(read()).rejects.toThrow(StoreUnavailable);
  sqlite.exec('ALTER TABLE elsewhere RENAME TO value; ALTER TABLE somewhere RENAME TO entry');
  expect((await store.get('input', 't1'))?.value.request_id).toBe('t1');
});

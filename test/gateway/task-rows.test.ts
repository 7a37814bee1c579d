/**
 * Tasks as rows, counts and the cancellation of many, on each engine: what matches, in which order, page by
 * page; and that a call looks at no more than its share however many tasks there are.
 */
import { describe, expect, test } from 'vitest';
import type { TaskFilter } from '../../server/ports/admin.ts';
import { REFUSED } from '../harness/fake-pusher.ts';
import { countTasks } from '../harness/listings.ts';
import { describeEachStore, QUICK_STORES } from '../harness/stores.ts';
import { buildRegistration, type World } from '../harness/world.ts';
import { read, submit, submitLong } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

/** Later than every task of these tests. */
const LATER = 9_999_999_999;
/** More pages than any list of these tests has. */
const PAGES_MAX = 30;

/** How many tasks match. */
const count = (world: World, filter: TaskFilter) => countTasks(world.gateway, filter);

/** Three that wait for `gpu`, one that runs, one that succeeded, one without an agent, one cancelled. */
async function arrange(world: World): Promise<Readonly<Record<string, string>>> {
  await world.gateway.registerAgent(buildRegistration('worker', { max_concurrent: 2 }));
  await world.runUntilIdle();
  const ids: Record<string, string> = {};
  const add = async (name: string, more: object): Promise<void> => {
    ids[name] = await submit(world, { payload: { name }, ...more });
    await world.clock.advance(1_000);
  };
  await add('done', {});
  await world.gateway.reportResult({ request_id: ids.done ?? '', agent_id: 'worker', status: 'success' });
  await add('lost', { task_tags: ['none'], task_type: 'other' });
  for (const name of ['w1', 'w2', 'w3']) await add(name, { task_tags: ['gpu'], queue_timeout: 300 });
  await add('gone', { task_tags: ['gpu'], queue_timeout: 300, cli_session_id: 'mine' });
  await world.gateway.cancelTask(ids.gone ?? '');
  await add('runs', {});
  return ids;
}

async function listNames(world: World, filter: TaskFilter, limit = 100): Promise<readonly string[]> {
  const names: string[] = [];
  let pages = 0;
  let cursor: string | undefined;
  do {
    const page = await world.gateway.listTasks({ ...filter, limit, ...(cursor && { cursor }) });
    expect(page.tasks.length).toBeLessThanOrEqual(limit);
    for (const { payload_preview } of page.tasks) names.push(JSON.parse(payload_preview).name);
    cursor = page.next_cursor ?? undefined;
    pages += 1;
    expect(pages, JSON.stringify(filter)).toBeLessThan(PAGES_MAX);
  } while (cursor !== undefined);
  return names;
}

describeEachStore('on %s', (_name, open) => {
  const start = useWorlds(open);

  test('rows are found by each filter and by several, newest first, also row by row', async () => {
    const world = await start();
    await arrange(world);
    const rows: readonly (readonly [TaskFilter, string])[] = [
      [{}, 'runs gone w3 w2 w1 lost done'],
      [{ status: ['pending'] }, 'w3 w2 w1'],
      [{ status: ['running'] }, 'runs'],
      [{ status: ['pending', 'failed'] }, 'gone w3 w2 w1 lost'],
      [{ outcome: ['cancelled', 'no_agent'] }, 'gone lost'],
      [{ outcome: ['success'] }, 'done'],
      [{ outcome: ['timeout'] }, ''],
      [{ status: ['pending'], outcome: ['success'] }, ''],
      [{ type: 'other' }, 'lost'],
      [{ tag: 'gpu' }, 'gone w3 w2 w1'],
      [{ tag: 'gpu', status: ['failed'] }, 'gone'],
      [{ session: 'mine' }, 'gone'],
      [{ agent: 'worker' }, 'runs done'],
      [{ waiting: true }, 'w3 w2 w1'],
      [{ waiting: false }, 'runs gone lost done'],
      [{ waiting: true, status: ['pending'] }, 'w3 w2 w1'],
      [{ waiting: true, status: ['running'] }, ''],
      [{ waiting: false, status: ['pending', 'running'] }, 'runs'],
      [{ waiting: true, status: ['success', 'failed'] }, ''],
      [{ waiting: true, outcome: ['cancelled'] }, ''],
      [{ waiting: true, tag: 'gpu' }, 'w3 w2 w1'],
      [{ waiting: true, session: 'mine' }, ''],
      [{ waiting: false, agent: 'worker' }, 'runs done'],
    ];
    for (const [filter, names] of rows) {
      const what = JSON.stringify(filter);
      expect((await listNames(world, filter)).join(' '), what).toBe(names);
      expect((await listNames(world, filter, 1)).join(' '), `${what}, one by one`).toBe(names);
      const total = names.split(' ').filter(Boolean).length;
      expect(await count(world, filter), what).toMatchObject({ total, complete: true });
    }
  });

  test('rows are found by their time, which includes the first moment and not the last', async () => {
    const world = await start();
    const ids = await arrange(world);
    const created = (await read(world, ids.w2 ?? '')).create_time;
    expect(await listNames(world, { created_after: created })).toEqual(['runs', 'gone', 'w3', 'w2']);
    expect(await listNames(world, { created_before: created })).toEqual(['w1', 'lost', 'done']);
    expect(await listNames(world, { created_after: created, created_before: created })).toEqual([]);
    expect(await listNames(world, { created_after: -1e300, created_before: 1e300 })).toHaveLength(7);
  });

  test('a row says when, how and with what, without the whole payload', async () => {
    const world = await start();
    const text = '好'.repeat(50_000);
    const id = await submit(world, { task_tags: ['none'], payload: { text } });
    const [row] = (await world.gateway.listTasks({ limit: 1 })).tasks;
    expect(row).toMatchObject({
      request_id: id,
      status: 'failed',
      outcome: 'no_agent',
      agent_id: null,
      acknowledged: false,
      assigned_time: null,
      gives_up_time: null,
      payload_bytes: 150_011,
      payload_preview: `{"text":"${'好'.repeat(231)}`,
    });
    expect(row?.ended_time).toBeGreaterThanOrEqual(row?.create_time ?? Number.NaN);
  });

  test('counts are by status and by outcome, whatever of these is asked for', async () => {
    const world = await start();
    await arrange(world);
    const counts = {
      by_status: { pending: 3, running: 1, success: 1, failed: 2 },
      waiting: 3,
      by_outcome: { success: 1, failed: 0, cancelled: 1, timeout: 0, no_agent: 1, agent_lost: 0 },
    };
    expect(await count(world, {})).toMatchObject({ total: 7, complete: true, ...counts });
    const filter = { status: ['failed'], outcome: ['no_agent'] } as const;
    expect(await count(world, filter)).toMatchObject({ total: 1, complete: true, ...counts });
    expect(await count(world, { ...filter, tag: 'none' })).toMatchObject({
      total: 1,
      complete: true,
      by_status: { pending: 0, running: 0, success: 0, failed: 1 },
    });
    expect(await count(world, { waiting: false })).toMatchObject({ total: 4, ...counts });
    expect(await count(world, { waiting: true, tag: 'gpu' })).toMatchObject({
      total: 3,
      waiting: 3,
      by_status: { pending: 3, running: 0, success: 0, failed: 1 },
    });
  });

  test('lists, counts, a cancellation and the overview agree on what waits, running tasks included', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('worker', { max_concurrent: 2 }));
    const endpoint = 'http://refuses.test/tasks';
    world.pusher.script(endpoint, REFUSED);
    await world.gateway.registerAgent(buildRegistration('refuses', { agent_tags: ['gpu'], endpoint }));
    await world.runUntilIdle();
    await submitLong(world, { payload: { name: 'taken' } });
    await submitLong(world, { payload: { name: 'untaken' }, task_tags: ['gpu'] });
    await submitLong(world, { payload: { name: 'pending' }, task_tags: ['none'], queue_timeout: 600 });
    // Until three pushes failed and ten seconds are over.
    await world.pass(15_000);
    expect(await listNames(world, { waiting: true })).toEqual(['pending', 'untaken']);
    expect(await listNames(world, { waiting: true, status: ['running'] }, 1)).toEqual(['untaken']);
    expect(await listNames(world, { waiting: false })).toEqual(['taken']);
    const { tasks } = await world.gateway.listTasks({ limit: 9 });
    expect(
      tasks.map(({ status, waiting, gives_up_time }) => [status, waiting, gives_up_time !== null]),
    ).toEqual([
      ['pending', true, true],
      ['running', true, false],
      ['running', false, false],
    ]);
    const by_status = { pending: 1, running: 2, success: 0, failed: 0 };
    const counts = { by_status, waiting: 2, complete: true };
    expect(await count(world, {})).toMatchObject({ total: 3, ...counts });
    for (const more of [{}, { type: 't' }]) {
      const countSome = async (filter: TaskFilter) => await count(world, { ...more, ...filter });
      expect(await countSome({ waiting: true })).toMatchObject({ total: 2, ...counts });
      expect(await countSome({ waiting: false })).toMatchObject({ total: 1, ...counts });
      expect(await countSome({ waiting: true, status: ['running'] })).toMatchObject({ total: 1, ...counts });
      expect(await countSome({ waiting: false, status: ['running'] })).toMatchObject({ total: 1, ...counts });
    }
    const overview = await world.gateway.getOverview(1);
    expect(overview.tasks).toEqual({ waiting: 2, running: 1, waiting_for_answer: 0 });
    expect([overview.series.waiting.at(-1), overview.series.running.at(-1)]).toEqual([2, 1]);
    expect(overview.oldest_waiting[0]).toMatchObject({ gives_up_time: tasks[1]?.deadline_time });
    const filter = { waiting: true, status: ['running'] } as const;
    const cancellation = { filter, request_ids: null, created_before: LATER, dry_run: false, cursor: null };
    expect(await world.gateway.cancelTasks(cancellation)).toMatchObject({ matched: 1, cancelled: 1 });
    expect(await listNames(world, { waiting: true })).toEqual(['pending']);
  });

  test('many are cancelled: those that match, are open and came before', async () => {
    const world = await start();
    const ids = await arrange(world);
    const created_before = (await read(world, ids.w3 ?? '')).create_time;
    const cancellation = { created_before, cursor: null, filter: { tag: 'gpu' }, request_ids: null };
    const expected = { matched: 2, cancelled: 2, already_ended: 0, not_found: 0, next_cursor: null };
    expect(await world.gateway.cancelTasks({ ...cancellation, dry_run: true })).toEqual(expected);
    expect(await listNames(world, { status: ['pending'] })).toEqual(['w3', 'w2', 'w1']);
    expect(await world.gateway.cancelTasks({ ...cancellation, dry_run: false })).toEqual(expected);
    expect(await listNames(world, { status: ['pending'] })).toEqual(['w3']);
    expect((await read(world, ids.w1 ?? '')).error_info).toBe('cancelled by user');
    expect(await world.gateway.cancelTasks({ ...cancellation, dry_run: false })).toEqual({
      ...expected,
      matched: 0,
      cancelled: 0,
    });
  });

  test('named tasks are cancelled once each, and the receipt says what became of the others', async () => {
    const world = await start();
    const ids = await arrange(world);
    const request_ids = [ids.w1, ids.w1, ids.done, 'unknown'].map(String);
    const cancellation = { request_ids, filter: null, created_before: LATER, dry_run: false, cursor: null };
    expect(await world.gateway.cancelTasks(cancellation)).toEqual({
      matched: 2,
      cancelled: 1,
      already_ended: 1,
      not_found: 1,
      next_cursor: null,
    });
    expect((await read(world, ids.w1 ?? '')).status).toBe('failed');
    expect((await read(world, ids.w2 ?? '')).status).toBe('pending');
  });

  test('a dry run with named tasks says what would be cancelled, and cancels nothing', async () => {
    const world = await start();
    const ids = await arrange(world);
    const request_ids = [ids.w1, ids.runs, ids.done].map(String);
    const cancellation = { request_ids, filter: null, created_before: LATER, cursor: null };
    const dry = await world.gateway.cancelTasks({ ...cancellation, dry_run: true });
    expect(dry).toMatchObject({ matched: 3, cancelled: 2, already_ended: 1 });
    await world.runUntilIdle();
    expect((await read(world, ids.w1 ?? '')).status).toBe('pending');
    expect((await read(world, ids.runs ?? '')).status).toBe('running');
    expect(await world.gateway.cancelTasks({ ...cancellation, dry_run: false })).toEqual(dry);
  });

  test('a named task that came at `created_before`, or after it, is not cancelled', async () => {
    const world = await start();
    const ids = await arrange(world);
    const created_before = (await read(world, ids.w2 ?? '')).create_time;
    const request_ids = [ids.w1, ids.w2, ids.w3].map(String);
    const cancellation = { request_ids, filter: null, created_before, dry_run: false, cursor: null };
    expect(await world.gateway.cancelTasks(cancellation)).toMatchObject({ matched: 1, cancelled: 1 });
    expect(await listNames(world, { status: ['pending'] })).toEqual(['w3', 'w2']);
  });

  test.each(['!', 'MB', 'MA=='])('%s, which no call returned as a cursor, is refused', async (cursor) => {
    const world = await start();
    const refusal = { code: 'validation_failed' };
    const others = { created_before: 1, dry_run: true, cursor };
    await expect(world.gateway.listTasks({ limit: 1, cursor })).rejects.toMatchObject(refusal);
    for (const named of [
      { request_ids: ['a'], filter: null },
      { request_ids: null, filter: {} },
    ])
      await expect(world.gateway.cancelTasks({ ...others, ...named })).rejects.toMatchObject(refusal);
  });
});

describe.each(QUICK_STORES)('on %s, with more tasks than are read at once', (_name, open) => {
  const start = useWorlds(open);

  test('a list that is merged of two has each task once, over the seams of their pages', async () => {
    const world = await start();
    const names: string[] = [];
    for (let n = 0; n < 210; n += 1) {
      names.unshift(`${n}`);
      // By turns one that waits, and one that has found no agent.
      await submit(world, { payload: { name: `${n}` }, ...(n % 2 === 0 && { queue_timeout: 600 }) });
    }
    const filter = { status: ['pending', 'failed'], tag: 'a' } as const;
    expect(await listNames(world, filter, 1_000)).toEqual(names);
    expect(await listNames(world, filter, 30)).toEqual(names);
    expect(await count(world, filter)).toMatchObject({ total: 210, complete: true });
  });

  test('all that match are cancelled, the last of each page too', async () => {
    const world = await start();
    for (let n = 0; n < 210; n += 1) await submit(world, { queue_timeout: 600 });
    const cancellation = { filter: {}, request_ids: null, created_before: LATER, cursor: null };
    const expected = { matched: 210, cancelled: 210, next_cursor: null };
    expect(await world.gateway.cancelTasks({ ...cancellation, dry_run: true })).toMatchObject(expected);
    expect(await world.gateway.cancelTasks({ ...cancellation, dry_run: false })).toMatchObject(expected);
    expect(await listNames(world, { status: ['pending'] })).toEqual([]);
  });
});

describe.each(QUICK_STORES)('on %s, with more tasks than a call looks at', (_name, open) => {
  const start = useWorlds(open);

  test('a count says that it is at least so many, and a page that it goes on', async () => {
    const world = await start({ openTasksMax: 2_000 });
    for (let n = 0; n < 1_100; n += 1) {
      await submit(world, { queue_timeout: 600, task_tags: [n === 0 ? 'rare' : 'common'] });
    }
    expect(await count(world, {})).toMatchObject({ total: 1_100, complete: true });
    expect(await count(world, { tag: 'common' })).toMatchObject({ total: 1_000, complete: false });
    const first = await world.gateway.listTasks({ tag: 'rare', limit: 10 });
    expect(first.tasks).toEqual([]);
    expect(first.next_cursor).not.toBeNull();
    const cursor = first.next_cursor ?? '';
    const next = await world.gateway.listTasks({ tag: 'rare', limit: 10, cursor });
    expect(next.tasks).toHaveLength(1);
    const later = { counts: true, cursor, limit: 10 };
    expect((await world.gateway.listTasks(later)).counts).toBeNull();
    expect(await count(world, { waiting: true })).toMatchObject({ total: 1_100, complete: true });
    const rare = { waiting: true, tag: 'rare' };
    expect(await count(world, rare)).toMatchObject({ total: 0, complete: false });
    const cancellation = { filter: {}, request_ids: null, created_before: LATER, dry_run: true };
    const half = await world.gateway.cancelTasks({ ...cancellation, cursor: null });
    expect(half.matched).toBe(1_000);
    const rest = await world.gateway.cancelTasks({ ...cancellation, cursor: half.next_cursor });
    expect(rest).toMatchObject({ matched: 100, next_cursor: null });
  });
});

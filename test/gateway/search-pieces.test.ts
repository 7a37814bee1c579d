/**
 * A search of tasks reads some of them in each piece of the large work, and ends within the time of a call.
 */
import { expect, test } from 'vitest';
import type { LargeWork } from '../../server/async/large-work.ts';
import { mintTaskId } from '../../server/domain/task-id.ts';
import { createListTasks } from '../../server/gateway/admin/tasks/list-tasks.ts';
import { findTaskIds } from '../../server/gateway/admin/tasks/task-ids.ts';
import { chooseListings } from '../../server/gateway/admin/tasks/task-search.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { openFreshStore } from '../harness/stores.ts';
import { countIds, createWorld } from '../harness/world.ts';
import { submit } from '../harness/world-calls.ts';

const KEEP_TASKS_MS = 86_400_000;

/** A store with this many tasks, and what a search of it needs. */
async function arrange(smallTasks: number) {
  const clock = createFakeClock();
  const store = await openFreshStore(clock);
  const world = createWorld(store, { clock, openTasksMax: 2_000 });
  const ids: string[] = [];
  for (let n = 0; n < smallTasks; n += 1)
    ids.push(await submit(world, { queue_timeout: 600, task_tags: ['x'] }));
  return { clock, store, world, ids };
}

test('by the end of an id all tasks of its moment are compared, or the search says that it was too many', async () => {
  const { clock, store } = await arrange(0);
  const nowMs = store.nowMs();
  const end = mintTaskId({ submittedMs: nowMs, frontMs: nowMs, order: 1, tail: 1 }).slice(-8);
  let pages = 0;
  let pagesMax = 200;
  const list = async () => {
    pages += 1;
    const items = Array.from({ length: 1_000 }, (_, n) => ({
      request_id: n === 999 && pages === pagesMax ? `the one ${end}` : `another ${n}`,
      position: `${n}`,
    }));
    return { items, next: pages < pagesMax ? '999' : null };
  };
  const deps = { store: { ...store, list: list as Store['list'] }, keepTasksMs: 60_000 };
  const find = () => clock.drive(findTaskIds(deps, end));
  expect(await find()).toEqual([{ request_id: `the one ${end}`, position: '999' }]);
  pages = 0;
  pagesMax = 201;
  await expect(find()).rejects.toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/id' }] });
  expect(pages).toBe(201);
});

test('tasks whose ids end alike come in pages, the newest first, each once', async () => {
  const clock = createFakeClock();
  const store = await openFreshStore(clock);
  const nowMs = store.nowMs();
  const end = mintTaskId({ submittedMs: nowMs, frontMs: nowMs, order: 1, tail: 1 }).slice(-8);
  const made: string[] = [];
  const newRequestId = (): string => {
    made.push(`task ${String(made.length).padStart(3, '0')} ${end}`);
    return made.at(-1) ?? '';
  };
  const world = createWorld(store, { clock, ids: { ...countIds(), newRequestId } });
  for (let n = 0; n < 70; n += 1) await submit(world, { queue_timeout: 600, task_tags: ['x'] });
  const pages: string[][] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const query = { id: end, limit: 30, ...(cursor !== undefined && { cursor }) };
    const page = await world.gateway.listTasks(query);
    pages.push(page.tasks.map(({ request_id }) => request_id));
    cursor = page.next_cursor;
  }
  expect(pages.map(({ length }) => length)).toEqual([30, 30, 10]);
  expect(pages.flat()).toEqual(made.toReversed());
  await store.close();
});

test('a page and a count whose pieces come late end within the time of a call, with what they have', async () => {
  const { clock, store } = await arrange(300);
  const largeWork: LargeWork = {
    async run(work) {
      await clock.sleep(900);
      return await work();
    },
  };
  const { listTasks } = createListTasks({
    store,
    clock,
    largeWork,
    keepTasksMs: KEEP_TASKS_MS,
  });
  for (const limit of [1, 200]) {
    const beganMs = clock.monotonicMs();
    const query = { tag: 'x', limit, counts: true };
    const { tasks, counts } = await clock.drive(listTasks(query));
    expect(clock.monotonicMs() - beganMs).toBeLessThan(3_000);
    expect(tasks.length).toBeGreaterThan(0);
    expect(counts).toMatchObject({ complete: false });
    // After the rows of a long page there is no time for them.
    expect(counts?.total).toBeGreaterThan(limit === 1 ? 0 : -1);
  }
  await store.close();
});

test('a time between two milliseconds leaves out no task that was created before it', () => {
  const filter = { created_after: 1.0005, created_before: 2.0005 };
  expect(chooseListings(filter)).toEqual([{ fromMs: 1_001, toMs: 2_001 }]);
});

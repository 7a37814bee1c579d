/** A page of tasks takes turns of the large work: few for small tasks, and one for each large task. */
import { expect, test } from 'vitest';
import type { LargeWork } from '../../server/async/large-work.ts';
import { createListings } from '../../server/gateway/admin/listings.ts';
import { createLargeTasks } from '../../server/gateway/tasks/large-tasks.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { openFreshStore } from '../harness/stores.ts';
import { createWorld } from '../harness/world.ts';
import { submit } from '../harness/world-calls.ts';

const LARGE = { text: 'x'.repeat(200_000) };
const SMALL_TASKS = 60;

test('Small tasks share a piece until its time is over; a large task is one of its own once it is known.', async () => {
  const clock = createFakeClock();
  const store = await openFreshStore(clock);
  const world = createWorld(store, { clock });
  const payloads = Array.from({ length: SMALL_TASKS }, (_, n) => (n === 10 || n === 20 ? LARGE : {}));
  for (const payload of payloads) await submit(world, { payload });
  const turns: string[] = [];
  const largeWork: LargeWork = {
    async run({ order }, work) {
      turns.push(order);
      return await work();
    },
  };
  const { listTasks } = createListings({ store, clock, largeWork, largeTasks: createLargeTasks(largeWork) });
  const list = async () => {
    turns.length = 0;
    const { tasks } = await listTasks({ limit: 100 }, (task) => Buffer.from(task.request_id));
    return { turns: [...turns], ids: tasks.map(String) };
  };
  const first = await list();
  expect(first.turns).toEqual(['small', 'small', 'small']);
  const second = await list();
  expect(second.turns).toEqual(['small', 'large', 'small', 'large', 'small']);
  expect(second.ids).toEqual(first.ids);
  expect(new Set(first.ids).size).toBe(SMALL_TASKS);
  await store.close();
});

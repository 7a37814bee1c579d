/** Waiting calls leave nothing behind, however they end: no watcher, no timer, no abort handler. */
import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import type { Store } from '../../server/ports/store.ts';
import { flushMicrotasks } from '../harness/fake-clock.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, type World } from '../harness/world.ts';
import { submitLong as submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

/** Counts the watchers of the store that have begun and not ended. */
function countWatchers(): { readonly open: () => number; readonly wrap: (store: Store) => Store } {
  let open = 0;
  return {
    open: () => open,
    wrap: (store) => ({
      ...store,
      async *watch(topic, signal) {
        open += 1;
        try {
          yield* store.watch(topic, signal);
        } finally {
          open -= 1;
        }
      },
    }),
  };
}

type Ending = (world: World, leave: () => void, request_id: string) => Promise<unknown>;

/** More than the wait, and more than the engines' own timers take after a commit. */
const OVER_MS = 21_000;

const itsCallerLeaves: Ending = async (_world, leave) => leave();
const itsWaitIsOver: Ending = (world) => world.pass(OVER_MS);

describeEachStore('on %s, a call that waits leaves nothing behind', (_name, open) => {
  const start = useWorlds(open);

  async function requireNothingLeft(
    wait: (world: World, request_id: string, signal: AbortSignal) => Promise<unknown>,
    end: Ending,
  ): Promise<void> {
    const watchers = countWatchers();
    const world = await start({ wrap: watchers.wrap });
    // Calls of the duties were made: from here on the engine has the timers that it always has.
    await world.pass(OVER_MS);
    const before = world.clock.sleeping();
    for (let times = 0; times < 3; times += 1) {
      await world.gateway.registerAgent(buildRegistration('A', { endpoint: 'pull', max_concurrent: 9 }));
      const request_id = await submit(world, { task_tags: ['other'], queue_timeout: 3_000 });
      const caller = new AbortController();
      const waiting = wait(world, request_id, caller.signal);
      await world.pass(1_000);
      expect(watchers.open()).toBe(1);
      await end(world, () => caller.abort(), request_id);
      await waiting;
      await flushMicrotasks();
      expect(getEventListeners(caller.signal, 'abort')).toEqual([]);
    }
    await world.pass(OVER_MS);
    expect([watchers.open(), world.clock.sleeping()]).toEqual([0, before]);
  }

  test.each<readonly [string, Ending]>([
    ['a task is handed out', (world) => submit(world)],
    ['its wait is over', itsWaitIsOver],
    ['its caller leaves', itsCallerLeaves],
    [
      'its agent unregisters',
      async (world) => {
        await world.gateway.unregisterAgent('A');
        await world.pass(OVER_MS);
      },
    ],
  ])('of claims when %s', async (_what, end) => {
    const claim = (world: World, _id: string, signal: AbortSignal) =>
      world.gateway.claimTask({ agent_id: 'A', wait: 20 }, signal);
    await requireNothingLeft(claim, end);
  });

  test.each<readonly [string, Ending]>([
    ['the task ends', (world, _leave, request_id) => world.gateway.cancelTask(request_id)],
    ['its wait is over', itsWaitIsOver],
    ['its caller leaves', itsCallerLeaves],
  ])('of reads of a task when %s', async (_what, end) => {
    const read = (world: World, request_id: string, signal: AbortSignal) =>
      world.gateway.getTask(request_id, 20_000, signal);
    await requireNothingLeft(read, end);
  });
});

/** Claims of one agent that wait beside each other: what wakes a look, and when each claim ends. */
import { expect, test } from 'vitest';
import { createClaimQueues, type HandedOut } from '../../server/gateway/calls/claim-queue.ts';
import { createFakeClock, flushMicrotasks } from '../harness/fake-clock.ts';

const NEVER = new AbortController().signal;

/** Queues over a store in which nothing changes after the first look, and how often was looked. */
function createQuietQueues() {
  const clock = createFakeClock();
  let looks = 0;
  const queues = createClaimQueues({
    clock,
    store: {
      nowMs: clock.nowMs,
      async *watch(_ref, signal) {
        yield;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    },
    async handOut(): Promise<HandedOut> {
      looks += 1;
      return { tasks: [], state: 'ready', nextLookMs: null };
    },
  });
  return { clock, queues, looks: () => looks };
}

test('A claim that does not wait has its response at once beside one that does.', async () => {
  const { queues, looks } = createQuietQueues();
  let isOver = false;
  void queues.claim('A', 30_000, NEVER).then(() => {
    isOver = true;
  });
  await flushMicrotasks();
  expect(looks()).toBe(1);
  expect(await queues.claim('A', 0, NEVER)).toEqual({ task: null, state: 'ready' });
  expect([looks(), isOver]).toEqual([2, false]);
});

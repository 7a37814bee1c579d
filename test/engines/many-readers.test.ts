/** Many readers of one feed: one read for all that need it at once, and no long ticks of the event loop. */
import { describe, expect, test } from 'vitest';
import { createSharedReads } from '../../server/async/shared-reads.ts';
import { yieldToEventLoop } from '../../server/async/waiting.ts';
import { createNotifications } from '../../server/engines/notifications.ts';

describe('reads shared by many callers', () => {
  test('run once for all callers of one tick, and again in the next', async () => {
    const reads = createSharedReads<number>();
    let count = 0;
    const read = async (): Promise<number> => (count += 1);
    expect(await Promise.all([reads.read('a', read), reads.read('a', read)])).toEqual([1, 1]);
    expect(await reads.read('b', read)).toBe(2);
    await yieldToEventLoop();
    await yieldToEventLoop();
    expect(await reads.read('a', read)).toBe(3);
  });

  test('run again after forget(), also within a tick', async () => {
    const reads = createSharedReads<string>();
    const before = reads.read('a', async () => 'before');
    reads.forget();
    expect(await Promise.all([before, reads.read('a', async () => 'after')])).toEqual(['before', 'after']);
  });

  test('fail for all callers that share them, and for no later caller', async () => {
    const reads = createSharedReads<string>();
    const fail = (): Promise<string> => Promise.reject(new Error('read failed'));
    const results = await Promise.allSettled([reads.read('a', fail), reads.read('a', fail)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await yieldToEventLoop();
    await yieldToEventLoop();
    expect(await reads.read('a', async () => 'back')).toBe('back');
  });
});

describe('listeners of one topic', () => {
  test.each(['notify', 'notifyAll'] as const)(
    '%s wakes all of them, at most 500 in a tick',
    async (method) => {
      const notifications = createNotifications();
      const stop = new AbortController();
      let woken = 0;
      for (let n = 0; n < 1_200; n += 1) {
        void notifications
          .listen(['feed:s'], stop.signal)
          .next()
          .then(() => (woken += 1));
      }
      const perTurn: number[] = [];
      // The first tick is requested before the notification, so that each count is taken between two slices.
      let tick = yieldToEventLoop();
      if (method === 'notify') notifications.notify('feed:s');
      else notifications.notifyAll();
      for (let before = 0; woken < 1_200; before = woken) {
        await tick;
        perTurn.push(woken - before);
        tick = yieldToEventLoop();
      }
      expect(Math.max(...perTurn)).toBeLessThanOrEqual(500);
      stop.abort();
    },
  );

  test('close between two turns without effect on the others', async () => {
    const notifications = createNotifications();
    const stop = new AbortController();
    const listeners = Array.from({ length: 501 }, () => notifications.listen(['feed:s'], stop.signal));
    const last = listeners.at(-1);
    const waiting = last?.next();
    notifications.notify('feed:s');
    last?.close();
    expect(await waiting).toBe(false);
    await yieldToEventLoop();
    expect(await listeners[0]?.next()).toBe(true);
    stop.abort();
  });
});

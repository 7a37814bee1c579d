/** What very many readers of one feed cost an engine: one read for all who ask at once, and no long turns. */
import { describe, expect, test } from 'vitest';
import { createNotifications } from '../../server/engines/notifications.ts';
import { createSharedReads } from '../../server/engines/shared-reads.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('reads that many want', () => {
  test('are made once for all who ask in one turn, and again in the next', async () => {
    const reads = createSharedReads<number>();
    let made = 0;
    const read = async (): Promise<number> => (made += 1);
    expect(await Promise.all([reads.read('a', read), reads.read('a', read)])).toEqual([1, 1]);
    expect(await reads.read('b', read)).toBe(2);
    await nextTurn();
    await nextTurn();
    expect(await reads.read('a', read)).toBe(3);
  });

  test('are made anew once there is news, also within a turn', async () => {
    const reads = createSharedReads<string>();
    const before = reads.read('a', async () => 'before');
    reads.forget();
    expect(await Promise.all([before, reads.read('a', async () => 'after')])).toEqual(['before', 'after']);
  });

  test('fail for all who share them, and for nobody after', async () => {
    const reads = createSharedReads<string>();
    const fail = (): Promise<string> => Promise.reject(new Error('gone'));
    const both = await Promise.allSettled([reads.read('a', fail), reads.read('a', fail)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await nextTurn();
    await nextTurn();
    expect(await reads.read('a', async () => 'back')).toBe('back');
  });
});

describe('listeners of one topic', () => {
  test.each(['notify', 'notifyAll'] as const)('%s wakes all, 500 in a turn', async (how) => {
    const hints = createNotifications();
    const over = new AbortController();
    let woken = 0;
    for (let n = 0; n < 1_200; n += 1) {
      void hints
        .listen('feed:s', over.signal)
        .next()
        .then(() => (woken += 1));
    }
    const perTurn: number[] = [];
    // Counted from before the first slice on, so that each count falls between two of them.
    let turn = nextTurn();
    if (how === 'notify') hints.notify('feed:s');
    else hints.notifyAll();
    for (let before = 0; woken < 1_200; before = woken) {
      await turn;
      perTurn.push(woken - before);
      turn = nextTurn();
    }
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(500);
    over.abort();
  });

  test('who closes between two turns is not missed and misses nobody', async () => {
    const hints = createNotifications();
    const over = new AbortController();
    const listeners = Array.from({ length: 501 }, () => hints.listen('feed:s', over.signal));
    const last = listeners.at(-1);
    const waiting = last?.next();
    hints.notify('feed:s');
    last?.close();
    expect(await waiting).toBe(false);
    await nextTurn();
    expect(await listeners[0]?.next()).toBe(true);
    over.abort();
  });
});

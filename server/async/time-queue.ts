/**
 * Work to be done at a time, most of which is taken back before: one timer serves all, for the earliest. An
 * entry costs a step in a sorted tree, and no timer, promise or signal of its own.
 */
import BTreeModule from 'sorted-btree';
import type { Clock } from '../ports/clock.ts';

const BTree = BTreeModule.default;

export type TimeQueue = {
  /** Runs the work after the time, unless the returned function is called before. */
  add(afterMs: number, work: () => void): () => void;
};

type Entry = { readonly atMs: number; readonly number: number; readonly work: () => void };

/** Creates an empty queue. The work must not throw. */
export function createTimeQueue(clock: Clock): TimeQueue {
  const entries = new BTree<Entry, undefined>(undefined, (a, b) => a.atMs - b.atMs || a.number - b.number);
  let added = 0;
  /** When the timer fires, and what stops it; null when no timer is set. */
  let timer: { readonly atMs: number; readonly stop: AbortController } | null = null;

  function setTimer(): void {
    const earliest = entries.minKey();
    if (!earliest || (timer && timer.atMs <= earliest.atMs)) return;
    timer?.stop.abort();
    const mine = { atMs: earliest.atMs, stop: new AbortController() };
    timer = mine;
    void clock.sleep(Math.max(0, mine.atMs - clock.monotonicMs()), mine.stop.signal).then(() => {
      if (timer !== mine) return;
      timer = null;
      runDue();
      setTimer();
    });
  }

  function runDue(): void {
    const nowMs = clock.monotonicMs();
    for (let next = entries.minKey(); next && next.atMs <= nowMs; next = entries.minKey()) {
      entries.delete(next);
      next.work();
    }
  }

  return {
    add(afterMs, work) {
      added += 1;
      const entry = { atMs: clock.monotonicMs() + afterMs, number: added, work };
      entries.set(entry, undefined);
      setTimer();
      return () => {
        entries.delete(entry);
      };
    },
  };
}

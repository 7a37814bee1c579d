/**
 * The time of a world, which stands still until a test moves it. Sleepers wake in the order of their times,
 * and each sees the time it asked for. `settle()` waits until the world has done everything that needs no
 * time.
 */
import BTreeModule from 'sorted-btree';
import type { Clock } from '../ports/clock.ts';

const BTree = BTreeModule.default;

export type VirtualClock = Clock & {
  /** Moves the time forward, never back, and wakes the sleepers whose time has come. */
  moveTo(ms: number): void;
  /** When the next sleeper wakes; undefined if there is no sleeper. */
  nextWakeMs(): number | undefined;
};

/**
 * Creates the clock at 0. It calls `noteActivity` when a sleep begins or ends, because more work may follow.
 */
export function createVirtualClock(noteActivity: () => void): VirtualClock {
  const sleepers = new BTree<number, Set<() => void>>();
  let nowMs = 0;

  function forget(atMs: number, wake: () => void): void {
    const those = sleepers.get(atMs);
    those?.delete(wake);
    if (those?.size === 0) sleepers.delete(atMs);
  }

  return {
    monotonicMs: () => nowMs,
    sleep(ms, signal) {
      if (signal?.aborted || !(ms > 0)) return Promise.resolve();
      noteActivity();
      return new Promise((resolve) => {
        const atMs = nowMs + ms;
        const wake = (): void => {
          forget(atMs, wake);
          signal?.removeEventListener('abort', wake);
          noteActivity();
          resolve();
        };
        const those = sleepers.get(atMs);
        if (those) those.add(wake);
        else sleepers.set(atMs, new Set([wake]));
        signal?.addEventListener('abort', wake, { once: true });
      });
    },
    moveTo(ms) {
      nowMs = Math.max(nowMs, ms);
      for (let atMs = sleepers.minKey(); atMs !== undefined && atMs <= nowMs; atMs = sleepers.minKey()) {
        for (const wake of [...(sleepers.get(atMs) ?? [])]) wake();
      }
    },
    nextWakeMs: () => sleepers.minKey(),
  };
}

/** Sleeps below this are pauses between the tries of a call. Tests wait for nothing so short. */
const SHORT_MS = 8;

/**
 * Wraps the clock for a gateway. When a call pauses for some milliseconds between two tries, the time moves
 * by itself, so that the call goes on.
 */
export function passShortPauses(clock: VirtualClock): Clock {
  return {
    monotonicMs: clock.monotonicMs,
    sleep(ms, signal) {
      const slept = clock.sleep(ms, signal);
      const untilMs = clock.monotonicMs() + ms;
      if (ms > 0 && ms < SHORT_MS) setImmediate(() => clock.moveTo(untilMs));
      return slept;
    },
  };
}

export type Activity = {
  note(): void;
  /** Counts a piece of work until it ends. `settle()` waits for such work. */
  track<T>(work: Promise<T>): Promise<T>;
  /** Resolves when no tracked work is under way and nothing has happened for some turns of the event loop. */
  settle(): Promise<void>;
  /** How many pieces of tracked work are under way. */
  open(): number;
  /** Counts a call or a stream until it ends. `settle()` does not wait for these. */
  trackCall<T>(call: Promise<T>): Promise<T>;
  /** How many calls and streams are open. */
  waiting(): number;
  /** How many things have happened. */
  count(): number;
  /** Notes that something fell due, or went over the wire. `auto()` moves to the next such moment. */
  noteDue(): void;
  /** How often `noteDue()` was called. */
  dueCount(): number;
};

/** After this many quiet turns of the event loop, the world waits only for time or for its callers. */
const QUIET_TURNS = 6;

export function createActivity(): Activity {
  let happened = 0;
  let open = 0;
  let due = 0;
  let waiting = 0;
  return {
    note() {
      happened += 1;
    },
    async track(work) {
      open += 1;
      happened += 1;
      try {
        return await work;
      } finally {
        open -= 1;
        happened += 1;
      }
    },
    async settle() {
      let seen = happened;
      for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        if (open > 0 || happened !== seen) quiet = -1;
        seen = happened;
      }
    },
    open: () => open,
    async trackCall(call) {
      waiting += 1;
      try {
        return await call;
      } finally {
        waiting -= 1;
      }
    },
    waiting: () => waiting,
    count: () => happened,
    noteDue() {
      due += 1;
      happened += 1;
    },
    dueCount: () => due,
  };
}

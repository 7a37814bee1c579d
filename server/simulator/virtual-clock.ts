/**
 * The time of a world: it stands still until a test moves it. Sleepers wake in the order of their times,
 * and each sees the time it asked for. It knows how to wait until the world has nothing left to do that needs
 * no time.
 */
import BTreeModule from 'sorted-btree';
import type { Clock } from '../ports/clock.ts';

const BTree = BTreeModule.default;

export type VirtualClock = Clock & {
  /** Moves the time forward and wakes those who sleep until then; it never goes back. */
  moveTo(ms: number): void;
  /** When the next sleeper wakes; undefined if there is no sleeper. */
  nextWakeMs(): number | undefined;
};

/**
 * Creates it at 0. `noteActivity` is called when a sleep begins or ends: then the world is not done yet.
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

/** The pauses of a call when it is tried again. They are shorter than anything that a test waits for. */
const SHORT_MS = 8;

/**
 * The same clock for a gateway: a call that pauses for some milliseconds between two tries goes on even if
 * no test moves the time, which then passes by as much.
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

/** The work under way in a world. */
export type Activity = {
  /** Notes that something happened. */
  note(): void;
  /** Counts a piece of work until it is done; of such work the world waits for the end. */
  track<T>(work: Promise<T>): Promise<T>;
  /** Resolves when nothing is under way and nothing has happened for some turns of the event loop. */
  settle(): Promise<void>;
  /** How much work is under way. */
  open(): number;
  /** Counts a call or a stream until it ends; the world does not wait for it. */
  trackCall<T>(call: Promise<T>): Promise<T>;
  /** How many of those are open. */
  waiting(): number;
  /** How much has happened. */
  count(): number;
  /** Notes that something fell due, or went over the wire: such a moment `auto()` jumps to. */
  noteDue(): void;
  /** How often it was noted. */
  dueCount(): number;
};

/** After this many turns without anything the world is done: what it waits for is time, or its callers. */
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

/**
 * Repeats reads while the page is visible: every 2 s, or after the pause that a read names. A read runs at
 * once when the page becomes visible. After failures the pauses are 2, 4 … 30 s. While paused, nothing is
 * read. A response that has not changed changes nothing.
 */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';

/** A read's result: a value, or `unchanged` if the value that the ETag names is still current. */
export type Reading<Value> = { readonly value: Value; readonly etag: string | null } | 'unchanged';

/** Reads once. `etag` is that of the value read last. */
export type Read<Value> = (etag: string | null, signal: AbortSignal) => Promise<Reading<Value>>;

/** The failed reads since the last one that succeeded. */
export type Failure = {
  readonly error: unknown;
  readonly count: number;
  /** When the first failure was noticed, and when the next read begins, by the clock of the poll. */
  readonly sinceMs: number;
  readonly nextMs: number;
};

/** A value that is kept current. */
export type Watch<Value> = {
  /** Undefined before the first read that succeeded. */
  readonly value: ReadonlySignal<Value | undefined>;
  /** Undefined while reads succeed. A failed read keeps the value. */
  readonly failure: ReadonlySignal<Failure | undefined>;
  /** When the last read succeeded, even if it changed nothing. */
  readonly readAtMs: ReadonlySignal<number | undefined>;
  /**
   * Reads now, even while paused. If a read is under way, which may be too old, it waits for that first.
   * Resolves when the new read has ended, even if it failed.
   */
  refresh(): Promise<void>;
  /** Ends the reads; the signals keep their values. */
  stop(): void;
};

export type PollClock = {
  nowMs(): number;
  /** Calls back once after a delay. Returns a function that prevents it. */
  schedule(afterMs: number, callback: () => void): () => void;
};

export type Polling = {
  /** Starts to read. `everyMs` is the pause after a read that succeeded. */
  watch<Value>(read: Read<Value>, everyMs?: number): Watch<Value>;
  /** Whether a person has paused the poll. */
  readonly isPaused: ReadonlySignal<boolean>;
  setPaused(paused: boolean): void;
  setVisible(visible: boolean): void;
};

const POLL_MS = 2_000;
const BACKOFF_MAX_MS = 30_000;
/** After this many failed reads in a row, data counts as not current. */
export const FAILURES_MAX = 3;

/** The pause after this many failed reads in a row. */
export function chooseBackoffMs(failures: number): number {
  return Math.min(POLL_MS * 2 ** (failures - 1), BACKOFF_MAX_MS);
}

type Repeated = { wake(): void; rest(): void };

/** Creates the poll of a page, which is visible and not paused at first. */
export function createPolling(clock: PollClock): Polling {
  const repeated = new Set<Repeated>();
  const isPaused = signal(false);
  let isVisible = true;
  const runs = (): boolean => isVisible && !isPaused.peek();
  const apply = (): void => {
    for (const one of repeated) runs() ? one.wake() : one.rest();
  };
  return {
    isPaused,
    watch(read, everyMs = POLL_MS) {
      const onStop = (): boolean => repeated.delete(control);
      const { watch, ...control } = createWatch(clock, read, everyMs, runs, onStop);
      repeated.add(control);
      return watch;
    },
    setPaused(paused) {
      if (paused === isPaused.peek()) return;
      isPaused.value = paused;
      apply();
    },
    setVisible(visible) {
      if (visible === isVisible) return;
      isVisible = visible;
      apply();
    },
  };
}

function createWatch<Value>(
  clock: PollClock,
  read: Read<Value>,
  everyMs: number,
  runs: () => boolean,
  onStop: () => void,
): Repeated & { readonly watch: Watch<Value> } {
  const value = signal<Value | undefined>(undefined);
  const failure = signal<Failure | undefined>(undefined);
  const readAtMs = signal<number | undefined>(undefined);
  const stopped = new AbortController();
  let etag: string | null = null;
  let reading: Promise<void> | undefined;
  let isAskedAgain = false;
  let unschedule: (() => void) | undefined;

  function rest(): void {
    unschedule?.();
    unschedule = undefined;
  }
  async function readOnce(): Promise<void> {
    try {
      const found = await read(etag, stopped.signal);
      if (stopped.signal.aborted) return;
      if (found !== 'unchanged') {
        etag = found.etag;
        value.value = found.value;
      }
      failure.value = undefined;
      readAtMs.value = clock.nowMs();
    } catch (error) {
      if (!stopped.signal.aborted) noteFailure(failure, error, clock.nowMs());
    }
  }
  async function readUntilAsked(): Promise<void> {
    do {
      isAskedAgain = false;
      await readOnce();
    } while (isAskedAgain && !stopped.signal.aborted);
  }
  function refresh(): Promise<void> {
    rest();
    isAskedAgain = reading !== undefined;
    reading ??= readUntilAsked().finally(() => {
      reading = undefined;
      if (stopped.signal.aborted || !runs()) return;
      const { count } = failure.peek() ?? { count: 0 };
      unschedule = clock.schedule(count === 0 ? everyMs : chooseBackoffMs(count), refresh);
    });
    return reading;
  }
  function stop(): void {
    stopped.abort();
    rest();
    onStop();
  }
  if (runs()) void refresh();
  return {
    watch: { value, failure, readAtMs, refresh, stop },
    wake: () => void (reading ?? refresh()),
    rest,
  };
}

function noteFailure(failure: Signal<Failure | undefined>, error: unknown, nowMs: number): void {
  const before = failure.peek();
  const count = (before?.count ?? 0) + 1;
  failure.value = { error, count, sinceMs: before?.sinceMs ?? nowMs, nextMs: nowMs + chooseBackoffMs(count) };
}

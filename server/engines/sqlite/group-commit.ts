/**
 * Group commit: calls join the next group, and one group is written at a time.
 *
 *    join() opens it
 *         │
 *         ▼
 *    ┌─────────┐ the group before it is written; with none ┌─────────┐  committed  ┌──────────┐
 *    │ joining │ ────────────────────────────────────────▶ │ writing │ ──────────▶ │ finished │
 *    └─────────┘ before it, the event loop's tick is over  └─────────┘             └──────────┘
 *         │                                                     │
 *         ╰────────── the write failed or took too long ────────┤
 *                                                               ▼
 *                                          rejected: an outage, until an empty group is written
 *
 * A group that only appends to output also waits until `outputEveryMs` after the last write began: its
 * callers will write more soon, and one fsync serves all. Any other call that joins the group ends that wait.
 */
import { messageOf } from '../../async/error-message.ts';
import type { Clock } from '../../ports/clock.ts';
import { TIME_BUDGETS } from '../../ports/limits.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import type { CallResult, GroupReply } from './decider.ts';
import { outageKindOf } from './outage-kind.ts';
import { createWriteWatch, type TimedWrite } from './write-watch.ts';
import type { Writer } from './writer.ts';

/** A call in a group. Either `finish` or `reject` is called. */
type Call = {
  /** Called when the group is sent. From now on the tables may be ahead of the copies here. */
  begin?(): void;
  finish(result: CallResult, topics: Set<string>): void;
  reject(error: Error): void;
};

type Joined = {
  /** The words of the group. The caller appends the words of its call. */
  readonly words: unknown[];
  add(call: Call): void;
};

export type GroupCommit = {
  /** Joins the next group. Throws in an outage. `isOutput`: the call only adds output. */
  join(isOutput: boolean): Joined;
  /** Whether there is no open group and no write under way. */
  isIdle(): boolean;
  /** Why no call can join; null without an outage. */
  outage(): StoreUnavailable | null;
  /** Whether a write is overdue: reads would wait for the same disk. */
  isStuck(): boolean;
  /** Resolves when the store is idle or an outage has begun. */
  whenIdle(): Promise<void>;
};

type Deps = {
  readonly writer: Writer;
  readonly clock: Clock;
  readonly nowMs: () => number;
  /** A group of output alone is written at the earliest this long after the last write began. */
  readonly outputEveryMs: number;
  /** Its abort ends the timers. */
  readonly closed: AbortSignal;
  /** Called when a group is committed, before its calls get their results. */
  onCommitted(): void;
  /** Called after the calls got their results, with the changed topics. */
  onFinished(topics: ReadonlySet<string>, reply: GroupReply): void;
  onOutage(): void;
  onRecovered(): void;
};

type Group = TimedWrite & { readonly words: unknown[]; readonly calls: Call[]; isOutputAlone: boolean };

const RETRY_EVERY_MS = 250;

export function createGroupCommit(deps: Deps): GroupCommit {
  const { writer, clock, nowMs, closed } = deps;
  let joining: Group | null = null;
  let writing: Group | null = null;
  let outage: StoreUnavailable | null = null;
  let isStuck = false;
  let idle = Promise.withResolvers<void>();
  const pause = createPause(deps, writeNext);
  const writeWatch = createWriteWatch({
    clock,
    closed,
    timeoutMs: TIME_BUDGETS.storeWithinMs,
    currentWrite: () => (isStuck ? null : writing),
    openWrites: () => [writing, joining].filter((group) => group !== null),
    onTimeout() {
      isStuck = true;
      fail(new Error('the disk did not respond in time'));
    },
  });

  function writeNext(): void {
    if (writing || !joining || pause.isFor(joining)) return;
    const group = joining;
    joining = null;
    write(group, (reply) => finish(group, reply));
  }

  function write(group: Group, onWritten: (reply: GroupReply) => void): void {
    writing = group;
    group.words[0] = nowMs();
    for (const call of group.calls) call.begin?.();
    writeWatch.start();
    writer.apply(group.words).then(
      (reply) => {
        writing = null;
        if (isStuck) void recover();
        else onWritten(reply);
      },
      (error: unknown) => {
        if (!isStuck) fail(error);
        writing = null;
        void recover();
      },
    );
  }

  function finish({ calls }: Group, reply: GroupReply): void {
    deps.onCommitted();
    deps.onFinished(finishCalls(calls, reply), reply);
    if (joining) writeNext();
    else idle.resolve();
  }

  /**
   * Whether the last write was made is unknown. So its calls are rejected, and the calls of the next group
   * too.
   */
  function fail(error: unknown): void {
    const isFirst = outage === null;
    outage ??= describeOutage(error);
    for (const call of [...(writing?.calls ?? []), ...(joining?.calls ?? [])]) call.reject(outage);
    joining = null;
    if (isFirst) deps.onOutage();
    idle.resolve();
  }

  /** Tries until an empty group is written. To be called when the failed or stuck write has come back. */
  async function recover(): Promise<void> {
    isStuck = false;
    await clock.sleep(RETRY_EVERY_MS, closed);
    if (closed.aborted || writing) return;
    write(createGroup(clock), () => {
      outage = null;
      deps.onCommitted();
      deps.onRecovered();
    });
  }

  return {
    join(isOutput) {
      if (outage) throw outage;
      // The delay lets all calls of this tick of the event loop join the group, from every readable socket.
      if (!joining && !writing) setImmediate(writeNext);
      joining ??= createGroup(clock);
      const group = joining;
      group.isOutputAlone &&= isOutput;
      if (!group.isOutputAlone) pause.end();
      return { words: group.words, add: (call) => void group.calls.push(call) };
    },
    isIdle: () => !joining && !writing,
    outage: () => outage,
    isStuck: () => isStuck,
    whenIdle() {
      idle = Promise.withResolvers();
      return (joining || writing) && !outage ? idle.promise : Promise.resolve();
    },
  };
}

/** The pause of a group of output alone. It calls `onOver` at its end. */
function createPause({ clock, outputEveryMs, closed }: Deps, onOver: () => void) {
  let lastWriteMs = Number.NEGATIVE_INFINITY;
  let isOn = false;
  const end = (): void => {
    isOn = false;
    onOver();
  };
  return {
    /** Whether the group must still wait. If not, the caller writes it now. */
    isFor({ isOutputAlone }: Group): boolean {
      const atMs = clock.monotonicMs();
      const pauseMs = lastWriteMs + outputEveryMs - atMs;
      if (!isOutputAlone || pauseMs <= 0) {
        lastWriteMs = atMs;
        return false;
      }
      if (!isOn) void clock.sleep(pauseMs, closed).then(end);
      isOn = true;
      return true;
    },
    /** To be called when another call has joined the group. */
    end(): void {
      if (isOn) setImmediate(onOver);
    },
  };
}

/** Gives each call its result, and returns the changed topics. */
function finishCalls(calls: readonly Call[], reply: GroupReply): ReadonlySet<string> {
  const { results, topics } = reply === 0 ? { results: [], topics: [] } : reply;
  const changed = new Set<string>(topics);
  for (const [index, call] of calls.entries()) call.finish(results[index] ?? 0, changed);
  return changed;
}

function createGroup(clock: Clock): Group {
  return { words: [0], calls: [], isOutputAlone: true, openedMs: clock.monotonicMs() };
}

function describeOutage(error: unknown): StoreUnavailable {
  return new StoreUnavailable(
    `The store could not write: ${messageOf(error)}. Whether the last changes were made is unknown.`,
    { kind: outageKindOf(error) },
  );
}

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
 * A group that only appends to output also waits until a while after the last write began: its callers have
 * more to write soon, and an fsync serves all of them. Any other call that joins it ends that wait.
 */
import { messageOf } from '../../async/error-message.ts';
import type { Clock } from '../../ports/clock.ts';
import { TIME_BUDGETS } from '../../ports/limits.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import type { CallResult, GroupReply } from './decider.ts';
import { outageKindOf } from './outage-kind.ts';
import { createWriteWatch, type TimedWrite } from './write-watch.ts';
import type { Writer } from './writer.ts';

/** A call in a group: it gets its result, or why the group was not written. */
type Call = {
  /** The group is sent: from now on the tables may be ahead of what is known here. */
  begin?(): void;
  finish(result: CallResult, topics: Set<string>): void;
  reject(error: Error): void;
};

type Joined = {
  /** The words of the group: the call adds its own. */
  readonly words: unknown[];
  add(call: Call): void;
};

export type GroupCommit = {
  /** Joins the next group. Throws in an outage. `isOutput`: the call only adds output. */
  join(isOutput: boolean): Joined;
  /** Whether no group is joined or written. */
  isIdle(): boolean;
  /** Why no call can join; null outside of an outage. */
  outage(): StoreUnavailable | null;
  /** Whether a write has not come back in time: reads would wait for the same disk. */
  isStuck(): boolean;
  /** Resolves when no group is joined or written any more, or an outage has begun. */
  whenIdle(): Promise<void>;
};

type Deps = {
  readonly writer: Writer;
  readonly clock: Clock;
  readonly nowMs: () => number;
  /** A group of output alone begins this long after the one before it, at the earliest. */
  readonly outputEveryMs: number;
  /** Ends the timers. */
  readonly closed: AbortSignal;
  /** A group was committed: called before its calls get their results. */
  onCommitted(): void;
  /** Called behind the results, with what has changed. */
  onFinished(topics: ReadonlySet<string>, reply: GroupReply): void;
  /** The outage has begun, or is over. */
  onOutage(): void;
  onRecovered(): void;
};

type Group = TimedWrite & { readonly words: unknown[]; readonly calls: Call[]; isOutputAlone: boolean };

/** How long after a failed write the next one is tried. */
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

  /** Whether the last write was made is unknown: its calls are rejected, and so are those behind it. */
  function fail(error: unknown): void {
    const isFirst = outage === null;
    outage ??= describeOutage(error);
    for (const call of [...(writing?.calls ?? []), ...(joining?.calls ?? [])]) call.reject(outage);
    joining = null;
    if (isFirst) deps.onOutage();
    idle.resolve();
  }

  /** Tries until an empty group is written. The write that failed, or was stuck, has come back. */
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
      // The delay lets all calls of this tick of the event loop join, from every readable socket.
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

/** The pause of a group of output alone. `onOver` is called behind it. */
function createPause({ clock, outputEveryMs, closed }: Deps, onOver: () => void) {
  let lastWriteMs = Number.NEGATIVE_INFINITY;
  let isOn = false;
  const end = (): void => {
    isOn = false;
    onOver();
  };
  return {
    /** Whether the group waits still; else it is written now. */
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
    /** Another call has joined the group. */
    end(): void {
      if (isOn) setImmediate(onOver);
    },
  };
}

/** Gives each call its result; returns what has changed. */
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

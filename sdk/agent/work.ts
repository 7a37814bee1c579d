/**
 * The tasks an agent has in hand.
 *
 * In hand: from `take` until its outcome is told or nobody wants it. The handler runs; its signal fires when the task
 * is dropped (cancelled, timed out, moved) or the agent gives up waiting at its stop. Dropped: its outcome is not told,
 * but the place stays taken until the handler has really ended. Interrupted by the agent's stop: what the handler still
 * says is told. Told: remembered, so that the push of a task that was done already is not worked on twice.
 */
import { type Clock, linkSignals } from '../clock.ts';
import type { RequestId, RunningTask, TaskResult } from '../contract.ts';
import { InvalidOptionError } from '../errors.ts';
import type { Notify } from './log-events.ts';
import type { KeptReport, Outbox } from './outbox.ts';
import { createProgressTeller } from './progress.ts';
import { describeFailure, type Outcome, type Reports } from './reports.ts';
import { WorkStoppedError } from './stopped.ts';

/** What a handler is given besides the task. */
export type HandlerContext = {
  /**
   * Fires when the work is not wanted any more. Its reason is a `WorkStoppedError` whose `code` says why:
   * `task_cancelled` (cancelled, ended otherwise, or moved to another agent), `task_timeout`, `agent_stopped`.
   */
  readonly signal: AbortSignal;
  /** Tells how far the work is, 0 to 100. It never falls; of values told in quick succession the last one is sent. */
  progress(percent: number): void;
  /** Tells the first complete reply (§2.2); it becomes the result's `reply` unless the result has its own. */
  reply(text: string): void;
};

/** What a handler may answer: the result, a text as its `output`, or nothing. */
export type HandlerAnswer = TaskResult | string | undefined | null;

/** Does the work. What it throws is the task's `error_info`. */
export type Handler = (task: RunningTask, context: HandlerContext) => Promise<HandlerAnswer> | HandlerAnswer;

/** `held`: it is in hand or was done before. `full`: no place is free. `closed`: the agent stops. */
export type Taking = 'taken' | 'held' | 'full' | 'closed';

export type Work = {
  /** Begins to work on a task that ends by itself after `remainingMs`. */
  take(task: RunningTask, remainingMs: number): Taking;
  /** Takes outcomes of an earlier life of the agent in hand; they are told once `tellRestored` is called. */
  restore(reports: readonly KeptReport[]): void;
  tellRestored(): void;
  /** What was accepted and not yet told, without what was dropped. */
  requestIds(): readonly RequestId[];
  /** Stops the work on tasks the gateway does not want done any more. Others are passed over. */
  drop(request_ids: readonly RequestId[]): void;
  isFull(): boolean;
  /** Resolves when a place is free, or the signal fires. */
  untilFree(signal: AbortSignal): Promise<void>;
  /** Takes nothing from now on. */
  close(): void;
  /** Resolves when nothing is in hand, or the signal fires. */
  untilDone(signal: AbortSignal): Promise<void>;
  /** Fires the signals of the handlers that still run; what they say then is told. */
  interrupt(): void;
  /** Gives up all that is in hand: what has no outcome yet is told as failed, until the signal fires. */
  abandon(signal: AbortSignal): Promise<void>;
};

export type WorkDeps = {
  readonly agent_id: string;
  readonly handler: Handler;
  readonly maxConcurrent: number;
  readonly reports: Reports;
  readonly outbox: Pick<Outbox, 'keep' | 'forget'>;
  readonly clock: Clock;
  readonly notify: Notify;
  /** Called when what is in hand has changed. */
  readonly onChange: () => void;
};

type InHand = {
  readonly request_id: RequestId;
  /** Whose task it is: this agent's, or that of an earlier life under another name. */
  readonly agent_id: string;
  /** The handler's signal. */
  readonly stopping: AbortController;
  /** Ends the telling of its outcome. */
  readonly telling: AbortController;
  /** What is being told. */
  outcome: Outcome | undefined;
  /** Nobody wants it any more. */
  dropped: boolean;
  /** The agent has stopped without waiting for its handler, and has said so. */
  left: boolean;
};

/** Repeated pushes are recognised this far back. */
const TOLD_MAX = 10_000;
const UNWANTED = 'the gateway does not want it any more: cancelled, ended, or moved to another agent';
const STOPPED = 'the agent was stopped before the task was done';

/** Creates the work of one agent. */
export function createWork(deps: WorkDeps): Work {
  const { agent_id, handler, maxConcurrent, reports, outbox, clock, notify } = deps;
  const inHand = new Map<string, InHand>();
  const told = new Set<string>();
  const waiting = new Set<() => void>();
  let restored: readonly InHand[] = [];
  let closed = false;

  function begin(request_id: RequestId, owner: string, outcome?: Outcome): InHand {
    const [stopping, telling] = [new AbortController(), new AbortController()];
    const entry: InHand = {
      request_id,
      agent_id: owner,
      stopping,
      telling,
      outcome,
      dropped: false,
      left: false,
    };
    inHand.set(request_id, entry);
    deps.onChange();
    return entry;
  }

  function end({ request_id }: InHand): void {
    inHand.delete(request_id);
    deps.onChange();
    for (const look of waiting) look();
  }

  /** Runs a task to its end: handler, outcome, place free again. */
  async function carry(task: RunningTask, entry: InHand, remainingMs: number): Promise<void> {
    const ended = linkSignals(entry.stopping.signal);
    const over = new WorkStoppedError('task_timeout', 'timeout');
    void clock.sleep(remainingMs, ended.signal).then(() => ended.signal.aborted || dropOne(entry, over));
    // The answer to the push goes out first: a handler may block from its first line on.
    await new Promise<void>((resolve) => setImmediate(resolve));
    const outcome = entry.dropped ? undefined : await runHandler(task, entry);
    ended.abort();
    entry.outcome ??= outcome;
    if (outcome && !entry.dropped && !entry.left) await outbox.keep({ ...outcome, agent_id });
    await tell(entry);
  }

  /** Tells an outcome until the gateway has it or does not want it, and frees its place. */
  async function tell(entry: InHand): Promise<void> {
    const { request_id, outcome, telling } = entry;
    if (entry.left) {
      end(entry);
      return;
    }
    const telt = outcome && !entry.dropped ? await settle(entry, outcome, telling.signal) : undefined;
    if (telt === 'told') remember(request_id);
    // What could not be told before the agent stopped stays for its next life.
    if (telt !== 'unfinished' || entry.dropped) await outbox.forget(request_id);
    end(entry);
  }

  function settle(entry: InHand, outcome: Outcome, signal: AbortSignal) {
    return reports.settle({ ...outcome, agent_id: entry.agent_id }, signal);
  }

  async function runHandler(task: RunningTask, entry: InHand): Promise<Outcome> {
    const { request_id } = task;
    const { signal } = entry.stopping;
    const teller = createProgressTeller({
      clock,
      tell: (news, own) => reports.tell({ request_id, ...news }, own),
      onUnwanted: () => dropOne(entry, new WorkStoppedError('task_cancelled', UNWANTED)),
    });
    try {
      const { progress, reply } = teller;
      const answer = await handler(task, { signal, progress, reply });
      return { request_id, status: 'success', result: readResult(answer, teller.replied()) };
    } catch (error) {
      return describeFailure(request_id, error);
    } finally {
      teller.close();
    }
  }

  function remember(request_id: string): void {
    told.add(request_id);
    if (told.size > TOLD_MAX) told.delete(told.keys().next().value ?? request_id);
  }

  function dropOne(entry: InHand, reason: WorkStoppedError): void {
    if (entry.dropped) return;
    entry.dropped = true;
    deps.onChange();
    notify({ kind: 'dropped', request_id: entry.request_id, reason: reason.message });
    entry.stopping.abort(reason);
    entry.telling.abort(reason);
  }

  async function until(isOver: () => boolean, signal: AbortSignal): Promise<void> {
    if (isOver() || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const linked = linkSignals(signal);
      const look = (): void => {
        if (isOver()) linked.abort();
      };
      waiting.add(look);
      linked.signal.addEventListener('abort', () => {
        waiting.delete(look);
        resolve();
      });
    });
  }

  /** Tells a task of this agent's as failed whose handler does not end. */
  async function giveUp(entry: InHand, signal: AbortSignal): Promise<void> {
    const outcome = describeFailure(entry.request_id, STOPPED);
    entry.left = true;
    await outbox.keep({ ...outcome, agent_id });
    if ((await settle(entry, outcome, signal)) !== 'unfinished') await outbox.forget(entry.request_id);
  }

  return {
    take(task, remainingMs) {
      const { request_id } = task;
      const held = inHand.get(request_id);
      if (told.has(request_id) || (held && !held.dropped)) return 'held';
      if (closed) return 'closed';
      // A task that came back while its dropped work is still ending waits until that has ended.
      if (held || inHand.size >= maxConcurrent) return 'full';
      const entry = begin(request_id, agent_id);
      notify({ kind: 'taken', task });
      void carry(task, entry, remainingMs);
      return 'taken';
    },
    restore(kept) {
      restored = kept.map(({ agent_id: owner, ...outcome }) => begin(outcome.request_id, owner, outcome));
    },
    tellRestored() {
      for (const entry of restored) void tell(entry);
      restored = [];
    },
    requestIds: () =>
      [...inHand.values()]
        .filter((entry) => !entry.dropped && !entry.left && entry.agent_id === agent_id)
        .map(({ request_id }) => request_id),
    drop(request_ids) {
      for (const request_id of request_ids) {
        const entry = inHand.get(request_id);
        if (entry) dropOne(entry, new WorkStoppedError('task_cancelled', UNWANTED));
      }
    },
    isFull: () => inHand.size >= maxConcurrent,
    untilFree: (signal) => until(() => inHand.size < maxConcurrent, signal),
    close() {
      closed = true;
    },
    untilDone: (signal) => until(() => inHand.size === 0, signal),
    interrupt() {
      for (const entry of inHand.values()) {
        if (!entry.outcome) entry.stopping.abort(new WorkStoppedError('agent_stopped', STOPPED));
      }
    },
    async abandon(signal) {
      const left = [...inHand.values()].filter(({ dropped }) => !dropped);
      const running = left.filter(({ outcome }) => outcome === undefined);
      const stop = (): void => {
        for (const { telling } of left) telling.abort();
      };
      signal.addEventListener('abort', stop);
      await Promise.all([
        ...running.map((entry) => giveUp(entry, signal)),
        until(() => left.every((entry) => entry.left || !inHand.has(entry.request_id)), signal),
      ]);
      signal.removeEventListener('abort', stop);
    },
  };
}

/** What the handler answered, as the result it stands for. Throws for what no result can be. */
export function readResult(answer: HandlerAnswer, reply: string | undefined): TaskResult {
  const first = reply === undefined ? {} : { reply };
  if (answer === undefined || answer === null) return first;
  if (typeof answer === 'string') return { ...first, output: answer };
  if (typeof answer !== 'object' || Array.isArray(answer)) {
    throw new InvalidOptionError('A handler answers an object, a text, or nothing.');
  }
  JSON.stringify(answer);
  return { ...first, ...answer };
}

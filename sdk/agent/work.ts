/**
 * The tasks an agent has in hand.
 *
 * In hand: from `take` until its outcome is told or nobody wants it. The handler runs; its signal fires when the task
 * is dropped (cancelled, timed out, moved) or the agent gives up waiting at its stop. Dropped: its signal keeps the
 * outcome from being told, but the place stays taken until the handler has really ended. Told: remembered, so that the push of a task
 * that was done already is not worked on twice.
 */
import { type Clock, linkSignals } from '../clock.ts';
import type { Task, TaskResult } from '../contract.ts';
import { InvalidOptionError } from '../errors.ts';
import type { Notify } from './notice.ts';
import { createProgressTeller } from './progress.ts';
import { describeFailure, type Outcome, type Reports } from './reports.ts';

/** What a handler is given besides the task. */
export type HandlerContext = {
  /** Fires when the work is not wanted any more: the task was cancelled, timed out or moved, or the agent stops. */
  readonly signal: AbortSignal;
  /** Tells how far the work is, 0 to 100. It never falls; of values told in quick succession the last one is sent. */
  progress(percent: number): void;
  /** Tells the first complete reply (§2.2); it becomes the result's `reply` unless the result has its own. */
  reply(text: string): void;
};

/** What a handler may answer: the result, a text as its `output`, or nothing. */
export type HandlerAnswer = TaskResult | string | undefined | null;

/** Does the work. What it throws is the task's `error_info`. */
export type Handler = (task: Task, context: HandlerContext) => Promise<HandlerAnswer> | HandlerAnswer;

/** `held`: it is in hand or was done before. `full`: no place is free. `closed`: the agent stops. */
export type Taking = 'taken' | 'held' | 'full' | 'closed';

export type Work = {
  /** Begins to work on a task that ends by itself after `remainingMs`. */
  take(task: Task, remainingMs: number): Taking;
  /** What was accepted and not yet told, without what was dropped. */
  requestIds(): readonly string[];
  /** Stops the work on tasks the gateway does not want done any more. Others are passed over. */
  drop(request_ids: readonly string[], reason: string): void;
  isFull(): boolean;
  /** Resolves when a place is free, or the signal fires. */
  untilFree(signal: AbortSignal): Promise<void>;
  /** Takes nothing from now on. */
  close(): void;
  /** Resolves when nothing is in hand, or the signal fires. */
  untilDone(signal: AbortSignal): Promise<void>;
  /** Gives up all that is in hand: handlers are stopped, their tasks told as failed, until the signal fires. */
  abandon(reason: string, signal: AbortSignal): Promise<void>;
};

export type WorkDeps = {
  readonly handler: Handler;
  readonly maxConcurrent: number;
  readonly reports: Reports;
  readonly clock: Clock;
  readonly notify: Notify;
};

type InHand = {
  readonly request_id: string;
  readonly stopping: AbortController;
  /** What is being told. */
  outcome: Outcome | undefined;
  dropped: boolean;
};

/** Repeated pushes are recognised this far back. */
const TOLD_MAX = 10_000;

/** Creates the work of one agent. */
export function createWork(deps: WorkDeps): Work {
  const { handler, maxConcurrent, reports, clock, notify } = deps;
  const inHand = new Map<string, InHand>();
  const told = new Set<string>();
  const waiting = new Set<() => void>();
  let closed = false;

  /** Runs a task to its end: handler, outcome, place free again. */
  async function carry(task: Task, entry: InHand, remainingMs: number): Promise<void> {
    const { request_id } = task;
    const ended = linkSignals(entry.stopping.signal);
    void clock.sleep(remainingMs, ended.signal).then(() => ended.signal.aborted || dropOne(entry, 'timeout'));
    entry.outcome = await runHandler(task, entry);
    ended.abort();
    if (await reports.settle(entry.outcome, entry.stopping.signal)) remember(request_id);
    inHand.delete(request_id);
    for (const look of waiting) look();
  }

  async function runHandler(task: Task, entry: InHand): Promise<Outcome> {
    const { request_id } = task;
    const { signal } = entry.stopping;
    const teller = createProgressTeller({
      clock,
      tell: (news, own) => reports.tell({ request_id, ...news }, own),
      onUnwanted: () => dropOne(entry, 'the task has ended or is another agent’s'),
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

  function dropOne(entry: InHand, reason: string): void {
    if (entry.dropped) return;
    entry.dropped = true;
    notify({ kind: 'dropped', request_id: entry.request_id, reason });
    entry.stopping.abort(new Error(reason));
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

  return {
    take(task, remainingMs) {
      const { request_id } = task;
      const held = inHand.get(request_id);
      if (told.has(request_id) || (held && !held.dropped)) return 'held';
      if (closed) return 'closed';
      // A task that came back while its dropped work is still ending waits until that has ended.
      if (held || inHand.size >= maxConcurrent) return 'full';
      const entry: InHand = {
        request_id,
        stopping: new AbortController(),
        outcome: undefined,
        dropped: false,
      };
      inHand.set(request_id, entry);
      notify({ kind: 'taken', task });
      void carry(task, entry, remainingMs);
      return 'taken';
    },
    requestIds: () =>
      [...inHand.values()].filter(({ dropped }) => !dropped).map(({ request_id }) => request_id),
    drop(request_ids, reason) {
      for (const request_id of request_ids) {
        const entry = inHand.get(request_id);
        if (entry) dropOne(entry, reason);
      }
    },
    isFull: () => inHand.size >= maxConcurrent,
    untilFree: (signal) => until(() => inHand.size < maxConcurrent, signal),
    close() {
      closed = true;
    },
    untilDone: (signal) => until(() => inHand.size === 0, signal),
    async abandon(reason, signal) {
      const left = [...inHand.values()].filter(({ dropped }) => !dropped);
      for (const entry of left) dropOne(entry, reason);
      await Promise.all(
        left.map(({ request_id, outcome }) =>
          reports.settle(outcome ?? describeFailure(request_id, reason), signal),
        ),
      );
    },
  };
}

/** What the handler answered, as the result it stands for. Throws for what no result can be. */
function readResult(answer: HandlerAnswer, reply: string | undefined): TaskResult {
  const first = reply === undefined ? {} : { reply };
  if (answer === undefined || answer === null) return first;
  if (typeof answer === 'string') return { ...first, output: answer };
  if (typeof answer !== 'object' || Array.isArray(answer)) {
    throw new InvalidOptionError('A handler answers an object, a text, or nothing.');
  }
  JSON.stringify(answer);
  return { ...first, ...answer };
}

/**
 * One task of an agent, from its acceptance until its slot is free.
 *
 *   working ──handler returns or throws──▶ delivering ──gateway has the outcome──▶ slot free
 *      │                                       │
 *      ├──────────────drop─────────────────────┴──▶ dropped ──handler has ended──▶ slot free
 *      └──abandon──▶ abandoned ──handler has ended──▶ slot free
 *
 * Dropped: the gateway no longer wants the task done, or its time is over. The handler's signal fires, and
 * its outcome is not reported. Abandoned: the agent stops, and reports the task as failed without waiting any
 * longer for its handler. In both cases the slot stays occupied until the handler itself has ended, or its
 * limit is over.
 */
import { linkSignals } from '../clock.ts';
import type { AgentId, RequestId, RunningTask, Task } from '../contract.ts';
import { WorkStoppedError } from '../errors.ts';
import { TIMEOUT_TEXT } from '../settled.ts';
import type { TraceOptions } from '../transport.ts';
import { describeFailure, type Handler, type HandlerDeps, type Outcome, runHandler } from './handler.ts';
import { createHandlerLimit, type HandlerLimitDeps } from './handler-limit.ts';
import { createHandlerController } from './handler-signal.ts';
import type { Outbox } from './outbox.ts';
import type { OutputWriter } from './output.ts';
import type { AskQuestion } from './questions.ts';
import type { Reports } from './reports.ts';

/**
 * Identifies a run's task. `agent_id` is this agent's, unless another agent left the outcome in the outbox.
 * `trace` came with the task and goes with its reports; an outcome in the outbox has none.
 */
export type TaskRunKey = {
  readonly request_id: RequestId;
  readonly agent_id: AgentId;
  readonly trace?: TraceOptions | undefined;
};

export type TaskRun = TaskRunKey & {
  /** Whether the handler has ended, so that only its outcome has to be delivered. */
  hasOutcome(): boolean;
  isDropped(): boolean;
  isAbandoned(): boolean;
  /**
   * Runs the handler, for at most `timeLeftMs`, and keeps its outcome in the outbox. Resolves when the
   * handler has ended, or its limit is over.
   */
  work(task: RunningTask, timeLeftMs: number): Promise<void>;
  /** Resolves when the handler has ended; at once if it never began. */
  waitForHandler(): Promise<void>;
  /**
   * Sends the rest of the output, and reports the outcome until the gateway has it or does not want it.
   * `dropped`: the gateway does not want it, or the task was dropped. `unfinished`: the agent stopped before
   * the gateway had it.
   */
  deliver(): Promise<'delivered' | 'dropped' | 'unfinished'>;
  /**
   * Stops the work on a task that the gateway no longer wants done. If its outcome is just being reported,
   * that report may be what ended it, so the response decides.
   */
  drop(): void;
  /**
   * Fires the handler's signal if it still runs; its outcome is reported all the same. An outcome that waits
   * for its next attempt is reported at once.
   */
  interrupt(): void;
  /** Reports the task as failed, until the signal fires. */
  abandon(signal: AbortSignal): Promise<void>;
  /** Stops delivering the outcome; it stays in the outbox. */
  stopDelivering(): void;
};

export type TaskRunDeps = HandlerLimitDeps & {
  readonly handler: Handler;
  /** `hurry` fires when the agent stops. */
  readonly createOutput: (
    key: TaskRunKey,
    onUnwanted: () => void,
    hurry: AbortSignal,
  ) => OutputWriter & { readonly askQuestion: AskQuestion };
  readonly reports: Reports;
  readonly outbox: Pick<Outbox, 'keep' | 'remove'>;
  /** Called when the task was dropped. */
  readonly onChange: () => void;
};

/** The longest time that a task gets, whatever its `timeout` says. */
const TASK_MAX_MS = 604_800_000;
const UNWANTED = 'the gateway no longer wants it done: cancelled, settled, or assigned to another agent';
const STOPPED = 'the agent was stopped before the task was done';

/** Creates the run of one task. `restored` is its outcome, if its handler ended in an earlier process. */
export function createTaskRun(deps: TaskRunDeps, key: TaskRunKey, restored?: Outcome): TaskRun {
  const { reports, outbox, clock, logEvent } = deps;
  const { request_id, agent_id, trace } = key;
  const working = createHandlerController();
  const limit = createHandlerLimit(deps, request_id);
  const delivering = new AbortController();
  const hurrying = new AbortController();
  let outcome = restored;
  let handling: Promise<Outcome> | undefined;
  let [isDropped, isAbandoned, isReporting] = [false, false, false];

  function drop(reason: WorkStoppedError): void {
    if (isDropped || isReporting) return;
    isDropped = true;
    deps.onChange();
    logEvent({ kind: 'dropped', request_id, reason: reason.message });
    if (handling && !outcome) limit.start();
    working.abort(reason);
    delivering.abort(reason);
    output.stop();
  }

  const dropUnwanted = (): void => drop(new WorkStoppedError('task_cancelled', UNWANTED));
  const output = deps.createOutput(key, dropUnwanted, hurrying.signal);

  return {
    ...key,
    hasOutcome: () => outcome !== undefined,
    isDropped: () => isDropped,
    isAbandoned: () => isAbandoned,
    drop: dropUnwanted,
    interrupt() {
      if (!outcome) working.abort(new WorkStoppedError('agent_stopped', STOPPED));
      hurrying.abort();
      limit.stop();
    },
    stopDelivering: () => delivering.abort(),

    async work(task, timeLeftMs) {
      const timer = linkSignals(working.signal);
      const timeout = new WorkStoppedError('task_timeout', TIMEOUT_TEXT);
      void clock.sleep(timeLeftMs, timer.signal).then(() => timer.signal.aborted || drop(timeout));
      // Lets the response to the push leave first: a handler may block the thread as soon as it starts.
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (!isDropped) {
        const onFailed = (error: unknown): void => {
          if (!isDropped && !isAbandoned) logEvent({ kind: 'failed', task, error });
        };
        const { write, askQuestion } = output;
        const handlerDeps = { ...createHandlerDeps(deps, key, dropUnwanted), write, askQuestion, onFailed };
        handling = runHandler(handlerDeps, task, working.signal, trace);
        outcome = await Promise.race([handling, limit.expired]);
      }
      limit.stop();
      timer.abort();
      if (outcome && !isDropped && !isAbandoned) await outbox.keep({ ...outcome, agent_id });
    },

    async waitForHandler() {
      await handling;
    },

    async deliver() {
      if (isAbandoned) return 'unfinished';
      await output.finish(delivering.signal);
      const report = outcome && !isDropped ? { ...outcome, agent_id } : undefined;
      isReporting = true;
      const result = report && (await reports.deliver(report, delivering.signal, hurrying.signal, trace));
      // An outcome that could not be delivered before the agent stopped stays in the outbox for the next
      // start.
      if (result !== 'unfinished' || isDropped) await outbox.remove(request_id);
      if (result === 'delivered') return 'delivered';
      return result === 'unwanted' || isDropped ? 'dropped' : 'unfinished';
    },

    async abandon(signal) {
      isAbandoned = true;
      output.stop();
      const failure = { ...describeFailure(request_id, STOPPED), agent_id };
      await outbox.keep(failure);
      const result = await reports.deliver(failure, signal, hurrying.signal, trace);
      if (result !== 'unfinished') await outbox.remove(request_id);
    },
  };
}

function createHandlerDeps(
  deps: TaskRunDeps,
  { request_id, trace }: TaskRunKey,
  onUnwanted: () => void,
): Omit<HandlerDeps, 'onFailed' | 'write' | 'askQuestion'> {
  const { reports, logEvent } = deps;
  return {
    ...deps,
    sendProgress: (update, signal) => reports.sendProgress({ request_id, ...update }, signal, trace),
    onUnwanted,
    onWrongProgress: (error) => logEvent({ kind: 'failure', during: 'report', error }),
  };
}

/**
 * Returns the milliseconds that are left for a task: as the gateway counts them (the header `task-remaining`,
 * in seconds), otherwise its whole `timeout`. Neither needs agreement about the time of day.
 */
export function readTimeLeft({ timeout }: Pick<Task, 'timeout'>, header?: string): number {
  const seconds = header?.trim() ? Number(header) : Number.NaN;
  if (seconds >= 0) return Math.min(seconds * 1_000, TASK_MAX_MS);
  const timeoutMs = timeout * 1_000;
  return timeoutMs > 0 && timeoutMs < TASK_MAX_MS ? timeoutMs : TASK_MAX_MS;
}

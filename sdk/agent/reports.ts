/**
 * How an agent tells the gateway about its tasks (§4.7). The outcome of a task is told until the gateway has answered:
 * a repeat is harmless, a lost outcome is not. Progress is told once and forgotten.
 */
import type { Calls } from '../calls.ts';
import type { Clock } from '../clock.ts';
import type { RequestId, TaskReport } from '../contract.ts';
import { AbortError, ApiError, TaskGatewayError } from '../errors.ts';
import type { Notify } from './log-events.ts';
import type { KeptReport } from './outbox.ts';
import { WorkStoppedError } from './stopped.ts';

/** The outcome of a task, as it is told. */
export type Outcome = Omit<TaskReport, 'agent_id' | 'status'> & { readonly status: 'success' | 'failed' };

export type Reports = {
  /** Tells an outcome: `told` once the gateway has it, `unwanted` when it wants none, `unfinished` when the signal fired. */
  settle(report: KeptReport, signal: AbortSignal): Promise<'told' | 'unwanted' | 'unfinished'>;
  /** Tells progress. False when the task is none of this agent's any more. */
  tell(news: Omit<TaskReport, 'agent_id' | 'status'>, signal: AbortSignal): Promise<boolean>;
};

export type ReportsDeps = {
  readonly calls: Pick<Calls, 'reportResult'>;
  readonly clock: Clock;
  readonly agent_id: string;
  /** Called when the gateway does not know the agent any more. Never rejects. */
  readonly registerAgain: (signal: AbortSignal) => Promise<void>;
  readonly notify: Notify;
};

const PAUSE_FIRST_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
const ERROR_CHARS_MAX = 4_000;
const REFUSED_STATUSES: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** Creates the reports of one agent. */
export function createReports(deps: ReportsDeps): Reports {
  const { calls, clock, agent_id, notify } = deps;

  /** One try: whether that was the last word, or what the agent should do before the next. */
  async function settleOnce(
    report: KeptReport,
    signal: AbortSignal,
  ): Promise<'told' | 'unwanted' | 'refused' | 'again'> {
    const { request_id, status } = report;
    try {
      const { accepted } = await calls.reportResult(report, { signal });
      notify({ kind: 'reported', request_id, status, accepted });
      return 'told';
    } catch (error) {
      if (error instanceof AbortError) return 'again';
      if (isUnwanted(error)) {
        notify({ kind: 'dropped', request_id, reason: error.message });
        return 'unwanted';
      }
      notify({ kind: 'failure', during: 'report', error });
      if (error instanceof ApiError && error.code === 'agent_not_found') await deps.registerAgain(signal);
      return isRefused(error) ? 'refused' : 'again';
    }
  }

  return {
    async settle(report, signal) {
      let told = report;
      for (let tries = 0; !signal.aborted; tries += 1) {
        const answer = await settleOnce(told, signal);
        if (answer === 'told' || answer === 'unwanted') return answer;
        if (answer === 'refused') {
          // What the gateway will not take must still end the task: as failed, and if not even that, not at all.
          if (told.status === 'failed') return 'unwanted';
          const reason = 'the gateway refused the result: see the log of the agent';
          told = { ...describeFailure(told.request_id, reason), agent_id: report.agent_id };
        } else {
          await clock.sleep(Math.min(PAUSE_FIRST_MS * 2 ** tries, PAUSE_MAX_MS), signal);
        }
      }
      return 'unfinished';
    },

    async tell(news, signal) {
      try {
        const report = { ...news, agent_id, status: 'running' as const };
        return (await calls.reportResult(report, { signal, maxRetries: 1 })).accepted;
      } catch (error) {
        if (error instanceof AbortError) return true;
        if (isUnwanted(error)) return false;
        notify({ kind: 'failure', during: 'report', error });
        return true;
      }
    },
  };
}

/** The task is unknown or another agent's. */
function isUnwanted(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.code === 'task_not_found' || error.code === 'agent_mismatch');
}

/** The same report would be refused again: its body is what is wrong, or could not even be written as JSON. */
function isRefused(error: unknown): boolean {
  if (error instanceof ApiError) return REFUSED_STATUSES.has(error.status);
  return !(error instanceof TaskGatewayError);
}

/** The outcome of a task that failed, for whatever the handler threw. */
export function describeFailure(request_id: RequestId, reason: unknown): Outcome {
  const plain = reason instanceof WorkStoppedError || (reason instanceof Error && reason.name === 'Error');
  const text = plain ? reason.message : String(reason);
  return { request_id, status: 'failed', error_info: text.slice(0, ERROR_CHARS_MAX) };
}

/**
 * An agent's reports on its tasks. It sends an outcome until the gateway has responded to it, because a
 * repeat is harmless and a lost outcome is not. It sends a progress once, and ignores a failure.
 */
import type { Calls } from '../calls.ts';
import type { Clock } from '../clock.ts';
import type { AgentId, RequestId } from '../contract.ts';
import { AbortError, ApiError, InternalError } from '../errors.ts';
import type { TraceOptions } from '../transport.ts';
import { describeFailure } from './handler.ts';
import { attemptInTime, pauseInTime, type Signals } from './hurry.ts';
import type { LogEvent } from './log-events.ts';
import type { KeptReport } from './outbox.ts';
import type { ProgressUpdate } from './progress.ts';

/**
 * `unwanted`: the gateway does not want the outcome. `unfinished`: the signal fired before the gateway took
 * it, or the gateway failed at it too often.
 */
type DeliveryResult = 'delivered' | 'unwanted' | 'unfinished';

export type Reports = {
  /**
   * Reports an outcome until the gateway has responded or the signal fires. When `hurry` fires, little time
   * is left: the next attempt is made at once, one without a response is soon repeated, and pauses that the
   * gateway asks for no longer count.
   */
  deliver(
    report: KeptReport,
    signal: AbortSignal,
    hurry: AbortSignal,
    trace?: TraceOptions,
  ): Promise<DeliveryResult>;
  /** Reports progress. Resolves to false when the task is no longer this agent's to work on. */
  sendProgress(
    update: ProgressUpdate & { readonly request_id: RequestId },
    signal: AbortSignal,
    trace?: TraceOptions,
  ): Promise<boolean>;
};

export type ReportsDeps = {
  readonly calls: Pick<Calls, 'reportResult'>;
  readonly clock: Clock;
  readonly agent_id: AgentId;
  /** Called when the gateway does not know the agent. Never rejects. */
  readonly registerAgain: (signal: AbortSignal) => Promise<void>;
  readonly logEvent: LogEvent;
};

const BACKOFF = { firstMs: 1_000, maxMs: 30_000 };
/**
 * If the gateway fails so often in a row, which takes about eight minutes, the slot is freed for another
 * task: the gateway's record of this one may be damaged. An outbox keeps the outcome for the next start.
 */
const FAULTS_MAX = 20;
/** The statuses by which the gateway rejects the report itself: it would reject the same one again. */
const REJECTED_STATUSES: ReadonlySet<number> = new Set([400, 413, 415, 422]);

export function createReports(deps: ReportsDeps): Reports {
  const { calls, clock, agent_id, logEvent } = deps;

  /**
   * Makes one attempt. `rejected`: the gateway would reject the same report again. `fault`: the gateway
   * failed at it. A number: another attempt may succeed, after the pause of so many milliseconds that the
   * gateway asks for.
   */
  async function deliverOnce(
    report: KeptReport,
    signals: Signals,
    trace: TraceOptions,
  ): Promise<'delivered' | 'unwanted' | 'rejected' | 'fault' | number> {
    const { request_id, status, error_info = null } = report;
    try {
      // The calls make no retries: the pauses are made here, where `hurry` ends them.
      const { accepted } = await attemptInTime(clock, signals, (signal) =>
        calls.reportResult(report, { signal, maxRetries: 0, ...trace }),
      );
      logEvent({ kind: 'reported', request_id, status, accepted, error_info });
      return 'delivered';
    } catch (error) {
      if (error instanceof AbortError) return 0;
      if (isUnwanted(error)) {
        logEvent({ kind: 'dropped', request_id, reason: error.message });
        return 'unwanted';
      }
      logEvent({ kind: 'failure', during: 'report', error });
      if (error instanceof ApiError && error.code === 'agent_not_found')
        await deps.registerAgain(signals.signal);
      if (!(error instanceof ApiError)) return 0;
      if (error instanceof InternalError && error.problem) return 'fault';
      return isRejected(error) ? 'rejected' : (error.retryAfterMs ?? 0);
    }
  }

  return {
    async deliver(outcome, signal, hurry, trace = {}) {
      let report = outcome;
      const signals = { signal, hurry };
      let faults = 0;
      for (let attempts = 0; !signal.aborted && faults < FAULTS_MAX; attempts += 1) {
        const result = await deliverOnce(report, signals, trace);
        faults = result === 'fault' ? faults + 1 : 0;
        if (result === 'delivered' || result === 'unwanted') return result;
        if (result === 'rejected') {
          // If the gateway rejects a result, the task must still end, so it is reported as failed. If that is
          // rejected too, give up.
          if (report.status === 'failed') return 'unwanted';
          const reason = 'the gateway refused the result: see the log of the agent';
          report = { ...describeFailure(report.request_id, reason), agent_id: report.agent_id };
        } else {
          await pauseInTime(clock, signals, BACKOFF, attempts, result === 'fault' ? 0 : result);
        }
      }
      if (faults === FAULTS_MAX) {
        const reason = `the gateway failed ${faults} times at its report: see its log`;
        logEvent({ kind: 'dropped', request_id: report.request_id, reason });
      }
      return 'unfinished';
    },

    async sendProgress(update, signal, trace) {
      try {
        const report = { ...update, agent_id, status: 'running' as const };
        return (await calls.reportResult(report, { signal, maxRetries: 1, ...trace })).accepted;
      } catch (error) {
        if (error instanceof AbortError) return true;
        if (isUnwanted(error)) return false;
        logEvent({ kind: 'failure', during: 'report', error });
        return true;
      }
    },
  };
}

/** Whether the gateway itself rejects the report. A proxy in front of it can only find it too large. */
function isRejected({ status, problem }: ApiError): boolean {
  return REJECTED_STATUSES.has(status) && (problem !== undefined || status === 413);
}

/** Whether the task is unknown or another agent's. */
export function isUnwanted(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.code === 'task_not_found' || error.code === 'agent_mismatch');
}

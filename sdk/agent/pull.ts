/** How an agent without an inbound port gets its tasks: it claims one whenever it has a free slot. */
import type { Calls } from '../calls.ts';
import { type Clock, readMonotonicMs } from '../clock.ts';
import type { AgentId, RequestId } from '../contract.ts';
import { AbortError, ApiError, NotFoundError } from '../errors.ts';
import { isSettled } from '../settled.ts';
import { choosePauseMs, HELD_EVERY_MS } from '../waiting.ts';
import type { LogEvent } from './log-events.ts';
import type { Registration } from './registration.ts';
import { readTimeLeft } from './task-run.ts';
import { readTraceHeaders } from './trace-headers.ts';
import { REQUEST_IDS_MAX, type Work } from './work.ts';

export type PullDeps = {
  readonly calls: Pick<Calls, 'claimTask'>;
  readonly clock: Clock;
  readonly agent_id: AgentId;
  readonly work: Pick<Work, 'take' | 'waitForSlot' | 'isFull' | 'request_ids'>;
  readonly registration: Pick<Registration, 'sendHeartbeat' | 'registerAgain' | 'noteState'>;
  readonly logEvent: LogEvent;
};

/** How long the gateway may hold a claim while it has no task. */
const CLAIM_SECONDS = 20;
const BACKOFF = { firstMs: 500, maxMs: 10_000 };

/**
 * Claims and takes tasks until the signal fires. The claim under way then goes on until `claiming` fires; its
 * task is still taken. Failed claims are logged and retried.
 */
export async function pullTasks(deps: PullDeps, signal: AbortSignal, claiming: AbortSignal): Promise<void> {
  const { work, registration, clock, logEvent } = deps;
  let failures = 0;
  let lastId: RequestId | undefined;
  while (!signal.aborted) {
    await work.waitForSlot(signal);
    if (signal.aborted) return;
    const startMs = readMonotonicMs(clock);
    try {
      const request_id = await claimOne(deps, claiming);
      failures = 0;
      // A gateway without a new task holds the claim. One that does not is asked no more often than this.
      const isNew = request_id !== undefined && request_id !== lastId;
      lastId = request_id;
      if (!isNew) await clock.sleep(startMs + HELD_EVERY_MS - readMonotonicMs(clock), signal);
      // Each claim names the tasks that the agent has. A full agent makes no claim, so a heartbeat names its
      // last task.
      if (work.isFull()) await registration.sendHeartbeat(signal);
    } catch (error) {
      if (error instanceof AbortError) return;
      logEvent({ kind: 'failure', during: 'claim', error });
      if (error instanceof NotFoundError) await registration.registerAgain(signal);
      const askedMs = error instanceof ApiError ? error.retryAfterMs : undefined;
      await clock.sleep(choosePauseMs(clock, BACKOFF, failures, askedMs), signal);
      failures += 1;
    }
  }
}

/** Makes one claim. Resolves to the id of the task that it brought, if the agent has taken it. */
async function claimOne(
  { calls, agent_id, work, registration }: PullDeps,
  signal: AbortSignal,
): Promise<RequestId | undefined> {
  const request_ids = [...work.request_ids()].slice(-REQUEST_IDS_MAX);
  let trace = {};
  const onResponse = ({ headers }: Response): void => {
    registration.noteState(headers.get('agent-state'));
    trace = readTraceHeaders(headers.get('traceparent'), headers.get('tracestate'));
  };
  const task = await calls.claimTask(
    { agent_id, wait: CLAIM_SECONDS, request_ids },
    { signal, maxRetries: 0, onResponse },
  );
  // Once the signal has fired, no handler may begin.
  if (signal.aborted || !task || isSettled(task) || task.agent_id !== agent_id) return undefined;
  const result = work.take(task, readTimeLeft(task), { kind: 'claim', trace });
  return result === 'taken' ? task.request_id : undefined;
}

/** The client: every operation of the contract, the event stream, and `runTask`, which combines both. */
import { type Calls, createCalls } from './calls.ts';
import { loadChunk } from './chunks.ts';
import type {
  FreeForm,
  JsonObject,
  JsonResult,
  RequestId,
  SessionId,
  SuccessfulTask,
  TaskResult,
  TaskSubmission,
} from './contract.ts';
import { requireId } from './ids.ts';
import { CALL_OPTION_NAMES, CLIENT_OPTION_NAMES, warnOfUnknownNames } from './option-names.ts';
import type { RunOptions, RunTask } from './run.ts';
import { type ClientOptions, readSettings } from './settings.ts';
import type { OutputReading, ReadOutputOptions } from './stream/output.ts';
import { createSubscription, type EventSubscription, type SubscribeOptions } from './stream/subscription.ts';

/** A client of one gateway. It keeps connections open only for calls, runs and subscriptions in progress. */
export type TaskGatewayClient = Calls & {
  /**
   * Subscribes to the `task_done` events of a session: first those stored, then new ones, across
   * reconnections. Read it with `for await`; no request is sent before the loop starts. The first loop loads
   * the code that reads streams; in a bundle whose file for it is missing: `chunk_not_loaded`.
   */
  subscribeEvents(session: SessionId, options?: SubscribeOptions): EventSubscription;
  /**
   * Reads the output of a task, piece by piece and each once: first the stored pieces, then new ones as its
   * agent writes them, across reconnections. The last item is the `end`; then the loop ends. With `follow:
   * false` it ends where the output ends now. The first loop loads its code, as `subscribeEvents` does.
   */
  readOutput(request_id: RequestId, options?: ReadOutputOptions): OutputReading;
  /**
   * Submits a task, waits by stream or by polling until it reaches a terminal state, and returns it. A
   * submission without `queue_timeout` waits for an agent for 30 seconds, or for `timeout` if that is less;
   * with `queue_timeout: 0` it fails at once if no agent is free. One without `cli_session_id` gets a session
   * of this client, or none if the options have an `idempotencyKey`. Throws `TaskFailedError` with the task
   * when it failed (or its subclasses `TaskCancelledError`, `TaskTimeoutError`, `NoAgentAvailableError`), and
   * what the calls throw; after the submission each error has the task's `request_id`. `Result` is the
   * caller's word: it is not checked. The first run loads the code for runs; in a bundle whose file for it is
   * missing: `chunk_not_loaded`.
   */
  runTask<Payload extends JsonObject = FreeForm, Result extends JsonResult = TaskResult>(
    submission: TaskSubmission<Payload>,
    options?: RunOptions,
  ): Promise<SuccessfulTask<Payload, Result>>;
};

/**
 * Creates a client. Options that are absent are read from the environment (`TASK_GATEWAY_URL`,
 * `TASK_GATEWAY_AUTH` …). Throws `InvalidOptionError` for an address, a secret or a number that can't work.
 */
export function createClient(options: ClientOptions = {}): TaskGatewayClient {
  warnOfUnknownNames('The options of clients', options, CLIENT_OPTION_NAMES);
  const { streams, ...calls } = createCalls(readSettings(options));
  let runTask: RunTask | undefined;
  return {
    ...calls,
    subscribeEvents(session, subscribing = {}) {
      warnOfUnknownNames('The options of calls', subscribing, CALL_OPTION_NAMES);
      return createSubscription(subscribing, async (reading) => {
        const part = await loadChunk(() => import('./stream/session.ts'), reading.signal);
        return part.readSession(streams, session, { ...subscribing, ...reading });
      });
    },
    readOutput(request_id, reading = {}) {
      warnOfUnknownNames('The options of calls', reading, CALL_OPTION_NAMES);
      const lastEventId = `${reading.after ?? 0}`;
      requireId(request_id);
      return createSubscription({ signal: reading.signal, lastEventId }, async (at) => {
        const part = await loadOutput(at.signal);
        return part.readOutput(streams, request_id, { ...reading, ...at });
      });
    },
    async runTask(submission, running) {
      const part = await loadChunk(() => import('./run.ts'), running?.signal);
      // All runs of this client share its streams.
      runTask ??= part.createRunTask(calls, streams, loadOutput);
      return await runTask(submission, running);
    },
  };
}

/** Loads the part that reads outputs. */
function loadOutput(signal: AbortSignal | undefined): Promise<typeof import('./stream/output.ts')> {
  return loadChunk(() => import('./stream/output.ts'), signal);
}

/** The client: every operation of the contract, the event stream, and `runTask`, which combines both. */
import { type Calls, createCalls } from './calls.ts';
import { loadChunk } from './chunks.ts';
import type {
  FreeForm,
  JsonObject,
  JsonResult,
  OutputPiece,
  OutputStatus,
  RequestId,
  SessionId,
  SuccessfulTask,
  TaskResult,
  TaskSubmission,
} from './contract.ts';
import { requireId } from './ids.ts';
import { CALL_OPTION_NAMES, CLIENT_OPTION_NAMES, warnOfUnknownNames } from './option-names.ts';
import type { FollowOptions, RunOptions, Runs } from './run.ts';
import { type ClientOptions, readSettings } from './settings.ts';
import type { OutputReading, ReadOutputOptions } from './stream/output.ts';
import { createSubscription, type EventSubscription, type SubscribeOptions } from './stream/subscription.ts';

/** A client of one gateway. It keeps no connection open except for calls, runs and subscriptions. */
export type TaskGatewayClient = Calls & {
  /**
   * Subscribes to the `task_done` events of a session: stored events first, then new ones, across
   * reconnections. Read it with `for await`; no request is sent before the loop starts. The first loop loads
   * the code that reads streams; if a bundle lacks the file that holds it, the loop throws
   * `chunk_not_loaded`.
   */
  subscribeEvents(session: SessionId, options?: SubscribeOptions): EventSubscription;
  /**
   * Reads the output of a task, piece by piece and each once: stored pieces first, then new ones as the agent
   * writes them, across reconnections. The last item is the `end`; then the loop ends. With `follow: false`
   * the loop ends where the output ends now. The first loop loads its code, as with `subscribeEvents`.
   */
  readOutput(
    request_id: RequestId,
    options: ReadOutputOptions & { readonly withStatus: true },
  ): OutputReading<OutputPiece | OutputStatus>;
  readOutput(request_id: RequestId, options?: ReadOutputOptions): OutputReading;
  /**
   * Submits a task, waits by stream or by polling until it reaches a terminal state, and returns it.
   *
   * A submission without `queue_timeout` waits for an agent for 30 seconds, or for `timeout` if that is less;
   * with `queue_timeout: 0` it fails at once if no agent is free. One without `cli_session_id` gets a session
   * of this client, or none if the options have an `idempotencyKey`.
   *
   * If the task failed, it throws `TaskFailedError` with the task, or its subclass `TaskCancelledError`,
   * `TaskTimeoutError` or `NoAgentAvailableError`. It also throws what the calls throw; after the submission
   * every error has the task's `request_id`. Nothing checks `Result`: it is the caller's claim. The first run
   * loads the code for runs; if a bundle lacks the file that holds it, the run throws `chunk_not_loaded`.
   */
  runTask<Payload extends JsonObject = FreeForm, Result extends JsonResult = TaskResult>(
    submission: TaskSubmission<Payload>,
    options?: RunOptions,
  ): Promise<SuccessfulTask<Payload, Result>>;
  /**
   * Follows an existing task until it reaches a terminal state, and returns it, as `runTask` does. A page
   * that is loaded again can follow the task that it began in this way. `onProgress` is first called with the
   * task as it is now, `onOutput` gets the pieces behind `after`, and `onQuestion` gets every open question,
   * even one before `after`. The signal ends the following; the task goes on.
   */
  followTask<Payload extends JsonObject = FreeForm, Result extends JsonResult = TaskResult>(
    request_id: RequestId,
    options?: FollowOptions,
  ): Promise<SuccessfulTask<Payload, Result>>;
};

/**
 * Creates a client. It reads options that you leave out from the environment (`TASK_GATEWAY_URL`,
 * `TASK_GATEWAY_AUTH` …). Throws `InvalidOptionError` for an address, a secret or a number that can't work.
 */
export function createClient(options: ClientOptions = {}): TaskGatewayClient {
  warnOfUnknownNames('The options of clients', options, CLIENT_OPTION_NAMES);
  const { streams, ...calls } = createCalls(readSettings(options));
  let runs: Runs | undefined;
  /** All runs of this client share its streams. */
  async function loadRuns(signal: AbortSignal | undefined): Promise<Runs> {
    const part = await loadChunk(() => import('./run.ts'), signal);
    runs ??= part.createRuns(calls, streams, loadOutput);
    return runs;
  }

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
      // The cast is needed because the overloads of the type say whether the loop also gets statuses.
      return createSubscription({ signal: reading.signal, lastEventId }, async (at) => {
        const part = await loadOutput(at.signal);
        return part.readOutput(streams, request_id, { ...reading, ...at });
      }) as OutputReading;
    },
    async runTask(submission, running) {
      return await (await loadRuns(running?.signal)).runTask(submission, running);
    },
    async followTask(request_id, following) {
      warnOfUnknownNames('The options of calls', following, CALL_OPTION_NAMES);
      requireId(request_id);
      return await (await loadRuns(following?.signal)).followTask(request_id, following);
    },
  };
}

/** Loads the part that reads outputs. */
function loadOutput(signal: AbortSignal | undefined): Promise<typeof import('./stream/output.ts')> {
  return loadChunk(() => import('./stream/output.ts'), signal);
}

/** The client: every operation of the contract, the event stream, and `runTask` over both. */
import { type Calls, createCalls } from './calls.ts';
import type { SessionId, SuccessfulTask, TaskSubmission } from './contract.ts';
import { createId } from './ids.ts';
import { type RunOptions, runTask } from './run.ts';
import { type ClientOptions, readSettings } from './settings.ts';
import { followFeed, IDLE_MS } from './stream/follow.ts';
import { createSharedFeeds } from './stream/shared.ts';
import { createSubscription, type EventSubscription, type SubscribeOptions } from './stream/subscription.ts';

/** A client of one gateway. It holds nothing open but what its calls under way need. */
export type TaskGatewayClient = Calls & {
  /**
   * The `task_done` events of a session (§4.2, §6): those stored, then those that come, through every reconnection.
   * Read it with `for await`; nothing is sent before the loop starts.
   */
  subscribeEvents(session: SessionId, options?: SubscribeOptions): EventSubscription;
  /**
   * Submits a task, waits for its end by stream or polling, and answers it. A task without `cli_session_id` gets this
   * client's own. Throws `TaskFailedError` (`TaskCancelledError`, `TaskTimeoutError`, `NoAgentAvailableError`) with
   * the task when it failed, and what the calls throw.
   */
  runTask(submission: TaskSubmission, options?: RunOptions): Promise<SuccessfulTask>;
};

/**
 * Creates a client. What the options leave open comes from the environment (`TASK_GATEWAY_URL`, `TASK_GATEWAY_AUTH` …).
 * Throws `InvalidOptionError` for an address, a secret or a number that can't work.
 */
export function createClient(options: ClientOptions = {}): TaskGatewayClient {
  const settings = readSettings(options);
  const { clock, log } = settings;
  const { openSession, ...calls } = createCalls(settings);
  const feeds = createSharedFeeds((session, place, signal) =>
    followFeed({
      openStream: (lastEventId, own) => openSession(session, lastEventId, { signal: own }),
      ...{ clock, log, place, idleMs: IDLE_MS, signal },
    }),
  );
  const ownSession = `sdk-${createId()}`;
  return {
    ...calls,
    subscribeEvents(session, subscribing = {}) {
      const { timeoutMs, headers } = subscribing;
      return createSubscription(
        {
          ...{ clock, log },
          openStream: (lastEventId, signal) =>
            openSession(session, lastEventId, { signal, timeoutMs, headers }),
        },
        subscribing,
      );
    },
    runTask: (submission, running) => runTask({ calls, feeds, clock, ownSession }, submission, running),
  };
}

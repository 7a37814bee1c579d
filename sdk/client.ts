/** The client: every operation of the contract, the event stream, and `runTask` over both. */
import { type Calls, createCalls } from './calls.ts';
import { type Clock, systemClock } from './clock.ts';
import type { SuccessfulTask, TaskSubmission } from './contract.ts';
import { InvalidOptionError } from './errors.ts';
import { createSubscription, type EventSubscription, type SubscribeOptions } from './events.ts';
import { followFeed, IDLE_MS } from './feed.ts';
import { createSharedFeeds } from './feeds.ts';
import { createId } from './ids.ts';
import { type RunOptions, runTask } from './run.ts';
import { DEFAULT_SETTINGS, type Fetch } from './transport.ts';

/** How a client reaches its gateway. */
export type ClientOptions = {
  /** Where the gateway is: `http://127.0.0.1:8080`, or in a browser a path of the same origin. */
  readonly baseUrl: string;
  /** The gateway secret (§5). */
  readonly auth: string;
  /** The administrator's secret; needed for the listings alone. */
  readonly adminAuth?: string | undefined;
  /** Milliseconds one attempt of a call may take; 30,000 unless told otherwise. */
  readonly timeoutMs?: number | undefined;
  /** How often a failed attempt is repeated; 4 unless told otherwise. */
  readonly maxRetries?: number | undefined;
  /** Sent along with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Used instead of the platform's `fetch`. It is given a `Request` and must heed the signal. */
  readonly fetch?: Fetch | undefined;
  /** Used instead of the platform's time and chance, in tests. */
  readonly clock?: Clock | undefined;
};

/** A client of one gateway. It holds nothing open but what its calls under way need. */
export type TaskGatewayClient = Calls & {
  /**
   * The `task_done` events of a session (§4.2, §6): those stored, then those that come, through every reconnection.
   * Read it with `for await`; nothing is sent before the loop starts.
   */
  subscribeEvents(session: string, options?: SubscribeOptions): EventSubscription;
  /**
   * Submits a task, waits for its end by stream or polling, and answers it. A task without `cli_session_id` gets this
   * client's own. Throws `TaskFailedError` (`TaskCancelledError`, `TaskTimeoutError`, `NoAgentAvailableError`) with
   * the task when it failed, and what the calls throw.
   */
  runTask(submission: TaskSubmission, options?: RunOptions): Promise<SuccessfulTask>;
};

/** Creates a client. Throws `InvalidOptionError` for an address or a secret that can't work. */
export function createClient(options: ClientOptions): TaskGatewayClient {
  const { auth, adminAuth, timeoutMs, maxRetries, headers = {}, clock = systemClock } = options;
  judgeSecret('auth', auth);
  if (adminAuth !== undefined) judgeSecret('adminAuth', adminAuth);
  const secrets = [auth, ...(adminAuth === undefined ? [] : [adminAuth])];
  const fetch = options.fetch ?? ((request, init) => globalThis.fetch(request, init));
  const settings = {
    timeoutMs: timeoutMs ?? DEFAULT_SETTINGS.timeoutMs,
    maxRetries: maxRetries ?? DEFAULT_SETTINGS.maxRetries,
  };
  const network = { fetch, clock, secrets };
  const { openSession, ...calls } = createCalls({
    baseUrl: readBaseUrl(options.baseUrl),
    auth,
    adminAuth,
    network,
    settings,
    headers,
  });
  const feeds = createSharedFeeds((session, place, signal) =>
    followFeed({
      openStream: (lastEventId, own) => openSession(session, lastEventId, { signal: own }),
      clock,
      place,
      idleMs: IDLE_MS,
      signal,
    }),
  );
  const ownSession = `sdk-${createId()}`;
  return {
    ...calls,
    subscribeEvents(session, subscribing = {}) {
      const { timeoutMs: connectMs, headers: more } = subscribing;
      return createSubscription(
        {
          clock,
          openStream: (lastEventId, signal) =>
            openSession(session, lastEventId, { signal, timeoutMs: connectMs, headers: more }),
        },
        subscribing,
      );
    },
    runTask: (submission, running) => runTask({ calls, feeds, clock, ownSession }, submission, running),
  };
}

/** The address without a slash at its end. The texts do not repeat it: it may hold a password. */
function readBaseUrl(text: string): string {
  const url = parseUrl(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new InvalidOptionError('baseUrl must be an http(s) address, like http://127.0.0.1:8080.');
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new InvalidOptionError('baseUrl must have no user, password, query or fragment.');
  }
  return url.href.replace(/\/+$/, '');
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text, globalThis.location?.href);
  } catch {
    return undefined;
  }
}

/** A secret travels in a header, which carries printable ASCII and would lose spaces at its ends. */
function judgeSecret(name: string, secret: string): void {
  if (typeof secret === 'string' && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(secret)) return;
  throw new InvalidOptionError(
    `${name} must be the gateway's secret: printable ASCII, no space at its ends.`,
  );
}

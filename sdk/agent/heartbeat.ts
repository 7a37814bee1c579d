/**
 * The heartbeat thread of an agent. While a handler blocks the event loop, the agent itself can't send
 * heartbeats, and the gateway would take it for dead. The thread sends one whenever the agent's own is
 * overdue. Its code is in `heartbeat-thread.ts`.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { AgentRegistration, RequestId } from '../contract.ts';

/** The data with which the thread sends heartbeats. The agent posts it again whenever it changes. */
export type HeartbeatState = {
  readonly auth: string;
  readonly registration: AgentRegistration;
  /** The token of the present registration; undefined with a gateway that gives no token. */
  readonly token: string | undefined;
  readonly request_ids: readonly RequestId[] | undefined;
  readonly draining: boolean;
  readonly intervalMs: number;
  /** How long ago the gateway last responded to the agent: the two threads share no steady clock. */
  readonly sinceContactMs: number;
};

/** Where the thread sends its heartbeats. */
export type HeartbeatTarget = {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * A message from the thread: it has started, or has sent a heartbeat, or has registered the agent and got a
 * token.
 */
export type HeartbeatMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'sent'; readonly cancelled_request_ids: readonly RequestId[] }
  | { readonly kind: 'registered'; readonly token: string };

export type HeartbeatThread = {
  /**
   * Starts the thread. Resolves when it is ready or can't be started; in that case only the agent itself
   * sends heartbeats.
   */
  start(): Promise<void>;
  /**
   * Posts the current state: at once, or a little later if there are many tasks and it was posted just
   * before.
   */
  update(describe: () => HeartbeatState | undefined): void;
  stop(): Promise<void>;
};

export type HeartbeatThreadDeps = {
  readonly target: HeartbeatTarget;
  /**
   * Called with the tasks that the gateway no longer wants done, as soon as the agent's event loop is free.
   */
  readonly onCancelled: (request_ids: readonly RequestId[]) => void;
  /** Called with the token of a registration that the thread has made. */
  readonly onRegistered: (token: string) => void;
  readonly onError: (error: unknown) => void;
};

/** How long the thread may take to start; after that it is not used. */
const READY_MS_MAX = 5_000;
/**
 * The least time between two posts of the state with many tasks: copying all their ids costs too much to do
 * it more often.
 */
const UPDATE_EVERY_MS = 100;
/** With no more tasks the state is posted at once, because the next handler may block the event loop. */
const TASKS_POSTED_AT_ONCE = 50;

/** Creates the heartbeat thread of one agent, and does not start it. */
export function createHeartbeatThread({
  target,
  onCancelled,
  onRegistered,
  onError,
}: HeartbeatThreadDeps): HeartbeatThread {
  let worker: Worker | undefined;
  let updatedMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  function update(describe: () => HeartbeatState | undefined): void {
    if (!worker || timer) return;
    const state = describe();
    if (!state) return;
    const waitMs = updatedMs + UPDATE_EVERY_MS - performance.now();
    if (waitMs > 0 && (state.request_ids?.length ?? 0) > TASKS_POSTED_AT_ONCE) {
      timer = setTimeout(() => {
        timer = undefined;
        update(describe);
      }, waitMs);
      timer.unref();
      return;
    }
    updatedMs = performance.now();
    worker.postMessage(state);
  }

  return {
    async start() {
      const file = findThreadFile();
      if (!file) return;
      const started = new Worker(file, { workerData: target, execArgv: [] });
      started.on('error', (error) => {
        worker = undefined;
        onError(error);
      });
      const ready = once(started, 'message', { signal: AbortSignal.timeout(READY_MS_MAX) });
      await ready.then(
        () => {
          worker = started;
        },
        async () => void (await started.terminate()),
      );
      started.on('message', (message: HeartbeatMessage) => {
        if (message.kind === 'sent') onCancelled(message.cancelled_request_ids);
        else if (message.kind === 'registered') onRegistered(message.token);
      });
      started.unref();
    },
    update,
    async stop() {
      clearTimeout(timer);
      await worker?.terminate();
      worker = undefined;
    },
  };
}

/**
 * Returns the file beside this one, source or compiled. A bundle has none, and in a CommonJS one
 * `import.meta` is empty: then no thread starts, and a handler that blocks delays the heartbeats.
 */
function findThreadFile(): URL | undefined {
  const here: string | undefined = import.meta.url;
  if (!here) return undefined;
  const file = new URL(`./heartbeat-thread.${here.endsWith('.ts') ? 'ts' : 'js'}`, here);
  return existsSync(file) ? file : undefined;
}

/**
 * The heartbeat thread of an agent. While a handler blocks the event loop, the agent itself can't send
 * heartbeats, and the gateway would take it for dead. The thread sends them instead: only when the agent's
 * own heartbeat is overdue. The thread's own code is in `heartbeat-thread.ts`.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { AgentRegistration, RequestId } from '../contract.ts';

/** The data with which the thread sends heartbeats for the agent. It is posted again whenever it changes. */
export type HeartbeatState = {
  readonly auth: string;
  readonly registration: AgentRegistration;
  /** Names the present registration; undefined with a gateway that gives no token. */
  readonly token: string | undefined;
  readonly request_ids: readonly RequestId[] | undefined;
  readonly draining: boolean;
  readonly intervalMs: number;
  /** How long ago the gateway last responded to the agent. The two threads share no clock that stays put. */
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
   * Starts the thread. Resolves when it is ready or can't be started; the agent then sends its heartbeats
   * alone.
   */
  start(): Promise<void>;
  /**
   * Posts the current state: at once, or a little later if there are many tasks and the last post was just
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

/** A thread that takes longer to start is not used. */
const READY_MS_MAX = 5_000;
/**
 * With many tasks the state is posted no more often than this: copying all their ids each time costs too
 * much.
 */
const UPDATE_EVERY_MS = 100;
/** With no more tasks than these the state is posted at once: the next handler may block the event loop. */
const TASKS_POSTED_AT_ONCE = 50;

/** Creates the heartbeat thread of one agent; not started. */
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
 * Returns the file beside this one, source or compiled. In a bundle there is none, and in one that is
 * CommonJS `import.meta` is empty: then no thread starts, and a handler that blocks delays the heartbeats.
 */
function findThreadFile(): URL | undefined {
  const here: string | undefined = import.meta.url;
  if (!here) return undefined;
  const file = new URL(`./heartbeat-thread.${here.endsWith('.ts') ? 'ts' : 'js'}`, here);
  return existsSync(file) ? file : undefined;
}

/**
 * Heartbeats from a thread of their own, for the time in which a handler blocks the event loop: without them the
 * gateway would take the agent for dead while it works. The thread beats only when the agent itself has not been heard
 * of for longer than it should; otherwise it is silent.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { AgentRegistration } from '../contract.ts';

/** What the thread needs in order to stand in, told anew whenever it changes. */
export type PulseState = {
  readonly auth: string;
  readonly registration: AgentRegistration;
  readonly request_ids: readonly string[] | undefined;
  readonly draining: boolean;
  readonly intervalMs: number;
  /** When the gateway last heard of the agent: Unix epoch milliseconds. */
  readonly contactMs: number;
};

/** Where the thread sends its heartbeats. */
export type PulseTarget = { readonly baseUrl: string; readonly headers: Readonly<Record<string, string>> };

/** What the thread says. */
export type PulseWord =
  | { readonly kind: 'ready' }
  | { readonly kind: 'beaten'; readonly cancelled_request_ids: readonly string[] };

export type Pulse = {
  /** Starts the thread. Resolves once it is ready, or can't be: then the agent beats by itself alone. */
  start(): Promise<void>;
  /** Tells how things stand: at once, or with many tasks in hand a little later if that was told just before. */
  tell(describe: () => PulseState | undefined): void;
  stop(): Promise<void>;
};

export type PulseDeps = {
  readonly target: PulseTarget;
  /** Told the tasks the gateway does not want done any more, as soon as the agent is able to listen. */
  readonly onCancelled: (request_ids: readonly string[]) => void;
  readonly onError: (error: unknown) => void;
};

/** A thread that takes longer is not waited for. */
const READY_MS_MAX = 5_000;
/** An agent that does thousands of tasks a second has better to do than to name them all each time. */
const TELL_EVERY_MS = 100;
/** So few are named at once: the handler that begins next may block the thread. */
const FEW = 50;

/** Creates the pulse of one agent. */
export function createPulse({ target, onCancelled, onError }: PulseDeps): Pulse {
  let worker: Worker | undefined;
  let toldMs = Number.NEGATIVE_INFINITY;
  let later: NodeJS.Timeout | undefined;

  function tell(describe: () => PulseState | undefined): void {
    if (!worker || later) return;
    const state = describe();
    if (!state) return;
    const waitMs = toldMs + TELL_EVERY_MS - performance.now();
    if (waitMs > 0 && (state.request_ids?.length ?? 0) > FEW) {
      later = setTimeout(() => {
        later = undefined;
        tell(describe);
      }, waitMs);
      later.unref();
      return;
    }
    toldMs = performance.now();
    worker.postMessage(state);
  }

  return {
    async start() {
      // Beside this file, whatever it was compiled to. A bundle that leaves it out gets along without.
      const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
      const file = new URL(`./heartbeat-thread.${extension}`, import.meta.url);
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
        () => void started.terminate(),
      );
      started.on('message', (word: PulseWord) => {
        if (word.kind === 'beaten') onCancelled(word.cancelled_request_ids);
      });
      started.unref();
    },
    tell,
    async stop() {
      clearTimeout(later);
      await worker?.terminate();
      worker = undefined;
    },
  };
}

/**
 * An agent in one call: it registers, sends heartbeats, receives or claims tasks, runs the handler on them,
 * and reports the outcomes.
 *
 *   created ──start()──▶ working ──stop(), signal──▶ draining ──all work ended──▶ stopped
 *      └──────────────stop(), or start() throws─────────────────────────────────────▲
 *
 * Working: it takes tasks, from the moment it registers. Draining: it asks for no more, finishes those it
 * has, and still sends heartbeats. Stopped: it has nothing open any more. It never returns to an earlier
 * state.
 *
 * `stop` may come at any moment of `start`. It waits for the step under way, because a port, a thread or a
 * file that is being opened can only be closed afterwards; `start` then takes no further step.
 *
 * When the signal of the caller fires, `start` and `stop` reject at once, and the agent stops.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, type LinkedSignal, linkSignals, readMonotonicMs, untilAborted } from '../clock.ts';
import type { AgentId, FreeForm, JsonObject, JsonResult, TaskResult } from '../contract.ts';
import { AbortError, InvalidOptionError, requireNumber } from '../errors.ts';
import { type AgentOptions, type AgentSettings, readAgentSettings } from './options.ts';
import { type AgentParts, createParts } from './parts.ts';
import { pullTasks } from './pull.ts';

/** An agent. Before `start` and after `stop` it has nothing open. */
export type Agent = {
  /** The agent's id, even if it is a random one. */
  readonly agentId: AgentId;
  /** The agent's state. It never returns to an earlier one. */
  readonly state: 'created' | 'working' | 'draining' | 'stopped';
  /**
   * Starts the agent. Resolves once it is registered; while the gateway can't be reached, it keeps trying. If
   * somebody stops it meanwhile, resolves once it has stopped. Throws what a retry can't solve: a wrong
   * secret (`AuthenticationError`), wrong fields (`ValidationError`), a port that is in use, an outbox that
   * can't be opened.
   */
  start(): Promise<void>;
  /**
   * Stops the agent in two stages. First it asks for no more tasks and finishes those it has, for `drainMs`.
   * Then it fires the handlers' signals; a task whose handler still runs after `graceMs` is reported as
   * failed. Finally it unregisters. Another call of `stop` can only shorten the stages.
   */
  stop(options?: StopOptions): Promise<void>;
  /** Receives a push as a web-standard handler, in a server of your own. Set `endpoint` to its address. */
  fetch(request: Request): Promise<Response>;
  /** Receives a push as a listener of `node:http`. Nothing may have read the request's body yet. */
  listener(request: IncomingMessage, response: ServerResponse): void;
};

/** How long stopping an agent may take. */
export type StopOptions = {
  /** How many milliseconds the agent's tasks have to end by themselves. Default: 30,000. */
  readonly drainMs?: number | undefined;
  /** How many milliseconds the handlers have to end after their signals have fired. Default: 2,000. */
  readonly graceMs?: number | undefined;
};

const DRAIN_MS = 30_000;
const GRACE_MS = 2_000;
/** How long each of the last calls of a stopping agent may take. */
const LAST_CALL_MS = 5_000;
/**
 * How many heartbeats the agent sends before it ends its last claim. The first one tells the gateway to give
 * out no more tasks; a task given out just before arrives while the others are under way. If the agent did
 * not take it, that task would wait for 90 s, because the gateway could not know whether the agent has it.
 */
const LAST_HEARTBEATS = 3;

/** Creates an agent. Throws `InvalidOptionError` for options that can't work. */
export function createAgent<Payload extends JsonObject = FreeForm, Result extends JsonResult = TaskResult>(
  options: AgentOptions<Payload, Result>,
): Agent;
export function createAgent(options: AgentOptions): Agent {
  const settings = readAgentSettings(options);
  const parts = createParts(options, settings);
  const { registration, work, server, outbox, heartbeatThread, clock } = parts;
  const { signal } = options;
  const lifetime = new AbortController();
  const taking = new AbortController();
  const claiming = new AbortController();
  let state: Agent['state'] = 'created';
  let starting: Promise<Loops> = Promise.resolve({});
  let stopping: Promise<void> | undefined;
  let linked: LinkedSignal | undefined;
  const drainLimit = createTimeLimit(clock);
  const graceLimit = createTimeLimit(clock);

  async function start(): Promise<void> {
    if (state !== 'created')
      throw new InvalidOptionError('An agent can be started once. Create another one.');
    state = 'working';
    linked = linkSignals(signal);
    linked.signal.addEventListener('abort', () => void stopNow());
    starting = openParts(parts, settings, taking.signal, claiming.signal, lifetime.signal);
    try {
      await starting;
    } catch (error) {
      await stopWithin({});
      throw error;
    }
    await stopping;
  }

  function stopWithin({ drainMs, graceMs }: StopOptions): Promise<void> {
    drainLimit.shorten(requireNumber({ name: 'drainMs', value: drainMs }, DRAIN_MS, 0));
    graceLimit.shorten(requireNumber({ name: 'graceMs', value: graceMs }, GRACE_MS, 0));
    stopping ??= stop();
    return stopping;
  }

  /** Stops the agent when the caller's signal fires; the handlers' signals fire in the same tick. */
  function stopNow(): Promise<void> {
    const stopped = stopWithin({ drainMs: 0 });
    claiming.abort();
    work.interrupt();
    // A later `stop` rejects with the same error, and so does `stopped` of the `AbortError`.
    stopped.catch(() => undefined);
    return stopped;
  }

  async function stop(): Promise<void> {
    const hasStarted = state === 'working';
    state = hasStarted ? 'draining' : 'stopped';
    work.close();
    registration.drain();
    heartbeatThread?.update();
    taking.abort();
    const { heartbeats, claims } = await starting.catch((): Loops => ({}));
    const drain = (signal: AbortSignal) => drainWork(parts, claiming, claims, signal);
    try {
      await drainLimit.run(drain);
      await finish(parts, graceLimit);
    } finally {
      lifetime.abort();
      linked?.release();
      const closing = [server?.close(), heartbeatThread?.stop(), outbox.close()];
      await Promise.allSettled([heartbeats, claims, ...closing]);
      state = 'stopped';
    }
  }

  return {
    agentId: settings.agent_id,
    get state() {
      return state;
    },
    start: () => untilStopped(signal, stopNow, start),
    stop: (limits = {}) =>
      untilStopped(signal?.aborted ? undefined : signal, stopNow, () => stopWithin(limits)),
    fetch: parts.inbox.fetch,
    listener: parts.inbox.listener,
  };
}

/**
 * Does the work until the caller's signal fires. Then it rejects at once with an `AbortError`, whose
 * `stopped` settles when the agent has stopped.
 */
export async function untilStopped(
  signal: AbortSignal | undefined,
  stop: () => Promise<void>,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await untilAborted(signal, work);
  } catch (error) {
    if (!(signal?.aborted && error instanceof AbortError)) throw error;
    throw Object.assign(error, { stopped: stop() });
  }
}

/** The loops of a started agent; each promise resolves when its loop has ended. */
type Loops = { readonly heartbeats?: Promise<void>; readonly claims?: Promise<void> };

/**
 * Opens one part after the other, registers, and begins the loops. If the first signal fires, it takes no
 * further step and begins no claim. `claiming` ends the claim under way; heartbeats are sent until `lifetime`
 * fires.
 */
async function openParts(
  parts: AgentParts,
  { endpoint }: AgentSettings,
  signal: AbortSignal,
  claiming: AbortSignal,
  lifetime: AbortSignal,
): Promise<Loops> {
  const { work, outbox, heartbeatThread, server, contact, registration } = parts;
  const kept = await outbox.open();
  if (signal.aborted) return {};
  work.restore(kept);
  await heartbeatThread?.start();
  if (signal.aborted) return {};
  parts.setAddress(await server?.open());
  if (signal.aborted) return {};
  work.open();
  void contact.awaitFirst(signal);
  await registration.register(signal);
  if (registration.registered() !== 'yes') return {};
  work.deliverRestored();
  const heartbeats = registration.keepSendingHeartbeats(lifetime);
  if (endpoint !== 'pull' || signal.aborted) return { heartbeats };
  return { heartbeats, claims: pullTasks(parts, signal, claiming) };
}

type TimeLimit = ReturnType<typeof createTimeLimit>;

/**
 * Announces that the agent drains, takes what the last claim still brings, and lets the tasks end. When the
 * signal fires, it ends the claim and waits for no task.
 */
async function drainWork(
  { clock, registration, work, logEvent }: AgentParts,
  claiming: AbortController,
  claims: Promise<void> | undefined,
  signal: AbortSignal,
): Promise<void> {
  let isClaiming = claims !== undefined;
  void claims?.then(() => {
    isClaiming = false;
  });
  const endClaim = (): void => claiming.abort();
  if (signal.aborted) endClaim();
  signal.addEventListener('abort', endClaim);
  if (registration.registered() === 'yes') {
    logEvent({ kind: 'stopping', tasks: work.request_ids().length });
    await runWithin(clock, LAST_CALL_MS, async (last) => {
      await registration.sendHeartbeat(last);
      for (let sent = 1; sent < LAST_HEARTBEATS && isClaiming && !signal.aborted; sent += 1)
        await registration.sendHeartbeat(last);
    });
  }
  endClaim();
  await work.waitUntilDone(signal);
}

/**
 * Ends the work of an agent that has drained. The order matters: finish, deliver the outcomes, and only then
 * unregister. Nothing may register the agent after that, or the gateway would keep an agent that no process
 * has.
 */
async function finish(parts: AgentParts, graceLimit: TimeLimit): Promise<void> {
  const { clock, registration, work } = parts;
  work.interrupt();
  await graceLimit.run((signal) => work.waitUntilDone(signal));
  await runWithin(clock, LAST_CALL_MS, (signal) => work.abandon(signal));
  await registration.close();
  await parts.heartbeatThread?.stop();
  if (registration.registered() === 'no') return;
  await runWithin(clock, LAST_CALL_MS, (signal) => parts.unregister(signal));
}

/** Runs something that ends when its signal fires, and fires that signal after `ms`. */
async function runWithin(
  clock: Clock,
  ms: number,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const limit = createTimeLimit(clock);
  limit.shorten(ms);
  await limit.run(run);
}

/**
 * Creates a time limit. It can be shortened before and while something runs within it, and never extended.
 */
function createTimeLimit(clock: Clock) {
  let limitMs = Number.POSITIVE_INFINITY;
  let restartTimer: (() => void) | undefined;
  return {
    shorten(ms: number): void {
      limitMs = Math.min(limitMs, ms);
      restartTimer?.();
    },
    async run(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
      const expired = new AbortController();
      const startMs = readMonotonicMs(clock);
      const timer = new AbortController();
      // A sleep may end early, because none is longer than 24.8 days.
      const waitOn = (): void => {
        const leftMs = startMs + limitMs - readMonotonicMs(clock);
        if (leftMs <= 0 || timer.signal.aborted) expired.abort();
        else void clock.sleep(leftMs, timer.signal).then(waitOn);
      };
      restartTimer = waitOn;
      waitOn();
      await work(expired.signal).finally(() => timer.abort());
    },
  };
}

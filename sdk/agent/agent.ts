/**
 * An agent in one call: it registers, sends heartbeats, receives or claims tasks, runs the handler on them,
 * and reports the outcomes.
 *
 *   created ──start()──▶ working ──stop()──▶ draining ──all work ended──▶ stopped
 *      └───────────stop(), or start() throws────────────────────────────────▲
 *
 * Working: it takes tasks, from the moment it registers. Draining: it takes no more, finishes those it has,
 * and still sends heartbeats. Stopped: it has nothing open any more. It never returns to an earlier state.
 *
 * `stop` may come at any moment of `start`. It lets the step under way end, because a port, a thread or a
 * file that is being opened can only be closed afterwards, and the start takes no further step.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createCalls } from '../calls.ts';
import { type Clock, readMonotonicMs, systemClock } from '../clock.ts';
import type { AgentId, FreeForm, JsonObject, JsonResult, TaskResult } from '../contract.ts';
import { InvalidOptionError, requireNumber } from '../errors.ts';
import { readSettings } from '../settings.ts';
import { createAgentLog, stderrLogger } from './agent-log.ts';
import { createGatewayContact } from './gateway-contact.ts';
import { createHeartbeatThread } from './heartbeat.ts';
import { createInbox } from './inbox.ts';
import { type AgentDuty, createEventLog } from './log-events.ts';
import { type AgentOptions, type AgentSettings, readAgentSettings } from './options.ts';
import { createOutbox } from './outbox.ts';
import { pullTasks } from './pull.ts';
import { createRegistration } from './registration.ts';
import { createReports } from './reports.ts';
import { createInboxServer } from './server.ts';
import { createWork } from './work.ts';

/** An agent. It has nothing open before `start` and after `stop`. */
export type Agent = {
  /** The agent's id, also if it is a random one. */
  readonly agentId: AgentId;
  /** The agent's state. It never returns to an earlier one. */
  readonly state: 'created' | 'working' | 'draining' | 'stopped';
  /**
   * Starts the agent. Resolves once it is registered; while the gateway can't be reached, it keeps trying.
   * When it is stopped meanwhile, it resolves once it has stopped.
   * Throws what a retry can't solve: a wrong secret (`AuthenticationError`), wrong fields
   * (`ValidationError`), a port that is in use, an outbox that can't be opened.
   */
  start(): Promise<void>;
  /**
   * Stops the agent in two stages. First it takes no more tasks and finishes those it has, for `drainMs`.
   * Then it fires the handlers' signals; a task whose handler still runs after `graceMs` is reported as
   * failed. Finally it unregisters. Another call can only shorten the stages.
   */
  stop(options?: StopOptions): Promise<void>;
  /** Receives a push as a web-standard handler, for servers of your own. Set `endpoint` to their address. */
  fetch(request: Request): Promise<Response>;
  /** Receives a push as a listener of `node:http`. The request's body must not have been read yet. */
  listener(request: IncomingMessage, response: ServerResponse): void;
};

/** How long stopping an agent may take. */
export type StopOptions = {
  /** Milliseconds for the agent's tasks to end by themselves. Default: 30,000. */
  readonly drainMs?: number | undefined;
  /** Milliseconds for the handlers to end after their signals have fired. Default: 2,000. */
  readonly graceMs?: number | undefined;
};

const DRAIN_MS = 30_000;
const GRACE_MS = 2_000;
/** The time for each of the last calls of an agent that stops. */
const LAST_CALL_MS = 5_000;

/** Creates an agent. Throws `InvalidOptionError` for options that can't work. */
export function createAgent<Payload extends JsonObject = FreeForm, Result extends JsonResult = TaskResult>(
  options: AgentOptions<Payload, Result>,
): Agent;
export function createAgent(options: AgentOptions): Agent {
  const settings = readAgentSettings(options);
  const parts = assemble(options, settings);
  const { registration, work, server, outbox, heartbeatThread, clock } = parts;
  const lifetime = new AbortController();
  const taking = new AbortController();
  const loops: Promise<void>[] = [];
  let state: Agent['state'] = 'created';
  let starting: Promise<void> = Promise.resolve();
  let stopping: Promise<void> | undefined;
  const drainLimit = createTimeLimit(clock);
  const graceLimit = createTimeLimit(clock);

  async function start(): Promise<void> {
    if (state !== 'created')
      throw new InvalidOptionError('An agent can be started once. Create another one.');
    state = 'working';
    starting = open(taking.signal);
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

  /** Opens one part after the other, and registers. Between two steps it ends when the signal has fired. */
  async function open(signal: AbortSignal): Promise<void> {
    work.restore(await outbox.open());
    if (signal.aborted) return;
    await heartbeatThread?.start();
    if (signal.aborted) return;
    parts.setAddress(await server?.open());
    if (signal.aborted) return;
    work.open();
    void parts.contact.awaitFirst(signal);
    await registration.register(signal);
    if (registration.registered() !== 'yes') return;
    work.deliverRestored();
    loops.push(registration.keepSendingHeartbeats(lifetime.signal));
    if (settings.endpoint === 'pull' && !signal.aborted) loops.push(pullTasks(parts, signal));
  }

  async function stop(): Promise<void> {
    const hasStarted = state === 'working';
    state = hasStarted ? 'draining' : 'stopped';
    work.close();
    registration.drain();
    parts.updateHeartbeatThread();
    taking.abort();
    await starting.catch(() => undefined);
    try {
      await finish(parts, drainLimit, graceLimit);
    } finally {
      lifetime.abort();
      await Promise.allSettled([...loops, server?.close(), heartbeatThread?.stop(), outbox.close()]);
      state = 'stopped';
    }
  }

  return {
    agentId: settings.agent_id,
    get state() {
      return state;
    },
    start,
    stop: (limits = {}) => stopWithin(limits),
    fetch: parts.inbox.fetch,
    listener: parts.inbox.listener,
  };
}

type AgentParts = ReturnType<typeof assemble>;
type TimeLimit = ReturnType<typeof createTimeLimit>;

/** Creates the parts of an agent, each with only those it depends on. */
function assemble(options: AgentOptions, settings: AgentSettings) {
  const { agent_id, maxConcurrent, pushSecrets, maxPushBytes, handlerEndMs } = settings;
  const { clock = systemClock, listen, handler, isBusy } = options;
  const connection = readSettings({ ...options, logger: options.logger ?? stderrLogger });
  const { baseUrl, headers, log } = connection;
  // What an agent does is said in its own words; its calls are for those who look for a fault.
  const calls = createCalls({ ...connection, log: (_level, ...words) => log('debug', ...words) });
  const { tags } = options;
  const readers = [createAgentLog({ log, clock, baseUrl, tags, maxConcurrent }), options.onNotice];
  const contact = createGatewayContact(baseUrl, clock, createEventLog(...readers));
  const logEvent = createEventLog(contact.follow, ...readers);
  const logFailure = (during: AgentDuty) => (error: unknown) => logEvent({ kind: 'failure', during, error });
  let endpoint = settings.endpoint ?? 'pull';
  let auth: string | undefined;
  const registration = createRegistration({
    ...{ calls, clock, logEvent },
    work: () => work,
    describeAgent: () => describeAgent(options, settings, endpoint),
    onContact() {
      contact.reach();
      void renewHeartbeatThread();
    },
  });
  const { registerAgain } = registration;
  const reports = createReports({ calls, clock, agent_id, logEvent, registerAgain });
  const outbox = createOutbox(options.outbox, logFailure('outbox'));
  const onChange = () => updateHeartbeatThread();
  const work = createWork({
    ...{ agent_id, handler, handlerEndMs, maxConcurrent, isBusy },
    ...{ reports, outbox, clock, logEvent, onChange },
  });
  const onError = logFailure('push');
  const inbox = createInbox({ agent_id, pushSecrets, maxPushBytes, work, clock, onError });
  const heartbeatThread = settings.hasHeartbeatThread
    ? createHeartbeatThread({
        target: { baseUrl, headers },
        onCancelled: work.drop,
        onRegistered: registration.setToken,
        onError: logFailure('heartbeat'),
      })
    : undefined;

  /** Posts the current state to the thread without delay: a handler may block the event loop next. */
  function updateHeartbeatThread(): void {
    heartbeatThread?.update(() => {
      const state = registration.describe();
      return state && auth !== undefined ? { ...state, auth } : undefined;
    });
  }

  async function renewHeartbeatThread(): Promise<void> {
    try {
      if (heartbeatThread) auth = await connection.auth.get();
      updateHeartbeatThread();
    } catch (error) {
      logFailure('heartbeat')(error);
    }
  }

  return {
    ...{ agent_id, calls, clock, contact, logEvent, registration, work, outbox, inbox },
    ...{ heartbeatThread, updateHeartbeatThread },
    server: listen && createInboxServer(listen, { inbox, onError }),
    /** Sets the address at which the agent listens, once it is known. */
    setAddress(address: string | undefined): void {
      endpoint = settings.endpoint ?? address ?? 'pull';
    },
    /** Unregisters the agent. A failure is logged: the agent stops in any case. */
    async unregister(signal: AbortSignal): Promise<void> {
      try {
        await calls.unregisterAgent({ agent_id, ...registration.tokenField() }, { signal, maxRetries: 1 });
      } catch (error) {
        logFailure('unregister')(error);
      }
    },
  };
}

/**
 * Ends an agent's work. The order matters: announce it, finish, deliver the outcomes, and only then
 * unregister. Nothing may register the agent after that: it would stay behind as one that no process has.
 */
async function finish(parts: AgentParts, drainLimit: TimeLimit, graceLimit: TimeLimit): Promise<void> {
  const { clock, registration, work } = parts;
  if (registration.registered() === 'yes') {
    await runWithin(clock, LAST_CALL_MS, (signal) => registration.sendHeartbeat(signal));
  }
  await drainLimit.run((signal) => work.waitUntilDone(signal));
  work.interrupt();
  await graceLimit.run((signal) => work.waitUntilDone(signal));
  await runWithin(clock, LAST_CALL_MS, (signal) => work.abandon(signal));
  await registration.close();
  await parts.heartbeatThread?.stop();
  if (registration.registered() === 'no') return;
  await runWithin(clock, LAST_CALL_MS, (signal) => parts.unregister(signal));
}

/** Runs something that ends when its signal fires, and fires the signal after `ms`. */
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
 * Creates a time limit, which can be shortened before and while something runs within it, and never extended.
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
      // A sleep may end early: none is longer than 24.8 days.
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

/** Returns the body of the agent's registration, without `request_ids`. */
function describeAgent({ tags }: AgentOptions, settings: AgentSettings, endpoint: string) {
  const { agent_id, maxConcurrent, lostAfterSeconds } = settings;
  return {
    agent_id,
    endpoint,
    agent_tags: [...tags],
    max_concurrent: maxConcurrent,
    ...(lostAfterSeconds !== null && { lost_after: lostAfterSeconds }),
  };
}

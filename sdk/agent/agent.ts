/**
 * An agent in one call: registers, beats, receives or claims tasks, runs the handler on them, reports.
 *
 * `created` until `start()`. `working`: tasks come. `draining` from `stop()` on: no more come, those in hand are
 * finished and the agent goes on beating. `stopped`: nothing is open any more. It never goes back.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createClient } from '../client.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { AgentId } from '../contract.ts';
import { InvalidOptionError, TaskGatewayError } from '../errors.ts';
import { readSettings } from '../settings.ts';
import { createPulse } from './heartbeat.ts';
import { createInbox } from './inbox.ts';
import type { AgentDuty, AgentNotice } from './log-events.ts';
import { type AgentOptions, type AgentSettings, readAgentSettings } from './options.ts';
import { createOutbox } from './outbox.ts';
import { pullTasks } from './pull.ts';
import { createPresence } from './registration.ts';
import { createReports } from './reports.ts';
import { createInboxServer } from './server.ts';
import { createWork } from './work.ts';

/** An agent: nothing of it runs before `start`, and nothing after `stop`. */
export type Agent = {
  /** Its name, also where it was given none. */
  readonly agentId: AgentId;
  /** Where it is in its life; it never goes back. */
  readonly state: 'created' | 'working' | 'draining' | 'stopped';
  /**
   * Resolves once registered; waits for a gateway that is not there yet. Throws what waiting can't mend: a wrong
   * secret (`AuthenticationError`), wrong fields (`ValidationError`), a port in use, an outbox that can't be opened.
   */
  start(): Promise<void>;
  /**
   * Stops in two stages. First it takes no more tasks and finishes those in hand, beating on, for `drainMs`. Then it
   * fires the handlers' signals, and what still runs after `graceMs` is reported as failed. Then it unregisters.
   * Called again it may only hurry: with less time the stages are cut short.
   */
  stop(options?: StopOptions): Promise<void>;
  /** Answers a push as a web-standard handler does: for servers of your own, with `endpoint` set to where they are. */
  fetch(request: Request): Promise<Response>;
  /** Answers a push as a listener of `node:http` does. The request's body must not have been read yet. */
  listener(request: IncomingMessage, response: ServerResponse): void;
};

/** How long a stop may take. */
export type StopOptions = {
  /** Milliseconds for the tasks in hand to end by themselves; 30,000 unless told otherwise. */
  readonly drainMs?: number | undefined;
  /** Milliseconds for handlers to heed their signal; 2,000 unless told otherwise. */
  readonly graceMs?: number | undefined;
};

const DRAIN_MS = 30_000;
const GRACE_MS = 2_000;
/** For the last words of an agent, each. */
const FAREWELL_MS = 5_000;

/** Creates an agent. Throws `InvalidOptionError` for options that can't work. */
export function createAgent(options: AgentOptions): Agent {
  const settings = readAgentSettings(options);
  const parts = assemble(options, settings);
  const { presence, work, server, outbox, pulse, clock } = parts;
  const lifetime = new AbortController();
  const taking = new AbortController();
  const loops: Promise<void>[] = [];
  let state: Agent['state'] = 'created';
  let stopping: Promise<void> | undefined;
  const draining = createPeriod(clock);
  const grace = createPeriod(clock);

  async function start(): Promise<void> {
    if (state !== 'created') throw new InvalidOptionError('An agent starts once. Create another one.');
    state = 'working';
    try {
      work.restore(await outbox.open());
      await pulse?.start();
      parts.reachAt(await server?.open());
      await presence.register(taking.signal);
    } catch (error) {
      state = 'stopped';
      work.close();
      await close();
      throw error;
    }
    work.tellRestored();
    if (taking.signal.aborted) return;
    loops.push(presence.keepBeating(lifetime.signal));
    if (settings.endpoint === 'pull') loops.push(pullTasks(parts, taking.signal));
  }

  /** The order matters: say that it leaves, finish, tell, and only then unregister and fall silent. */
  async function stop(): Promise<void> {
    const before = state;
    if (before === 'stopped') return;
    state = 'draining';
    work.close();
    presence.drain();
    parts.tellPulse();
    taking.abort();
    if (before === 'working') {
      await within(clock, FAREWELL_MS, (signal) => presence.beat(signal));
      await draining.run((signal) => work.untilDone(signal));
      work.interrupt();
      await grace.run((signal) => work.untilDone(signal));
      await within(clock, FAREWELL_MS, (signal) => work.abandon(signal));
      // A beat of the thread that came after the last word would bring the agent back.
      await pulse?.stop();
      await within(clock, FAREWELL_MS, (signal) => parts.unregister(signal));
    }
    lifetime.abort();
    await Promise.all(loops);
    await close();
    state = 'stopped';
  }

  async function close(): Promise<void> {
    await server?.close();
    await pulse?.stop();
    await outbox.close();
  }

  return {
    agentId: settings.agentId,
    get state() {
      return state;
    },
    start,
    stop({ drainMs = DRAIN_MS, graceMs = GRACE_MS } = {}) {
      draining.limit(drainMs);
      grace.limit(graceMs);
      stopping ??= stop();
      return stopping;
    },
    fetch: parts.inbox.fetch,
    listener: parts.inbox.listener,
  };
}

/** Puts the duties of an agent together; each is told only of those it needs. */
function assemble(options: AgentOptions, settings: AgentSettings) {
  const { agentId: agent_id, maxConcurrent, pushSecrets, hasThread } = settings;
  const { clock = systemClock, listen, handler } = options;
  const { auth: askSecret, baseUrl, headers } = readSettings(options);
  const calls = createClient(options);
  const notify = createNotify(options.onNotice);
  const failed = (during: AgentDuty) => (error: unknown) => notify({ kind: 'failure', during, error });
  let endpoint = settings.endpoint ?? 'pull';
  let auth: string | undefined;
  const presence = createPresence({
    ...{ calls, clock, notify },
    work: () => work,
    registration: () => describeAgent(options, settings, endpoint),
    onContact: () => void renewPulse(),
  });
  const { registerAgain } = presence;
  const reports = createReports({ calls, clock, agent_id, notify, registerAgain });
  const outbox = createOutbox(options.outbox, failed('outbox'));
  const onChange = () => tellPulse();
  const work = createWork({ agent_id, handler, maxConcurrent, reports, outbox, clock, notify, onChange });
  const inbox = createInbox({ agent_id, pushSecrets, work, clock, onError: failed('push') });
  const pulse = hasThread
    ? createPulse({ target: { baseUrl, headers }, onCancelled: work.drop, onError: failed('heartbeat') })
    : undefined;

  /** At once: the handler may block the thread the next moment. */
  function tellPulse(): void {
    pulse?.tell(() => {
      const known = presence.describe();
      return known && auth !== undefined ? { ...known, auth } : undefined;
    });
  }

  async function renewPulse(): Promise<void> {
    try {
      if (pulse) auth = await askSecret();
      tellPulse();
    } catch (error) {
      failed('heartbeat')(error);
    }
  }

  return {
    ...{ agent_id, calls, clock, notify, presence, work, outbox, pulse, tellPulse, inbox },
    server: listen && createInboxServer(listen, { inbox, onError: failed('push') }),
    /** Says where pushes arrive, once that is known. */
    reachAt(address: string | undefined): void {
      endpoint = settings.endpoint ?? address ?? 'pull';
    },
    /** Failures are told: the agent leaves in any case. */
    async unregister(signal: AbortSignal): Promise<void> {
      try {
        await calls.unregisterAgent({ agent_id }, { signal, maxRetries: 1 });
      } catch (error) {
        if (!(error instanceof TaskGatewayError)) throw error;
        failed('unregister')(error);
      }
    },
  };
}

/** Runs something that ends when its signal fires, and fires it after the time. */
async function within(clock: Clock, ms: number, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const period = createPeriod(clock);
  period.limit(ms);
  await period.run(run);
}

/** A stretch of time that may be cut short while it runs, never made longer. */
function createPeriod(clock: Clock) {
  let leastMs = Number.POSITIVE_INFINITY;
  let cut: (() => void) | undefined;
  return {
    limit(ms: number): void {
      leastMs = Math.min(leastMs, ms);
      cut?.();
    },
    async run(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
      const ending = new AbortController();
      const startMs = clock.nowMs();
      const ended = new AbortController();
      cut = () => {
        const leftMs = startMs + leastMs - clock.nowMs();
        void clock.sleep(leftMs, ended.signal).then(() => ending.abort());
      };
      cut();
      await work(ending.signal).finally(() => ended.abort());
    },
  };
}

function describeAgent({ tags }: AgentOptions, settings: AgentSettings, endpoint: string) {
  const { agentId, maxConcurrent, lostAfterSeconds } = settings;
  return {
    agent_id: agentId,
    endpoint,
    agent_tags: [...tags],
    max_concurrent: maxConcurrent,
    ...(lostAfterSeconds !== null && { lost_after: lostAfterSeconds }),
  };
}

/** A listener that throws must not stop the agent; its error surfaces as an uncaught one. */
function createNotify(onNotice: AgentOptions['onNotice']): (notice: AgentNotice) => void {
  return (notice) => {
    try {
      onNotice?.(notice);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  };
}

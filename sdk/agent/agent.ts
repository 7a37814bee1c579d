/**
 * An agent in one call: registers, beats, receives or claims tasks, runs the handler on them, reports.
 *
 * `created` until `start()`. `working`: tasks come. `draining` from `stop()` on: no more come, those in hand are
 * finished and the agent goes on beating. `stopped`: nothing is open any more. It never goes back.
 */
import { createClient } from '../client.ts';
import { type Clock, systemClock } from '../clock.ts';
import { InvalidOptionError, TaskGatewayError } from '../errors.ts';
import type { ClientOptions } from '../settings.ts';
import { createInbox, type ListenOptions } from './inbox.ts';
import type { AgentNotice } from './notice.ts';
import { createPresence } from './presence.ts';
import { pullTasks } from './pull.ts';
import { createReports } from './reports.ts';
import { createWork, type Handler } from './work.ts';

/** What an agent is and where it works. */
export type AgentOptions = Pick<ClientOptions, 'baseUrl' | 'auth' | 'headers' | 'fetch' | 'clock'> & {
  /** The agent's name: of two processes with one name the gateway would make one agent. */
  readonly agentId: string;
  /** It gets tasks that have at least one of these tags. */
  readonly tags: readonly string[];
  /** How many tasks it works on at once; 1 unless told otherwise. */
  readonly maxConcurrent?: number | undefined;
  /** Does the work. */
  readonly handler: Handler;
  /** Receive pushes here. Absent: the agent claims its tasks and needs no port. */
  readonly listen?: ListenOptions | undefined;
  /** The URL the gateway pushes to, where that isn't the address listened on (a proxy, a container). */
  readonly endpoint?: string | undefined;
  /** Refuse pushes that are not signed with (one of) these: the gateway's push secret. */
  readonly pushSecret?: string | readonly string[] | undefined;
  /** Seconds of silence after which the gateway fails this agent's tasks; 120 unless told otherwise, null for never. */
  readonly lostAfterSeconds?: number | null | undefined;
  /** Told what happens, for logs. */
  readonly onNotice?: ((notice: AgentNotice) => void) | undefined;
};

export type Agent = {
  readonly state: 'created' | 'working' | 'draining' | 'stopped';
  /**
   * Resolves once registered; waits for a gateway that is not there yet. Throws what waiting can't mend: a wrong
   * secret (`AuthenticationError`), wrong fields (`ValidationError`), a port in use.
   */
  start(): Promise<void>;
  /**
   * Takes no more tasks, finishes those in hand, unregisters. What is not finished after `drainMs` (30,000 unless
   * told otherwise) is stopped and reported as failed. Twice is fine.
   */
  stop(options?: { readonly drainMs?: number | undefined }): Promise<void>;
};

const LOST_AFTER_SECONDS = 120;
const DRAIN_MS = 30_000;
/** For the last words of an agent, each. */
const FAREWELL_MS = 5_000;
const ABANDONED = 'the agent was stopped before the task was done';
const WILDCARD_HOSTS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Creates an agent. Throws `InvalidOptionError` for options that can't work. */
export function createAgent(options: AgentOptions): Agent {
  judgeOptions(options);
  const parts = assemble(options);
  const { presence, work, inbox, clock } = parts;
  const lifetime = new AbortController();
  const taking = new AbortController();
  const loops: Promise<void>[] = [];
  let state: Agent['state'] = 'created';
  let stopping: Promise<void> | undefined;

  async function start(): Promise<void> {
    if (state !== 'created') throw new InvalidOptionError('An agent starts once. Create another one.');
    state = 'working';
    try {
      parts.reachAt(await inbox?.open());
      await presence.register(taking.signal);
    } catch (error) {
      state = 'stopped';
      work.close();
      await inbox?.close();
      throw error;
    }
    if (taking.signal.aborted) return;
    loops.push(presence.keepBeating(lifetime.signal));
    if (!inbox) loops.push(pullTasks(parts, taking.signal));
  }

  async function stop(drainMs: number): Promise<void> {
    const before = state;
    if (before === 'stopped') return;
    state = 'draining';
    work.close();
    presence.drain();
    taking.abort();
    if (before === 'working') {
      await within(clock, FAREWELL_MS, (signal) => presence.beat(signal));
      await within(clock, drainMs, (signal) => work.untilDone(signal));
      await within(clock, FAREWELL_MS, (signal) => work.abandon(ABANDONED, signal));
      await within(clock, FAREWELL_MS, (signal) => parts.unregister(signal));
    }
    lifetime.abort();
    await Promise.all(loops);
    await inbox?.close();
    state = 'stopped';
  }

  return {
    get state() {
      return state;
    },
    start,
    stop(stopOptions) {
      stopping ??= stop(stopOptions?.drainMs ?? DRAIN_MS);
      return stopping;
    },
  };
}

/** Puts the duties of an agent together; each is told only of those it needs. */
function assemble(options: AgentOptions) {
  const { agentId: agent_id, maxConcurrent = 1, listen, handler, clock = systemClock } = options;
  const { baseUrl, auth, headers, fetch } = options;
  const calls = createClient({ baseUrl, auth, headers, fetch, clock });
  const notify = createNotify(options.onNotice);
  let endpoint = 'pull';
  const presence = createPresence({
    calls,
    clock,
    notify,
    work: () => work,
    registration: () => describeAgent(options, endpoint),
  });
  const { registerAgain } = presence;
  const reports = createReports({ calls, clock, agent_id, notify, registerAgain });
  const work = createWork({ handler, maxConcurrent, reports, clock, notify });
  const pushSecrets = [options.pushSecret ?? []].flat();
  const onError = (error: unknown): void => notify({ kind: 'failure', during: 'push', error });
  return {
    ...{ agent_id, calls, clock, notify, presence, work },
    inbox: listen && createInbox({ listen, agent_id, pushSecrets, work, clock, onError }),
    /** Says where pushes arrive, once that is known. */
    reachAt(address: string | undefined): void {
      endpoint = options.endpoint ?? address ?? 'pull';
    },
    /** Failures are told: the agent leaves in any case. */
    async unregister(signal: AbortSignal): Promise<void> {
      try {
        await calls.unregisterAgent({ agent_id }, { signal, maxRetries: 1 });
      } catch (error) {
        if (!(error instanceof TaskGatewayError)) throw error;
        notify({ kind: 'failure', during: 'unregister', error });
      }
    },
  };
}

/** Runs something that ends when its signal fires, and fires it after the time. */
async function within(clock: Clock, ms: number, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const ending = new AbortController();
  const ended = new AbortController();
  void clock.sleep(ms, ended.signal).then(() => ending.abort());
  await run(ending.signal).finally(() => ended.abort());
}

function describeAgent(options: AgentOptions, endpoint: string) {
  const { agentId, tags, maxConcurrent = 1, lostAfterSeconds = LOST_AFTER_SECONDS } = options;
  return {
    agent_id: agentId,
    endpoint,
    agent_tags: [...tags],
    max_concurrent: maxConcurrent,
    ...(lostAfterSeconds !== null && { lost_after: lostAfterSeconds }),
  };
}

function judgeOptions({ maxConcurrent = 1, listen, endpoint }: AgentOptions): void {
  if (!Number.isInteger(maxConcurrent) || maxConcurrent < 1) {
    throw new InvalidOptionError('maxConcurrent must be a whole number of 1 or more.');
  }
  if (endpoint !== undefined && !listen) {
    throw new InvalidOptionError('endpoint says where pushes go: say with listen where they arrive.');
  }
  if (listen && endpoint === undefined && WILDCARD_HOSTS.has(listen.host ?? '')) {
    throw new InvalidOptionError(
      'Listening on all addresses: say with endpoint how the gateway reaches the agent.',
    );
  }
  if (listen?.path !== undefined && !listen.path.startsWith('/')) {
    throw new InvalidOptionError('listen.path must begin with a slash.');
  }
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

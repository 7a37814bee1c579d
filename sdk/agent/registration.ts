/**
 * How an agent is known to the gateway: registered, and beating as often as the gateway asks (§4.5, §4.6), also while
 * it drains. The answers name the tasks nobody wants done any more; a gateway that forgot the agent is told again.
 */
import type { Calls } from '../calls.ts';
import type { Clock } from '../clock.ts';
import type { AgentRegistration } from '../contract.ts';
import { AbortError, ApiError, NotFoundError } from '../errors.ts';
import { isTransient } from '../transport.ts';
import type { PulseState } from './heartbeat.ts';
import type { Notify } from './log-events.ts';
import type { Work } from './work.ts';

export type Presence = {
  /**
   * Registers, as often as it takes; calls at the same time share one registration. Throws what can't be mended by
   * trying again (a wrong secret, wrong fields). Resolves without having registered when the signal fires.
   */
  register(signal: AbortSignal): Promise<void>;
  /** As `register`, where nobody is there to catch: failures are told. */
  registerAgain(signal: AbortSignal): Promise<void>;
  /** Beats once. Failures are told, not thrown. */
  beat(signal: AbortSignal): Promise<void>;
  /** Beats until the signal fires. */
  keepBeating(signal: AbortSignal): Promise<void>;
  /** From the next beat on the gateway hears that no more tasks are wanted. */
  drain(): void;
  /** What a thread needs that beats in the agent's stead; nothing before the gateway has heard of it. */
  describe(): Omit<PulseState, 'auth'> | undefined;
};

export type PresenceDeps = {
  readonly calls: Pick<Calls, 'registerAgent' | 'heartbeatAgent'>;
  readonly clock: Clock;
  readonly work: () => Pick<Work, 'requestIds' | 'drop'>;
  /** Without `request_ids`: those are looked up at each registration. */
  readonly registration: () => AgentRegistration;
  readonly notify: Notify;
  /** Called whenever the gateway has heard of the agent. */
  readonly onContact: () => void;
};

/** An interval in seconds until the gateway has named one. */
const INTERVAL_FIRST_SECONDS = 15;
const PAUSE_MS = 2_000;
const BEAT_TIMEOUT_MS = 10_000;
/** More than these can't be named in one call; then the gateway goes by what it knows itself. */
const REQUEST_IDS_MAX = 1_000;

/** Creates the presence of one agent. */
export function createPresence(deps: PresenceDeps): Presence {
  const { calls, clock, notify } = deps;
  let intervalSeconds = INTERVAL_FIRST_SECONDS;
  let draining = false;
  let contactMs: number | undefined;
  let registering: Promise<void> | undefined;

  function held(): { request_ids?: string[] } {
    const request_ids = [...deps.work().requestIds()];
    return request_ids.length > REQUEST_IDS_MAX ? {} : { request_ids };
  }

  function heard(cancelled: readonly string[] | undefined): void {
    contactMs = clock.nowMs();
    deps.work().drop(cancelled ?? []);
    deps.onContact();
  }

  async function registerPatiently(signal: AbortSignal): Promise<void> {
    const { agent_id, endpoint, ...rest } = deps.registration();
    while (!signal.aborted) {
      try {
        const receipt = await calls.registerAgent({ agent_id, endpoint, ...rest, ...held() }, { signal });
        intervalSeconds = Math.max(1, receipt.heartbeat_interval || INTERVAL_FIRST_SECONDS);
        notify({ kind: 'registered', agent_id, endpoint });
        heard(receipt.cancelled_request_ids);
        return;
      } catch (error) {
        if (error instanceof AbortError) return;
        if (error instanceof ApiError && !isTransient(error.status)) throw error;
        notify({ kind: 'failure', during: 'register', error });
        await clock.sleep(PAUSE_MS, signal);
      }
    }
  }

  function register(signal: AbortSignal): Promise<void> {
    registering ??= registerPatiently(signal).finally(() => {
      registering = undefined;
    });
    return registering;
  }

  async function beat(signal: AbortSignal): Promise<void> {
    const { agent_id } = deps.registration();
    try {
      const receipt = await calls.heartbeatAgent(
        { agent_id, ...held(), ...(draining && { draining }) },
        { signal, timeoutMs: BEAT_TIMEOUT_MS, maxRetries: 1 },
      );
      heard(receipt.cancelled_request_ids);
    } catch (error) {
      if (error instanceof AbortError) return;
      notify({ kind: 'failure', during: 'heartbeat', error });
      // A draining agent that was forgotten has nothing to come back for.
      if (error instanceof NotFoundError && !draining) await registerAgain(signal);
    }
  }

  async function registerAgain(signal: AbortSignal): Promise<void> {
    try {
      await register(signal);
      // A registration says that tasks are wanted again.
      if (draining && !signal.aborted) await beat(signal);
    } catch (error) {
      notify({ kind: 'failure', during: 'register', error });
    }
  }

  return {
    register,
    registerAgain,
    beat,
    drain() {
      draining = true;
    },
    describe() {
      if (contactMs === undefined) return undefined;
      const { request_ids } = held();
      const intervalMs = intervalSeconds * 1_000;
      return { registration: deps.registration(), request_ids, draining, intervalMs, contactMs };
    },
    async keepBeating(signal) {
      while (!signal.aborted) {
        await clock.sleep(intervalSeconds * 1_000 * (0.9 + clock.chance() / 5), signal);
        if (!signal.aborted) await beat(signal);
      }
    },
  };
}

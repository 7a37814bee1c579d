/**
 * An agent's registration. The agent registers with the gateway and sends heartbeats as often as the gateway
 * asks, even while it drains. The responses name tasks that it should stop working on. When the gateway no
 * longer knows the agent, it registers again.
 */
import type { Calls } from '../calls.ts';
import { type Clock, linkSignals, readMonotonicMs } from '../clock.ts';
import type { AgentRegistration, RequestId } from '../contract.ts';
import { AbortError, ApiError, NotFoundError } from '../errors.ts';
import { choosePauseMs, isTransient } from '../waiting.ts';
import type { HeartbeatState } from './heartbeat.ts';
import type { LogEvent } from './log-events.ts';
import { REQUEST_IDS_MAX, type Work } from './work.ts';

export type Registration = {
  /**
   * Registers, with as many attempts as it takes; simultaneous calls share one registration. Throws what a
   * retry can't solve (a wrong secret, wrong fields). When the signal fires, it makes no further attempt. The
   * one under way still has five seconds: if the gateway received it, it would have the agent.
   */
  register(signal: AbortSignal): Promise<void>;
  /** Registers like `register`, but logs errors instead of throwing them. */
  registerAgain(signal: AbortSignal): Promise<void>;
  /** Sends one heartbeat. Logs errors instead of throwing them. */
  sendHeartbeat(signal: AbortSignal): Promise<void>;
  /** Sends heartbeats until the signal fires. */
  keepSendingHeartbeats(signal: AbortSignal): Promise<void>;
  /** Takes the agent's state from a response, and logs if the administrator drains it or has ended that. */
  noteState(agentState: string | null | undefined): void;
  /** From the next heartbeat on, asks the gateway to assign no more tasks. */
  drain(): void;
  /** From now on the agent does not register. Resolves once no registration is under way. */
  close(): Promise<void>;
  /** Whether the gateway has the agent's registration. `maybe`: one was sent, and no response came. */
  registered(): 'yes' | 'maybe' | 'no';
  /**
   * Returns what the heartbeat thread needs; undefined until the gateway has first responded to the agent.
   */
  describe(): Omit<HeartbeatState, 'auth'> | undefined;
  /** Sets the token of a registration that the heartbeat thread has made. */
  setToken(token: string): void;
  /** Returns the field that names the present registration; no field with a gateway that gives no token. */
  tokenField(): { registration?: string };
};

export type RegistrationDeps = {
  readonly calls: Pick<Calls, 'registerAgent' | 'heartbeatAgent'>;
  readonly clock: Clock;
  readonly work: () => Pick<Work, 'request_ids' | 'drop'>;
  /** Returns the body without `request_ids`; each registration adds these. */
  readonly describeAgent: () => AgentRegistration;
  readonly logEvent: LogEvent;
  /** Called whenever the gateway has responded to a registration or a heartbeat. */
  readonly onContact: () => void;
};

/** The gateway's last response, whether the agent drains, and whether the administrator drains it. */
type RegistrationState = {
  intervalMs: number;
  draining: boolean;
  isDrained: boolean;
  contactMs: number | undefined;
  /** Whether a registration that may have reached the gateway was sent. */
  isSent: boolean;
  isClosed: boolean;
  /** The token of the present registration; undefined before it, and with a gateway that gives no token. */
  token: string | undefined;
  /** Whether another process has registered since. */
  isReplaced: boolean;
};

/** The interval until the gateway names one. */
const INTERVAL_FIRST_SECONDS = 15;
/** The bounds of the interval, whatever the gateway names: neither a tight loop nor silence. */
const INTERVAL_SECONDS = { least: 1, most: 3_600 };
const BACKOFF = { firstMs: 1_000, maxMs: 10_000 };
/** How long the registration under way has left when the agent stops. */
const LAST_ATTEMPT_MS = 5_000;
const HEARTBEAT_TIMEOUT_MS = 10_000;
export function createRegistration(deps: RegistrationDeps): Registration {
  const { calls, clock, logEvent } = deps;
  const state: RegistrationState = {
    intervalMs: INTERVAL_FIRST_SECONDS * 1_000,
    draining: false,
    isDrained: false,
    contactMs: undefined,
    isSent: false,
    isClosed: false,
    token: undefined,
    isReplaced: false,
  };
  let registering: Promise<void> | undefined;

  function register(signal: AbortSignal): Promise<void> {
    registering ??= registerUntilAccepted(deps, state, signal).finally(() => {
      registering = undefined;
    });
    return registering;
  }

  async function sendHeartbeat(signal: AbortSignal): Promise<void> {
    const { agent_id } = deps.describeAgent();
    const { draining, token } = state;
    try {
      const receipt = await calls.heartbeatAgent(
        { agent_id, ...nameTasks(deps), ...tokenField(state), ...(draining && { draining }) },
        { signal, timeoutMs: HEARTBEAT_TIMEOUT_MS, maxRetries: 1 },
      );
      recordContact(deps, state, receipt);
      noteState(deps, state, receipt.state);
      // It may have been replaced by a registration of its own that was under way.
      const isReplaced = receipt.replaced === true && token === state.token && registering === undefined;
      if (isReplaced && !state.isReplaced) logEvent({ kind: 'replaced', agent_id });
      state.isReplaced = isReplaced;
    } catch (error) {
      if (error instanceof AbortError) return;
      logEvent({ kind: 'failure', during: 'heartbeat', error });
      // A draining agent need not come back when the gateway no longer knows it.
      if (error instanceof NotFoundError && !state.draining) await registerAgain(signal);
    }
  }

  async function registerAgain(signal: AbortSignal): Promise<void> {
    try {
      await register(signal);
      // The registration asked for tasks again; a draining agent takes that back with a heartbeat.
      if (state.draining && !signal.aborted) await sendHeartbeat(signal);
    } catch (error) {
      logEvent({ kind: 'failure', during: 'register', error });
    }
  }

  return {
    register,
    registerAgain,
    sendHeartbeat,
    setToken(token) {
      state.token = token;
    },
    tokenField: () => tokenField(state),
    noteState: (agentState) => noteState(deps, state, agentState),
    drain() {
      state.draining = true;
    },
    async close() {
      state.isClosed = true;
      await registering?.catch(() => undefined);
    },
    registered() {
      if (state.contactMs !== undefined) return 'yes';
      return state.isSent ? 'maybe' : 'no';
    },
    describe() {
      const { contactMs, intervalMs, draining, token } = state;
      if (contactMs === undefined) return undefined;
      const { request_ids } = nameTasks(deps);
      const sinceContactMs = readMonotonicMs(clock) - contactMs;
      return {
        registration: deps.describeAgent(),
        request_ids,
        intervalMs,
        draining,
        token,
        sinceContactMs,
      };
    },
    async keepSendingHeartbeats(signal) {
      while (!signal.aborted) {
        await clock.sleep(state.intervalMs * (0.9 + clock.chance() / 5), signal);
        if (!signal.aborted) await sendHeartbeat(signal);
      }
    },
  };
}

/** Registers with as many attempts as it takes, until the signal fires. */
async function registerUntilAccepted(
  deps: RegistrationDeps,
  state: RegistrationState,
  signal: AbortSignal,
): Promise<void> {
  const { calls, clock, logEvent } = deps;
  const { agent_id, endpoint, ...rest } = deps.describeAgent();
  for (let failures = 0; !signal.aborted && !state.isClosed; failures += 1) {
    const last = delayAbort(clock, signal, LAST_ATTEMPT_MS);
    try {
      const body = { agent_id, endpoint, ...rest, ...nameTasks(deps) };
      state.isSent = true;
      const receipt = await calls.registerAgent(body, { signal: last.signal, maxRetries: 0 });
      state.token = receipt.registration;
      state.intervalMs = readInterval(receipt.heartbeat_interval) * 1_000;
      recordContact(deps, state, receipt);
      logEvent({ kind: 'registered', agent_id, endpoint });
      // The registration that was replaced may be its own, from an attempt that got no response.
      if (receipt.replaced === true && failures === 0) logEvent({ kind: 'replaces', agent_id });
      state.isReplaced = false;
      noteState(deps, state, receipt.state);
      return;
    } catch (error) {
      if (error instanceof AbortError) return;
      if (error instanceof ApiError && !isTransient(error.status)) {
        state.isSent = false;
        throw error;
      }
      logEvent({ kind: 'failure', during: 'register', error });
      const askedMs = error instanceof ApiError ? error.retryAfterMs : undefined;
      await clock.sleep(choosePauseMs(clock, BACKOFF, failures, askedMs), signal);
    } finally {
      last.release();
    }
  }
}

function readInterval(seconds: number | undefined): number {
  const { least, most } = INTERVAL_SECONDS;
  return Math.min(Math.max(seconds || INTERVAL_FIRST_SECONDS, least), most);
}

/** Creates a signal that fires this long after another one, unless it is released before. */
function delayAbort(clock: Clock, signal: AbortSignal, delayMs: number) {
  const early = linkSignals(signal);
  const released = linkSignals();
  const late = linkSignals();
  early.signal.addEventListener('abort', () => {
    void clock.sleep(delayMs, released.signal).then(() => released.signal.aborted || late.abort());
  });
  return {
    signal: late.signal,
    release(): void {
      early.release();
      released.abort();
    },
  };
}

/**
 * Returns the field that names the tasks that the agent works on. If there are too many, it returns no field,
 * and the gateway relies on its own records.
 */
function nameTasks({ work }: RegistrationDeps): { request_ids?: RequestId[] } {
  const request_ids = [...work().request_ids()];
  return request_ids.length > REQUEST_IDS_MAX ? {} : { request_ids };
}

function tokenField({ token }: RegistrationState): { registration?: string } {
  return token === undefined ? {} : { registration: token };
}

/** Records that the gateway has responded, and drops the tasks that it no longer wants done. */
function recordContact(
  { clock, work, onContact }: RegistrationDeps,
  state: RegistrationState,
  { cancelled_request_ids }: { readonly cancelled_request_ids?: readonly RequestId[] },
): void {
  state.contactMs = readMonotonicMs(clock);
  work().drop(cancelled_request_ids ?? []);
  onContact();
}

/** An agent that drains by itself is `draining` anyway, which says nothing about the administrator. */
function noteState(
  { describeAgent, logEvent }: RegistrationDeps,
  state: RegistrationState,
  agentState: string | null | undefined,
): void {
  const isKnown = agentState === 'ready' || agentState === 'processing' || agentState === 'draining';
  const isDrained = agentState === 'draining';
  if (!isKnown || state.draining || isDrained === state.isDrained) return;
  state.isDrained = isDrained;
  logEvent({ kind: isDrained ? 'drained' : 'undrained', agent_id: describeAgent().agent_id });
}

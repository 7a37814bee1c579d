/** The parts of an agent; each one gets only those that it depends on. */
import { createCalls } from '../calls.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type ClientSettings, readSettings } from '../settings.ts';
import { createAgentLog, stderrLogger } from './agent-log.ts';
import { createGatewayContact } from './gateway-contact.ts';
import { createHeartbeatThread } from './heartbeat.ts';
import { createInbox } from './inbox.ts';
import { type AgentDuty, createEventLog, type LogEvent } from './log-events.ts';
import type { AgentOptions, AgentSettings } from './options.ts';
import { createOutbox } from './outbox.ts';
import { createOutputWriter } from './output.ts';
import { createAskQuestion } from './questions.ts';
import { createRegistration, type Registration } from './registration.ts';
import { createReports, isUnwanted } from './reports.ts';
import { createInboxServer } from './server.ts';
import { createWork, type Work } from './work.ts';

export type AgentParts = ReturnType<typeof createParts>;

type LogFailure = (during: AgentDuty) => (error: unknown) => void;

/** Creates the parts of an agent, and opens none. */
export function createParts(options: AgentOptions, settings: AgentSettings) {
  const { agent_id, maxConcurrent, pushSecrets, maxPushBytes, handlerEndMs } = settings;
  const { clock = systemClock, listen, handler, isBusy } = options;
  const connection = readSettings({ ...options, logger: options.logger ?? stderrLogger });
  const { log } = connection;
  // The agent's notices are the log that a person reads; calls are logged at `debug` only.
  const calls = createCalls({ ...connection, log: (_level, ...words) => log('debug', ...words) });
  const { contact, logEvent } = createVoice(options, connection, maxConcurrent, clock);
  const logFailure: LogFailure = (during) => (error) => logEvent({ kind: 'failure', during, error });
  let endpoint = settings.endpoint ?? 'pull';
  const registration = createRegistration({
    calls,
    clock,
    logEvent,
    work: () => work,
    describeAgent: () => describeAgent(options, settings, endpoint),
    onContact() {
      contact.reach();
      void heartbeatThread?.renew();
    },
  });
  const { registerAgain } = registration;
  const reports = createReports({ calls, clock, agent_id, logEvent, registerAgain });
  const outbox = createOutbox(options.outbox, logFailure('outbox'));
  const work = createWork({
    agent_id,
    handler,
    handlerEndMs,
    maxConcurrent,
    isBusy,
    reports,
    createOutput(key, onUnwanted, hurry) {
      const onFailure = logFailure('output');
      const deps = { calls, clock, registerAgain, isUnwanted, onUnwanted, onFailure, hurry };
      const writer = createOutputWriter(deps, key);
      return { ...writer, askQuestion: createAskQuestion(deps, key, writer) };
    },
    outbox,
    clock,
    logEvent,
    onChange: () => heartbeatThread?.update(),
  });
  const onError = logFailure('push');
  const inbox = createInbox({ agent_id, pushSecrets, maxPushBytes, work, clock, onError });
  const heartbeatThread = settings.hasHeartbeatThread
    ? createHeartbeats(connection, registration, work, logFailure('heartbeat'))
    : undefined;

  return {
    agent_id,
    calls,
    clock,
    contact,
    logEvent,
    registration,
    work,
    outbox,
    inbox,
    heartbeatThread,
    server: listen && createInboxServer(listen, { inbox, onError }),
    /** Sets the address at which the agent listens, once it is known. */
    setAddress(address: string | undefined): void {
      endpoint = settings.endpoint ?? address ?? 'pull';
    },
    /** Unregisters the agent. A failure is logged, and the agent stops all the same. */
    async unregister(signal: AbortSignal): Promise<void> {
      try {
        await calls.unregisterAgent({ agent_id, ...registration.tokenField() }, { signal, maxRetries: 1 });
        logEvent({ kind: 'unregistered', agent_id });
      } catch (error) {
        logFailure('unregister')(error);
      }
    },
  };
}

/** Creates what logs and emits an agent's notices, and what watches its contact with the gateway. */
function createVoice(
  { tags, onNotice }: AgentOptions,
  { log, baseUrl }: ClientSettings,
  maxConcurrent: number,
  clock: Clock,
) {
  const readers: readonly (LogEvent | undefined)[] = [
    createAgentLog({ log, clock, baseUrl, tags, maxConcurrent }),
    onNotice,
  ];
  const contact = createGatewayContact(baseUrl, clock, createEventLog(...readers));
  return { contact, logEvent: createEventLog(contact.follow, ...readers) };
}

/** Creates the thread that sends heartbeats, and keeps it informed of the agent's state and secret. */
function createHeartbeats(
  { baseUrl, headers, auth }: ClientSettings,
  registration: Registration,
  work: Pick<Work, 'drop'>,
  onError: (error: unknown) => void,
) {
  const thread = createHeartbeatThread({
    target: { baseUrl, headers },
    onCancelled: work.drop,
    onRegistered: registration.setToken,
    onError,
  });
  let secret: string | undefined;

  /** Posts the current state to the thread at once, because a handler may block the event loop next. */
  function update(): void {
    thread.update(() => {
      const state = registration.describe();
      return state && secret !== undefined ? { ...state, auth: secret } : undefined;
    });
  }

  return {
    start: thread.start,
    stop: thread.stop,
    update,
    /** Posts the state with the present secret. */
    async renew(): Promise<void> {
      try {
        secret = await auth.get();
        update();
      } catch (error) {
        onError(error);
      }
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

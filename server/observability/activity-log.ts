/**
 * The log that a person reads when a task does not run. At `info`, bounded by `log-limit.ts`, it has agents
 * that come, go or are drained, pushes that do not reach their agent, tags without an agent, failed and lost
 * tasks, and refused secrets. At `debug` it has each step of each task, each push and each request.
 *
 * No line has a payload, a result, an agent's error, a query or an endpoint.
 */
import { createBoundedMap } from '../async/bounded-map.ts';
import { type AgentRecord, PULL_ENDPOINT } from '../domain/agent.ts';
import type { TraceContext } from '../domain/trace-context.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { AgentChange, EndedPush, Observer, ServedRequest, TaskStep } from '../ports/observer.ts';
import { createLogLimit, type LogLimit } from './log-limit.ts';

export type ActivityLog = {
  readonly observer: Partial<Observer>;
  /** Logs what has only been counted so far. */
  flush(): void;
};

/** Creates the log. It builds debug lines only if they are written. */
export function createActivityLog(deps: { readonly log: Log; readonly clock: Clock }): ActivityLog {
  const limit = createLogLimit(deps);
  const failures = createPushFailures(limit, deps.clock);
  const isVerbose = deps.log.isDebugEnabled ?? true;
  const debug = createDebugLines(deps.log);
  return {
    observer: {
      ...(isVerbose && { noteSubmitted: debug.noteSubmitted }),
      noteStep(step) {
        if (isVerbose) debug.noteStep(step);
        noteFailure(limit, step);
      },
      noteAgent(change, record) {
        if (change === 'unregistered') failures.forget(record.agent_id);
        limit.note(AGENT_MESSAGES[change], record.agent_id, describeAgent(change, record));
      },
      notePush(push) {
        if (isVerbose) debug.notePush(push);
        failures.note(push);
      },
      noteRequest(request) {
        if (isVerbose) debug.noteRequest(request);
        if (request.code === 'unauthorized') noteRefusedSecret(limit, request);
      },
    },
    flush: limit.flush,
  };
}

const AGENT_MESSAGES: Readonly<Record<AgentChange, string>> = {
  registered: 'an agent registered',
  replaced:
    'a registration replaced one that had a contact in the last 30 s: two processes may use one agent_id',
  back: 'an agent is back',
  offline: 'an agent is offline: it gets no new tasks',
  unregistered: 'an agent unregistered',
  outlived: 'an earlier process of an agent unregistered: the later registration stays',
  drained: 'the administrator drained an agent: it gets no new tasks',
  undrained: 'the administrator ended the drain of an agent',
};

function describeAgent(change: AgentChange, record: AgentRecord): object {
  const { agent_id, agent_tags, endpoint, max_concurrent, left: answered410 } = record;
  switch (change) {
    case 'registered':
      return {
        agent_id,
        tags: describeTags(agent_tags),
        kind: endpoint === PULL_ENDPOINT ? 'pull' : 'push',
        max_concurrent,
      };
    case 'offline':
      return {
        agent_id,
        tags: describeTags(agent_tags),
        reason: answered410 ? 'it replied 410' : 'no contact',
      };
    default:
      return { agent_id };
  }
}

/** Logs a task that failed because no agent took it, its agent reported a failure, or its agent was lost. */
function noteFailure(limit: LogLimit, { request_id, before, after, trigger }: TaskStep): void {
  const type = describeTags([after.task_type]);
  const agent_id = before.value.agent_id ?? after.agent_id ?? '';
  switch (trigger.type) {
    case 'abandon': {
      const tags = describeTags([...new Set(after.task_tags)].sort());
      limit.note('a task failed: no agent has one of its tags and a free slot', tags, { tags, request_id });
      return;
    }
    case 'fail':
      limit.note('a task failed: its agent reported it', `${type} at ${agent_id}`, {
        type,
        agent_id,
        request_id,
      });
      return;
    case 'lose': {
      const { seconds } = trigger;
      limit.note('a task was lost with its agent', agent_id, { agent_id, type, request_id, seconds });
      return;
    }
  }
}

function noteRefusedSecret(limit: LogLimit, { peer, operation, path }: ServedRequest): void {
  const address = peer();
  const fields = { peer: address, operation: operation ?? path };
  limit.note('a request was refused: its secret is missing or wrong', address, fields);
}

/** Longer lists of tags, and longer types, are cut to this length. */
const TAG_CHARS_MAX = 200;

function describeTags(tags: readonly string[]): string {
  // Cut before joining, because an agent may have very many tags.
  const text = tags.slice(0, TAG_CHARS_MAX).join(', ');
  return text.length > TAG_CHARS_MAX ? `${text.slice(0, TAG_CHARS_MAX)}… (${tags.length} tags)` : text;
}

/**
 * How many agents with failing pushes are remembered. A forgotten agent's next failure counts as the first.
 */
const FAILING_MAX = 10_000;

/** Logs the first failing push to an agent, and the first that succeeds again. */
function createPushFailures(limit: LogLimit, clock: Clock) {
  const failing = createBoundedMap<string, { readonly sinceMs: number; count: number }>(FAILING_MAX);

  function noteFailure(agent_id: string, { request_id, outcome }: EndedPush): void {
    const known = failing.get(agent_id);
    if (known) {
      known.count += 1;
      failing.set(agent_id, known);
      return;
    }
    failing.set(agent_id, { sinceMs: clock.monotonicMs(), count: 1 });
    const { status } = outcome;
    const error = outcome.kind === 'acknowledged' ? null : outcome.error;
    limit.note('pushes to an agent fail; they are repeated', agent_id, {
      agent_id,
      request_id,
      status,
      error,
    });
  }

  return {
    /** An agent that is busy has replied, so it is reached. */
    note(push: EndedPush): void {
      const { agent_id, outcome } = push;
      if (agent_id === null) return;
      const isReached = outcome.kind === 'acknowledged' || (outcome.kind === 'untaken' && outcome.busy);
      const failed = failing.get(agent_id);
      if (!isReached) noteFailure(agent_id, push);
      if (!isReached || !failed) return;
      failing.delete(agent_id);
      const seconds = Math.round((clock.monotonicMs() - failed.sinceMs) / 1_000);
      limit.note('pushes to an agent arrive again', agent_id, { agent_id, failed: failed.count, seconds });
    },
    forget(agent_id: string): void {
      failing.delete(agent_id);
    },
  };
}

/** The 32 digits of the trace; undefined if the task was submitted without one. */
function findTraceId(trace: TraceContext | undefined): string | undefined {
  return trace?.traceparent.split('-')[1];
}

function createDebugLines(
  log: Log,
): Pick<Observer, 'noteSubmitted' | 'noteStep' | 'notePush' | 'noteRequest'> {
  return {
    noteSubmitted(request_id, { task_type, task_tags, cli_session_id }, trace) {
      const tags = describeTags(task_tags);
      const trace_id = findTraceId(trace);
      log.debug(
        { request_id, trace_id, type: task_type, tags, session: cli_session_id },
        'a task was submitted',
      );
    },
    noteStep({ request_id, before, after, trigger }) {
      const agent_id = after.agent_id ?? before.value.agent_id;
      log.debug({ request_id, agent_id, step: trigger.type, status: after.status }, 'a task changed');
    },
    notePush({ request_id, agent_id, trace, outcome, ms }) {
      const error = outcome.kind === 'acknowledged' ? undefined : outcome.error;
      const { kind, status } = outcome;
      const ids = { request_id, agent_id, trace_id: findTraceId(trace) };
      log.debug({ ...ids, outcome: kind, status, error, ms }, 'a push ended');
    },
    noteRequest({ operation, method, path, status, code, ms, peer }) {
      log.debug({ operation, method, path, status, code, ms, peer: peer() }, 'responded');
    },
  };
}

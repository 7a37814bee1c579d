/**
 * A gateway that returns a fixed reply of the right shape at once and records its calls. A test replaces the
 * operation it is about with one that throws, waits or streams.
 */
import type { AgentDetail } from '../../server/ports/admin.ts';
import type { Gateway, StreamItem } from '../../server/ports/gateway.ts';
import type { Cursor } from '../../server/ports/store.ts';

/** One call as the gateway received it. */
type RecordedCall = { readonly operation: string; readonly args: readonly unknown[] };

export type FakeGateway = Gateway & { readonly calls: RecordedCall[] };

/** The items of a session's feed, not yet rendered. */
export type Feed = (session: string, after: Cursor | null, signal: AbortSignal) => AsyncIterable<StreamItem>;

export const TASK = {
  request_id: 'task-1',
  task_type: 't',
  task_tags: ['a'],
  payload: { text: '你好' },
  status: 'pending',
  agent_id: null,
  cli_session_id: 's',
  create_time: 1_700_000_000.123,
  timeout: 600,
  progress: 0,
  result: null,
  error_info: null,
} as const;
/** The same task as `getTask` finds it: open. */
export const FOUND = { task: TASK, outcome: null } as const;

/** What the fake gateway returns for a page of output. */
const OUTPUT = {
  status: 'running',
  progress: 40,
  outcome: null,
  pieces: [{ n: 1, json: '{"text":"你好"}' }],
  last: 1,
  complete: false,
  missing: null,
} as const;

const MATCH = {
  time: 1_700_000_000.2,
  live: true,
  agents_total: 0,
  sharing: { agents: 0, eligible: 0, full: 0, draining: 0, offline: 0 },
  tags: [],
  agents: [],
} as const;
/** What the fake gateway returns for a preview. */
const PREVIEW = { match: MATCH, hint: 'No agent is registered.', remedies: [] } as const;
/** What the fake gateway returns for an explanation. */
const EXPLANATION = {
  request_id: 'task-1',
  status: 'pending',
  waiting: false,
  acknowledged: false,
  outcome: null,
  queue_timeout: null,
  assigned_time: null,
  ended_time: null,
  deadline_time: 1_700_000_600.123,
  history: [],
  history_dropped: 0,
  agent: null,
  match: null,
  questions: [],
  hint: null,
  remedies: [],
} as const;

const OUTCOMES = { success: 0, failed: 0, cancelled: 0, timeout: 0, no_agent: 0, agent_lost: 0 };
const AGENT_COUNTS = { total: 0, ready: 0, processing: 0, draining: 0, offline: 0, full: 0, failing: 0 };

/** What the fake gateway returns for the overview. */
export const OVERVIEW = {
  time: 1_700_000_000.123,
  console: 'on',
  store: { kind: 'memory', ok: true, since: 1_700_000_000, error: null },
  tasks: { waiting: 0, running: 0, waiting_for_answer: 0 },
  slots: { used: 0, free: 0, unusable: 0, not_taken: 0 },
  agents: AGENT_COUNTS,
  window: 900,
  ended: OUTCOMES,
  failures: { since: null, ended: 0, failed: 0, groups_total: 0, groups: [] },
  median_seconds: null,
  series: { step: 30, waiting: [], running: [], success: [], failed: [], no_agent: [] },
  tags_total: 0,
  tags: [],
  oldest_waiting: [],
  problems: [],
} as const;

/** What the fake gateway returns for a cancellation. */
const CANCELLATION = {
  matched: 0,
  cancelled: 0,
  already_ended: 0,
  not_found: 0,
  next_cursor: null,
} as const;

/** What the fake gateway returns for an agent. */
const AGENT: AgentDetail = {
  time: 1_700_000_000.123,
  agent_id: 'a',
  endpoint: 'pull',
  agent_tags: [],
  state: 'ready',
  drained_by_operator: false,
  full: false,
  failing: false,
  eligible: true,
  max_concurrent: 1,
  current_load: 0,
  running: 0,
  unacknowledged: 0,
  registered_time: 1_700_000_000,
  replaced: false,
  last_contact_time: 1_700_000_000,
  offline_time: null,
  lost_after: null,
  push: {
    last_status: null,
    last_error: null,
    last_ms: null,
    failures: 0,
    failing_since: null,
    next_attempt_time: null,
  },
  activity: { step: 15, to: 1_700_000_010, contact: '0'.repeat(40), push_failed: '0'.repeat(40) },
  slots: [],
  pushes: [],
};

/** Creates the gateway; `replaced` replaces operations of its own. */
export function createFakeGateway(replaced: Partial<Gateway> = {}): FakeGateway {
  const calls: RecordedCall[] = [];
  const operations: Gateway = {
    submitTask: async () => TASK,
    getTask: async () => FOUND,
    explainTask: async () => EXPLANATION,
    previewMatch: async () => PREVIEW,
    cancelTask: async (request_id) => ({ ok: true, request_id }),
    answerTask: async ({ request_id, key }) => ({ ok: true, request_id, key }),
    subscribeEvents: subscribeTo((_session, _after, signal) => idleFeed(signal)),
    registerAgent: async ({ agent_id }) => ({
      ok: true,
      agent_id,
      state: 'ready',
      registration: 'r1',
      heartbeat_interval: 15,
      offline_after: 90,
      cancelled_request_ids: [],
    }),
    heartbeatAgent: async ({ agent_id }) => ({
      ok: true,
      agent_id,
      state: 'ready',
      cancelled_request_ids: [],
    }),
    claimTask: async () => null,
    claimAnswer: async ({ key }) => ({ key, answer: true }),
    reportResult: async ({ request_id }) => ({ ok: true, request_id, status: 'success', accepted: true }),
    writeOutput: async ({ request_id, from }) => ({
      ok: true,
      request_id,
      status: 'running',
      accepted: true,
      next: from,
    }),
    readOutput: async () => OUTPUT,
    followOutput: async () => (signal) => idleFeed(signal),
    unregisterAgent: async (agent_id) => ({ ok: true, agent_id }),
    listTasks: async () => ({ time: OVERVIEW.time, tasks: [], next_cursor: null, counts: null }),
    getOverview: async () => OVERVIEW,
    cancelTasks: async () => CANCELLATION,
    listAgents: async () => ({
      time: OVERVIEW.time,
      agents: [],
      total: 0,
      counts: AGENT_COUNTS,
      next_cursor: null,
    }),
    getAgent: async () => AGENT,
    drainAgent: async () => AGENT,
    health: () => ({ ok: true }),
    ...replaced,
  };
  const recorded = Object.fromEntries(
    Object.entries(operations).map(([operation, run]) => [
      operation,
      (...args: unknown[]) => {
        if (operation !== 'health') calls.push({ operation, args });
        return Reflect.apply(run, operations, args);
      },
    ]),
  );
  return { ...operations, ...recorded, calls };
}

/** The subscription to a feed: each item is rendered for its reader. */
export function subscribeTo(feed: Feed): Gateway['subscribeEvents'] {
  return async function* (session, after, render, signal) {
    for await (const item of feed(session, after, signal)) yield render(item);
  };
}

/** A feed without items, until the signal fires. */
export async function* idleFeed(signal: AbortSignal): AsyncGenerator<never> {
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

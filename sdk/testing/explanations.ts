/**
 * The fake gateway explains tasks and tags: `explainTask` and `previewMatch`. It keeps no history but the
 * beginning and the end, and has no clock: the times are those of the tasks.
 */
import type { MatchAgent, MatchPreview, Task, TaskExplanation, TaskMatch, TaskOutcome } from '../contract.ts';
import { CANCELLED_TEXT, NO_AGENT_TEXT, TIMEOUT_TEXT } from '../settled.ts';
import type { FakeState } from './fake-state.ts';

/** Explains a task of the fake gateway. */
export function explainFakeTask(state: FakeState, task: Task): TaskExplanation {
  const { request_id, status, task_tags, agent_id, create_time, timeout } = task;
  const outcome = findOutcome(task);
  const isUnmatched = status === 'pending' || outcome === 'no_agent';
  const match = isUnmatched ? matchFakeAgents(state, task_tags, status === 'pending') : null;
  const events = ['submitted', ...(outcome === null ? [] : [outcome])];
  return {
    request_id,
    status,
    outcome,
    queue_timeout: null,
    history_dropped: 0,
    waiting: status === 'pending',
    acknowledged: status === 'running',
    assigned_time: agent_id === null ? null : create_time,
    deadline_time: create_time + timeout,
    ended_time: outcome === null ? null : create_time,
    history: events.map((event) => ({
      time: create_time,
      event,
      agent_id: event === 'submitted' ? null : agent_id,
      detail: null,
      count: 1,
      last_time: create_time,
    })),
    match,
    agent: null,
    ...advise(match),
  };
}

/** Returns which agents of the fake gateway qualify for these tags. */
export function previewFakeMatch(state: FakeState, task_tags: readonly string[]): MatchPreview {
  const match = matchFakeAgents(state, task_tags, true);
  return { match, ...advise(match) };
}

function findOutcome({ status, error_info }: Task): TaskOutcome | null {
  if (status !== 'failed') return status === 'success' ? 'success' : null;
  return OUTCOMES[error_info] ?? 'failed';
}

const OUTCOMES: Readonly<Record<string, TaskOutcome>> = {
  [CANCELLED_TEXT]: 'cancelled',
  [TIMEOUT_TEXT]: 'timeout',
  [NO_AGENT_TEXT]: 'no_agent',
};

function matchFakeAgents(state: FakeState, task_tags: readonly string[], live: boolean): TaskMatch {
  const all = [...state.agents.keys()].map((agent_id) => describeFakeAgent(state, agent_id, task_tags));
  const sharing = all.filter(({ shared_tags }) => shared_tags.length > 0);
  const count = (reason: string, of = sharing): number => of.filter((one) => one.reason === reason).length;
  return {
    time: 0,
    live,
    agents_total: all.length,
    sharing: {
      agents: sharing.length,
      eligible: count('eligible'),
      full: count('full'),
      draining: count('draining'),
      offline: 0,
    },
    tags: [...new Set(task_tags)].map((tag) => {
      const having = sharing.filter(({ shared_tags }) => shared_tags.includes(tag));
      return { tag, agents: having.length, free: count('eligible', having), similar: null };
    }),
    agents: sharing.slice(0, 20),
  };
}

function describeFakeAgent(state: FakeState, agent_id: string, task_tags: readonly string[]): MatchAgent {
  const agent = state.agents.get(agent_id);
  const { agent_tags = [], max_concurrent = 1 } = agent?.registration ?? {};
  const running = [...state.tasks.values()].filter(
    ({ task }) => task.status === 'running' && task.agent_id === agent_id,
  ).length;
  const shared_tags = [...new Set(task_tags)].filter((tag) => agent_tags.includes(tag));
  const full = running >= max_concurrent;
  const kept = agent?.draining ? 'draining' : full ? 'full' : 'eligible';
  const reason = shared_tags.length === 0 ? 'no_shared_tag' : kept;
  return {
    agent_id,
    shared_tags: shared_tags.slice(0, 8),
    full,
    eligible: reason === 'eligible',
    reason,
    state: agent?.draining ? 'draining' : running > 0 ? 'processing' : 'ready',
    push_failing: false,
    max_concurrent,
    current_load: running,
    last_contact_time: 0,
  };
}

function advise(match: TaskMatch | null): Pick<MatchPreview, 'hint' | 'remedies'> {
  if (!match || match.sharing.eligible > 0) return { hint: null, remedies: [] };
  const tag = match.tags[0]?.tag ?? null;
  const { agents, full, draining } = match.sharing;
  const hint =
    agents === 0
      ? 'No agent has one of the tags.'
      : `No agent with one of the tags has a free slot: of ${agents}, ${full} full and ${draining} draining.`;
  return { hint, remedies: [{ kind: 'start_agent', tag, agent_id: null, seconds: null }] };
}

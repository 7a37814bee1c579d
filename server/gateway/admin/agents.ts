/**
 * What administrators read of agents: pages of agents, and one agent with its tasks and its last pushes. It
 * also holds the call that drains an agent. This process's copy of the agents is filtered and ordered; then
 * each agent of the page is read from the store.
 *
 * Pushes, contact strips and untaken tasks are what this process has seen; all else comes from the store.
 */

import { runInSlices } from '../../async/slices.ts';
import { agentLoad, agentState, isFull, offlineAtMs } from '../../domain/agent.ts';
import { writeCursor } from '../../domain/cursor.ts';
import { type Candidate, isFailing } from '../../domain/match.ts';
import type { TaskState } from '../../domain/task.ts';
import { findObstacle } from '../../domain/task-match.ts';
import { toSeconds } from '../../domain/wire-time.ts';
import type {
  AdminCalls,
  AgentCounts,
  AgentDetail,
  AgentPage,
  AgentQuery,
  ConsoleMode,
  ListedAgent,
} from '../../ports/admin.ts';
import type { AgentFigures } from '../../ports/figures.ts';
import type { Observer } from '../../ports/observer.ts';
import type { AgentStatus, Store } from '../../ports/store.ts';
import type { ContactStrips } from '../agents/contact-strips.ts';
import type { PushRecords } from '../agents/push-records.ts';
import type { AgentIndex } from '../agents/ranking/agent-index.ts';
import { agentNotFound, type RegisteredAgents } from '../agents/registered-agents.ts';
import type { UntakenTasks } from '../agents/untaken-tasks.ts';
import { readIfWhole } from '../tasks/read-task.ts';
import { takeInOrder } from './agent-order.ts';
import { requirePosition } from './page-cursor.ts';
import { readOnly } from './read-only.ts';

const SHOWN_TASKS_MAX = 100;

type Deps = {
  readonly store: Store;
  readonly agents: RegisteredAgents;
  readonly agentIndex: AgentIndex;
  readonly pushRecords: PushRecords;
  readonly contactStrips: ContactStrips;
  readonly untakenTasks: UntakenTasks;
  readonly observer: Pick<Observer, 'noteAgent'>;
  readonly consoleMode: ConsoleMode;
};

export function createAgentCalls(deps: Deps): Pick<AdminCalls, 'listAgents' | 'getAgent' | 'drainAgent'> {
  return {
    listAgents: (query) => listAgents(deps, query),
    async getAgent(agent_id) {
      const agentStatus = await deps.agents.findIfRegistered(agent_id);
      if (!agentStatus) throw agentNotFound();
      return await describeDetail(deps, agentStatus);
    },
    drainAgent: (agent_id, draining) => drainAgent(deps, agent_id, draining),
  };
}

/** Drains an agent, or ends that. From the commit on, the store refuses grants that were decided before. */
async function drainAgent(deps: Deps, agent_id: string, draining: boolean): Promise<AgentDetail> {
  if (deps.consoleMode === 'read-only') throw readOnly();
  let isChanged = false;
  const agentStatus = await deps.agents.changeRecord({ agent_id }, (record) => {
    isChanged = draining !== (record.drained_by_operator ?? false);
    if (!isChanged) return record;
    const { drained_by_operator: _, ...undrained } = record;
    return draining ? { ...undrained, drained_by_operator: true } : undrained;
  });
  if (isChanged) deps.observer.noteAgent(draining ? 'drained' : 'undrained', agentStatus.record);
  return await describeDetail(deps, agentStatus);
}

export function describeAgentCounts({ states, full, failing }: AgentFigures): AgentCounts {
  const { ready, processing, draining, offline } = states;
  return { total: ready + processing + draining + offline, ...states, full, failing };
}

async function listAgents(deps: Deps, query: AgentQuery): Promise<AgentPage> {
  const { store, agentIndex } = deps;
  await agentIndex.refresh();
  const { ids, next } = findMatching(agentIndex, query);
  const found = new Map<string, ListedAgent>();
  await runInSlices(ids, async (agent_id) => {
    const agentStatus = await deps.agents.findIfRegistered(agent_id);
    if (agentStatus) found.set(agent_id, await describeAgent(deps, agentStatus));
  });
  const counts = describeAgentCounts(agentIndex.figures());
  return {
    time: store.nowMs() / 1_000,
    agents: ids.flatMap((agent_id) => found.get(agent_id) ?? []),
    total: counts.total,
    counts,
    next_cursor: next === null ? null : writeCursor(next),
  };
}

/** Finds the ids of a page's agents, and where the next page begins: null at the end. */
function findMatching(
  agentIndex: Pick<AgentIndex, 'all'>,
  query: AgentQuery,
): { readonly ids: readonly string[]; readonly next: string | null } {
  const after = query.cursor === undefined ? null : requirePosition(query.cursor);
  const matching = agentIndex.all().filter((candidate) => matches(candidate, query));
  const found = takeInOrder(matching, query.sort, after, query.limit + 1);
  const page = found.slice(0, query.limit);
  return {
    ids: page.map(({ candidate }) => candidate.record.agent_id),
    next: found.length > page.length ? (page.at(-1)?.position ?? null) : null,
  };
}

function matches(candidate: Candidate, { state, tag, full, failing, id }: AgentQuery): boolean {
  const { record, slots } = candidate;
  return (
    (state === undefined || agentState(record, slots) === state) &&
    (tag === undefined || record.agent_tags.includes(tag)) &&
    (full === undefined || (findObstacle(candidate) === 'full') === full) &&
    (failing === undefined || isFailing(candidate) === failing) &&
    (id === undefined || record.agent_id.toLowerCase().includes(id.toLowerCase()))
  );
}

async function describeAgent(
  { pushRecords, untakenTasks }: Deps,
  { record, slots, contact }: AgentStatus,
): Promise<ListedAgent> {
  const { agent_id, lostAfterMs } = record;
  const { pushes, failures } = pushRecords.find(agent_id);
  const untaken = await untakenTasks.read(agent_id);
  return {
    agent_id,
    endpoint: record.endpoint,
    agent_tags: record.agent_tags,
    state: agentState(record, slots),
    drained_by_operator: record.drained_by_operator ?? false,
    full: isFull(record, slots),
    failing: isFailing({ contact }),
    eligible: slots < record.limit,
    max_concurrent: record.max_concurrent,
    current_load: agentLoad(record, slots),
    running: slots,
    unacknowledged: Math.min(untaken.count, slots),
    registered_time: record.registeredMs / 1_000,
    replaced: record.replaced ?? false,
    last_contact_time: contact.contactMs / 1_000,
    offline_time: record.offlineMs === null ? toSeconds(offlineAtMs(record, contact)) : null,
    lost_after: toSeconds(lostAfterMs),
    push: {
      last_status: contact.push?.status ?? null,
      last_error: contact.push?.error ?? null,
      last_ms: pushes[0]?.ms ?? null,
      failures,
      failing_since: toSeconds(contact.unreachedSinceMs),
      next_attempt_time: toSeconds(untaken.nextMs),
    },
  };
}

async function describeDetail(deps: Deps, agentStatus: AgentStatus): Promise<AgentDetail> {
  const { store, pushRecords, contactStrips } = deps;
  const { agent_id } = agentStatus.record;
  const agent = await describeAgent(deps, agentStatus);
  const { items } = await store.list('slots', { agent_id }, { limit: SHOWN_TASKS_MAX });
  // Each state is described as soon as it is read, because a state may hold many questions.
  const tasks = await Promise.all(
    items.map(async ({ request_id }) => {
      const state = (await readIfWhole(store, request_id))?.value;
      return state ? describeAssigned(request_id, state, agent_id) : [];
    }),
  );
  return {
    time: store.nowMs() / 1_000,
    ...agent,
    activity: contactStrips.describe(agent_id, store.nowMs()),
    slots: tasks.flat(),
    pushes: pushRecords.find(agent_id).pushes,
  };
}

/** Describes a task that holds a slot; returns nothing if the agent has lost the task meanwhile. */
function describeAssigned(request_id: string, state: TaskState, agent_id: string): AgentDetail['slots'] {
  const { delivery, task_type, progress } = state;
  if (!delivery || state.agent_id !== agent_id) return [];
  const { acknowledged, assignedMs } = delivery;
  return [{ request_id, task_type, acknowledged, assigned_time: assignedMs / 1_000, progress }];
}

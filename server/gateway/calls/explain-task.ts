/**
 * What happened to a task and why it has no agent: `explainTask`; the same for tags alone: `previewMatch`.
 * Both change nothing.
 *
 * Cost of a call: what changed among the agents since the last refresh, a match (see `gateway/agents/ranking/nearest-agents.ts`),
 * and one read for each of the twenty agents that it names at most. It grows neither with the number of tasks
 * nor with that of agents.
 */
import { adviseOnTask, type PresentAgent } from '../../domain/advice.ts';
import { PULL_ENDPOINT } from '../../domain/agent.ts';
import { excludedAgents } from '../../domain/delivery.ts';
import { assignedAtMs, describeHistory, outcomeOf } from '../../domain/history.ts';
import { isFailing } from '../../domain/match.ts';
import { adviseOnMatch } from '../../domain/match-advice.ts';
import { decodeMatch } from '../../domain/match-record.ts';
import { isSettled, type TaskState } from '../../domain/task.ts';
import { ANY_TASK, type MatchAgent, type MatchedTask, type TaskMatch } from '../../domain/task-match.ts';
import { type Caller, UNNAMED_CALLER } from '../../ports/caller.ts';
import type { Gateway } from '../../ports/gateway.ts';
import type { Store } from '../../ports/store.ts';
import type { AgentIndex } from '../agents/ranking/agent-index.ts';
import { taskNotFound } from './get-task.ts';

type Deps = { readonly store: Store; readonly agentIndex: AgentIndex };

/** Creates the two operations. */
export function createExplanations(deps: Deps): Pick<Gateway, 'explainTask' | 'previewMatch'> {
  return {
    async explainTask(request_id, caller: Caller = UNNAMED_CALLER) {
      const state = (await deps.store.get('task', request_id, caller))?.value;
      if (!state) throw taskNotFound();
      const match = await findMatch(deps, state);
      const agent = await findPresentAgent(deps.store, state);
      const outcome = outcomeOf(state);
      const nowMs = deps.store.nowMs();
      const { queueEndMs, createdMs } = state;
      return {
        request_id,
        status: state.status,
        waiting: state.waiting,
        acknowledged: state.delivery?.acknowledged ?? false,
        outcome,
        queue_timeout: queueEndMs === null ? null : (queueEndMs - createdMs) / 1_000,
        assigned_time: toSeconds(assignedAtMs(state)),
        ended_time: toSeconds(state.settledMs),
        deadline_time: state.deadlineMs / 1_000,
        history: describeHistory(state),
        history_dropped: state.historyDropped ?? 0,
        match,
        ...adviseOnTask({ state, outcome, match, agent, nowMs }),
      };
    },

    async previewMatch(task_tags) {
      const match = await matchNow(deps, task_tags, ANY_TASK);
      return { match, ...adviseOnMatch(match, null) };
    },
  };
}

/** What the decision saw of a task that was abandoned; the match of now of one that waits; else null. */
async function findMatch(deps: Deps, state: TaskState): Promise<TaskMatch | null> {
  if (state.seenMatch) return await readSeenMatch(deps, decodeMatch(state.seenMatch, state.task_tags));
  if (isSettled(state) || (state.delivery !== null && !state.waiting)) return null;
  const { delivery, agent_id } = state;
  if (!delivery || agent_id === null) return await matchNow(deps, state.task_tags, ANY_TASK);
  const refused = excludedAgents(delivery, agent_id, deps.store.nowMs());
  return await matchNow(deps, state.task_tags, { present: agent_id, refused });
}

/** What the decision saw, with the tags that are like missing ones now: it looked for none itself. */
async function readSeenMatch({ agentIndex }: Deps, match: TaskMatch): Promise<TaskMatch> {
  if (match.tags.every(({ agents }) => agents > 0)) return match;
  await agentIndex.refresh();
  return { ...match, tags: agentIndex.addSimilarTags(match.tags) };
}

/** The match by the newest copy of the agents, with the last contacts as they are now. */
async function matchNow(
  { store, agentIndex }: Deps,
  tags: readonly string[],
  task: MatchedTask,
): Promise<TaskMatch> {
  await agentIndex.refresh();
  const match = agentIndex.match(tags, task, { nowMs: store.nowMs(), live: true });
  return { ...match, agents: await Promise.all(match.agents.map((agent) => addContact(store, agent))) };
}

/** A contact is no change of an agent, so the copy may have an older one. */
async function addContact(store: Store, agent: MatchAgent): Promise<MatchAgent> {
  const contact = (await store.getAgentStatus(agent.agent_id))?.contact;
  if (!contact) return agent;
  return { ...agent, push_failing: isFailing({ contact }), last_contact_time: contact.contactMs / 1_000 };
}

/** The agent that a running task is assigned to. */
async function findPresentAgent(
  store: Store,
  { delivery, agent_id }: TaskState,
): Promise<PresentAgent | null> {
  if (!delivery || agent_id === null) return null;
  const agentStatus = await store.getAgentStatus(agent_id);
  if (!agentStatus) return { agent_id, pull: false, isOffline: true, contactMs: null };
  const { record, contact } = agentStatus;
  return {
    agent_id,
    pull: record.endpoint === PULL_ENDPOINT,
    isOffline: record.offlineMs !== null || record.unregisteredMs !== null,
    contactMs: contact.contactMs,
  };
}

function toSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000;
}

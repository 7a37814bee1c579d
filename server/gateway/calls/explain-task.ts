/**
 * `explainTask`: what happened to a task, and why it has no agent. It changes nothing.
 *
 * A call costs as much as `previewMatch`, and a read of the task and of its agent.
 */

import { adviseOnTask, type PresentAgent } from '../../domain/advice.ts';
import { offlineAtMs, PULL_ENDPOINT, silentAtMs } from '../../domain/agent.ts';
import { excludedAgents } from '../../domain/delivery.ts';
import { assignedAtMs, describeHistory, lostContactMs, outcomeOf } from '../../domain/history.ts';
import { decodeMatch } from '../../domain/match-record.ts';
import { isSettled, type TaskDetails, type TaskState } from '../../domain/task.ts';
import { ANY_TASK, type TaskMatch } from '../../domain/task-match.ts';
import { toSeconds } from '../../domain/wire-time.ts';
import type { Gateway, TaskAgent } from '../../ports/gateway.ts';
import type { Store } from '../../ports/store.ts';
import type { AgentIndex } from '../agents/ranking/agent-index.ts';
import { readWithDetails, taskNotFound } from '../tasks/read-task.ts';
import { matchNow } from './preview-match.ts';

type Deps = { readonly store: Store; readonly agentIndex: AgentIndex };
type TaskExplanation = Awaited<ReturnType<Gateway['explainTask']>>;

export function createExplainTask(deps: Deps): Pick<Gateway, 'explainTask'> {
  return {
    async explainTask(request_id) {
      const found = await readWithDetails(deps.store, request_id);
      if (!found) throw taskNotFound();
      const { state, details } = found;
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
        agent: agent ? describeAgent(agent, nowMs) : describeLostAgent(state),
        questions: listQuestions(state, details),
        ...adviseOnTask({ state, outcome, match, agent, nowMs }),
      };
    },
  };
}

function listQuestions(state: TaskState, details: TaskDetails): TaskExplanation['questions'] {
  const prompts = new Map(details.questions?.map(({ key, prompt }) => [key, prompt]));
  const kept = state.questions?.filter(({ isWithdrawn }) => !isWithdrawn) ?? [];
  return kept.map(({ key, askedMs, answeredMs }) => ({
    key,
    prompt: prompts.get(key) ?? '',
    asked_time: askedMs / 1_000,
    answered_time: toSeconds(answeredMs ?? null),
  }));
}

/**
 * An abandoned task has the match that the decision saw; a waiting task is matched now. All other tasks have
 * none.
 */
async function findMatch(deps: Deps, state: TaskState): Promise<TaskMatch | null> {
  if (state.seenMatch) return await readSeenMatch(deps, decodeMatch(state.seenMatch, state.task_tags));
  if (isSettled(state) || (state.delivery !== null && !state.waiting)) return null;
  const { delivery, agent_id } = state;
  if (!delivery || agent_id === null) return await matchNow(deps, state.task_tags, ANY_TASK);
  const refused = excludedAgents(delivery, agent_id, deps.store.nowMs());
  return await matchNow(deps, state.task_tags, { present: agent_id, refused });
}

/** Reads the match that the decision saw. That match has no similar tags, so the present ones are added. */
async function readSeenMatch({ agentIndex }: Deps, match: TaskMatch): Promise<TaskMatch> {
  if (match.tags.every(({ agents }) => agents > 0)) return match;
  await agentIndex.refresh();
  return { ...match, tags: agentIndex.addSimilarTags(match.tags) };
}

/** The agent to which a running task is assigned. */
async function findPresentAgent(
  store: Store,
  { delivery, agent_id }: TaskState,
): Promise<PresentAgent | null> {
  if (!delivery || agent_id === null) return null;
  const agentStatus = await store.getAgentStatus(agent_id);
  if (!agentStatus) {
    const never = { contactMs: null, silentMs: null, offlineMs: null, lostMs: null };
    return { agent_id, pull: false, isOffline: true, ...never };
  }
  const { record, contact } = agentStatus;
  const { lostAfterMs, unregisteredMs } = record;
  const isLosable = lostAfterMs !== null && unregisteredMs === null;
  return {
    agent_id,
    pull: record.endpoint === PULL_ENDPOINT,
    isOffline: record.offlineMs !== null || unregisteredMs !== null,
    contactMs: contact.contactMs,
    silentMs: silentAtMs(record, contact),
    offlineMs: unregisteredMs ?? record.offlineMs ?? offlineAtMs(record, contact),
    lostMs: isLosable ? Math.max(contact.contactMs, delivery.assignedMs) + lostAfterMs : null,
  };
}

function describeAgent(
  { agent_id, contactMs, silentMs, offlineMs, lostMs }: PresentAgent,
  nowMs: number,
): TaskAgent {
  return {
    agent_id,
    contact_time: toSeconds(contactMs),
    silent_seconds: contactMs === null ? null : Math.max(0, nowMs - contactMs) / 1_000,
    silent_time: toSeconds(silentMs),
    offline_time: toSeconds(offlineMs),
    lost_time: toSeconds(lostMs),
  };
}

/** Describes the agent that was lost with the task, as the decision saw it; null if none was lost. */
function describeLostAgent(state: TaskState): TaskAgent | null {
  const contactMs = lostContactMs(state);
  if (contactMs === null || state.settledMs === null) return null;
  return {
    agent_id: state.agent_id ?? '',
    contact_time: toSeconds(contactMs),
    silent_seconds: (state.settledMs - contactMs) / 1_000,
    silent_time: null,
    offline_time: null,
    lost_time: toSeconds(state.settledMs),
  };
}

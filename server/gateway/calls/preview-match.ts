/**
 * `previewMatch`: which agents a task with these tags would find now. It changes nothing.
 *
 * A call costs reading the agents that changed since the last refresh, a match
 * (`agents/ranking/nearest-agents.ts`), and one read for each agent it names, at most twenty. Its cost grows
 * neither with the number of tasks nor with that of agents.
 */
import { isFailing } from '../../domain/match.ts';
import { adviseOnMatch } from '../../domain/match-advice.ts';
import { ANY_TASK, type MatchAgent, type MatchedTask, type TaskMatch } from '../../domain/task-match.ts';
import type { Gateway } from '../../ports/gateway.ts';
import type { Store } from '../../ports/store.ts';
import type { AgentIndex } from '../agents/ranking/agent-index.ts';

type Deps = { readonly store: Store; readonly agentIndex: AgentIndex };

export function createPreviewMatch(deps: Deps): Pick<Gateway, 'previewMatch'> {
  return {
    async previewMatch(task_tags) {
      const match = await matchNow(deps, task_tags, ANY_TASK);
      return { match, ...adviseOnMatch(match, null) };
    },
  };
}

/** Matches by the newest copy of the agents, and adds their last contacts from the store. */
export async function matchNow(
  { store, agentIndex }: Deps,
  tags: readonly string[],
  task: MatchedTask,
): Promise<TaskMatch> {
  await agentIndex.refresh();
  const match = agentIndex.match(tags, task, { nowMs: store.nowMs(), live: true });
  return { ...match, agents: await Promise.all(match.agents.map((agent) => addContact(store, agent))) };
}

/** A contact does not count as a change of an agent, so the copy may have an older one. */
async function addContact(store: Store, agent: MatchAgent): Promise<MatchAgent> {
  const contact = (await store.getAgentStatus(agent.agent_id))?.contact;
  if (!contact) return agent;
  return { ...agent, push_failing: isFailing({ contact }), last_contact_time: contact.contactMs / 1_000 };
}

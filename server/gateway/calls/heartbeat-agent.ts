/** `heartbeatAgent`: an agent says that it is there, which tasks it has, and whether it takes more. */
import { agentState } from '../../domain/agent.ts';
import type { Gateway } from '../../ports/gateway.ts';
import type { Store } from '../../ports/store.ts';
import { acknowledgeNamed, listCancelled } from '../agents/assignments.ts';
import type { ExternalLoads } from '../agents/external-load.ts';
import type { RegisteredAgents } from '../agents/registered-agents.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';

type Deps = {
  readonly store: Store;
  readonly commits: TaskCommits;
  readonly agents: RegisteredAgents;
  readonly externalLoads: ExternalLoads;
};

export function createHeartbeatAgent(deps: Deps): Pick<Gateway, 'heartbeatAgent'> {
  const { store, agents } = deps;
  return {
    async heartbeatAgent({ agent_id, current_load, request_ids, draining, ...sent }) {
      const found = await agents.noteContact(agent_id, { by: 'beat' });
      // If a newer process has registered under this agent_id, this heartbeat must not drain it, change its
      // load or keep tasks for it.
      const { registration = found.registration } = sent;
      const agentStatus = await agents.changeRecord(
        { agent_id, registration },
        async (record, { slots }) => ({
          ...record,
          ...(draining !== undefined && { draining }),
          ...(current_load !== undefined && {
            external: await deps.externalLoads.read(
              { agent_id, current_load, request_ids },
              slots,
              record.external,
            ),
          }),
        }),
      );
      const isPresent = registration === agentStatus.record.registration;
      if (request_ids && isPresent) await acknowledgeNamed(deps, { agent_id, registration }, request_ids);
      return {
        ok: true,
        agent_id,
        state: agentState(agentStatus.record, agentStatus.slots),
        cancelled_request_ids: await listCancelled(store, agent_id, request_ids),
        ...(sent.registration !== undefined && !isPresent && { replaced: true }),
      };
    },
  };
}

/**
 * Finds registered agents, records their contacts and changes their records. Every call of an agent is a
 * contact. If the agent was offline, its contact brings it back. A contact alone is no commit; coming back
 * is.
 */
import { type AgentFields, type AgentRecord, completeAgent } from '../../domain/agent.ts';
import { GatewayError } from '../../ports/gateway.ts';
import type { Observer } from '../../ports/observer.ts';
import { type AgentStatus, agentRef, type Store, type Touch } from '../../ports/store.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import { makeUnacknowledgedDue } from './assignments.ts';

export type RegisteredAgents = {
  /** Resolves with undefined if the agent is not registered now. */
  findIfRegistered(agent_id: string): Promise<AgentStatus | undefined>;
  /**
   * Records a call of the agent, brings it back if it was offline, and returns its record. Throws
   * `agent_not_found`.
   */
  noteContact(agent_id: string, touch: Touch): Promise<AgentRecord>;
  /** Like `noteContact`, but resolves with undefined if the agent is not registered. */
  noteContactIfRegistered(agent_id: string, touch: Touch): Promise<AgentRecord | undefined>;
  /**
   * Changes an agent's record, and makes the sweeper look at the agent next. Nothing is committed if the
   * record stays the same, or if the agent has registered again since `registration`. Resolves with the agent
   * as it is afterwards. Throws `agent_not_found`.
   */
  changeRecord(
    of: Pick<AgentRecord, 'agent_id'> & { readonly registration?: string },
    change: (record: AgentRecord, agentStatus: AgentStatus) => AgentFields | Promise<AgentFields>,
  ): Promise<AgentStatus>;
};

type Deps = {
  readonly store: Store;
  readonly commits: TaskCommits;
  readonly observer: Pick<Observer, 'noteAgent'>;
};

export function createRegisteredAgents({ store, commits, observer }: Deps): RegisteredAgents {
  const findIfRegistered: RegisteredAgents['findIfRegistered'] = async (agent_id) => {
    const agentStatus = await store.getAgentStatus(agent_id);
    return agentStatus && isRegistered(agentStatus.record) ? agentStatus : undefined;
  };

  const changeRecord: RegisteredAgents['changeRecord'] = ({ agent_id, registration }, change) =>
    commits.retryCommit(async (notAfterMs) => {
      const agentStatus = await findIfRegistered(agent_id);
      if (!agentStatus) throw agentNotFound();
      if (registration !== undefined && registration !== agentStatus.record.registration) return agentStatus;
      const record = completeAgent(await change(agentStatus.record, agentStatus));
      if (isSameRecord(record, agentStatus.record)) return agentStatus;
      const result = await store.commit({
        writes: [{ kind: 'agent', id: agent_id, expect: agentStatus.revision, value: record }],
        due: [{ ref: agentRef(agent_id), atMs: store.nowMs() }],
        notAfterMs,
      });
      return result.ok ? { ...agentStatus, record, revision: result.revision } : undefined;
    });

  /** Brings back an agent that is offline. After a 410, only a heartbeat or a registration does that. */
  async function bringBack(record: AgentRecord, by: Touch['by']): Promise<AgentRecord> {
    const { offlineMs, left: answered410 } = record;
    if (offlineMs === null || (answered410 && by !== 'beat')) return record;
    const back = await changeRecord(record, (current) => ({ ...current, offlineMs: null, left: false }));
    if (back.record.registration !== record.registration) return back.record;
    observer.noteAgent('back', back.record);
    // After its 410 the agent got no pushes, so its tasks are due now.
    if (answered410) await makeUnacknowledgedDue({ store, commits }, record.agent_id);
    return back.record;
  }

  /**
   * An unregistered agent may be touched too, because its record stays a while. Such a touch has no effect.
   */
  const noteContactIfRegistered: RegisteredAgents['noteContactIfRegistered'] = async (agent_id, touch) => {
    const record = await store.touch(agent_id, touch);
    if (!record || !isRegistered(record)) return undefined;
    try {
      return await bringBack(record, touch.by);
    } catch (error) {
      // The commit of the report or of the output decides the response. The next call brings the agent back.
      if (touch.by === 'call' && touch.mayBeLate && error instanceof GatewayError) return record;
      throw error;
    }
  };

  return {
    findIfRegistered,
    changeRecord,
    noteContactIfRegistered,
    async noteContact(agent_id, touch) {
      const record = await noteContactIfRegistered(agent_id, touch);
      if (!record) throw agentNotFound();
      return record;
    },
  };
}

export function agentNotFound(): GatewayError {
  return new GatewayError(
    'agent_not_found',
    'No agent is registered under this agent_id. Register it with POST /api/agent/register, then repeat the call.',
  );
}

/**
 * Throws `agent_not_found` if the agent is not registered, else `agent_mismatch`: another agent has the task.
 */
export async function refuseStranger(
  { agents }: { readonly agents: RegisteredAgents },
  agent_id: string,
): Promise<never> {
  if (!(await agents.findIfRegistered(agent_id))) throw agentNotFound();
  throw new GatewayError(
    'agent_mismatch',
    'The task is not assigned to this agent. Report only tasks that were delivered to it, under its own agent_id.',
  );
}

function isRegistered({ unregisteredMs }: AgentRecord): boolean {
  return unregisteredMs === null;
}

function isSameRecord(a: AgentRecord, b: AgentRecord): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * The registered agents: finding them, recording their contacts, changing their records. Every call of an
 * agent is a contact, and when the agent was offline, its contact brings it back. The contact itself is not a
 * commit; coming back is.
 */
import { type AgentFields, type AgentRecord, completeAgent } from '../../domain/agent.ts';
import { GatewayError } from '../../ports/gateway.ts';
import type { Observer } from '../../ports/observer.ts';
import { type AgentStatus, agentRef, type Store, type Touch } from '../../ports/store.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import { makeUnacknowledgedDue } from './assignments.ts';

export type RegisteredAgents = {
  /** The agent; undefined when it is not registered now. */
  findIfRegistered(agent_id: string): Promise<AgentStatus | undefined>;
  /**
   * Records a call of an agent, brings it back if it was offline, and returns its record. Throws
   * `agent_not_found`.
   */
  noteContact(agent_id: string, touch: Touch): Promise<AgentRecord>;
  /** The same; undefined when the agent is not registered. */
  noteContactIfRegistered(agent_id: string, touch: Touch): Promise<AgentRecord | undefined>;
  /**
   * Changes an agent's record; the sweeper looks at the agent next. If the change makes no difference, or the
   * agent has registered again since `registration`, if one is given, nothing is committed. Resolves with
   * the agent as it is then. Throws `agent_not_found`.
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

  /** After a 410 only a heartbeat or a registration brings the agent back. */
  async function bringBack(record: AgentRecord, by: Touch['by']): Promise<AgentRecord> {
    const { offlineMs, left: answered410 } = record;
    if (offlineMs === null || (answered410 && by !== 'beat')) return record;
    const back = await changeRecord(record, (current) => ({ ...current, offlineMs: null, left: false }));
    if (back.record.registration !== record.registration) return back.record;
    observer.noteAgent('back', back.record);
    // It was not pushed to since its 410.
    if (answered410) await makeUnacknowledgedDue({ store, commits }, record.agent_id);
    return back.record;
  }

  /** The record of an unregistered agent may be touched too: its contact has no consequence any more. */
  const noteContactIfRegistered: RegisteredAgents['noteContactIfRegistered'] = async (agent_id, touch) => {
    const record = await store.touch(agent_id, touch);
    if (!record || !isRegistered(record)) return undefined;
    try {
      return await bringBack(record, touch.by);
    } catch (error) {
      // Beside a report or output its own commit decides the response. The next call brings the agent back.
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

/** The error when an agent is not registered. */
export function agentNotFound(): GatewayError {
  return new GatewayError(
    'agent_not_found',
    'No agent is registered under this agent_id. Register it with POST /api/agent/register, then repeat the call.',
  );
}

/** Refuses an agent that acts on a task which another agent has, or that is not registered at all. */
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

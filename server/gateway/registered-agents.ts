/**
 * An agent's presence: every call of an agent is contact, and contact brings an offline agent back. Contact itself is
 * not a commit; coming back is.
 */
import { type AgentFields, type AgentRecord, completeAgent } from '../domain/agent.ts';
import { GatewayError } from '../ports/gateway.ts';
import type { AgentStatus, Store, Touch } from '../ports/store.ts';
import { agentRef, type Transitions } from './commit-step.ts';

export type RegisteredAgents = {
  /** An agent that is registered now; refuses with `agent_not_found`. */
  find(agent_id: string): Promise<AgentStatus>;
  /** The same, or undefined. */
  findIfRegistered(agent_id: string): Promise<AgentStatus | undefined>;
  /** Notes a call of a registered agent and revives it if it was offline. Returns the agent as it stands then. */
  noteContact(agent_id: string, touch: Touch): Promise<AgentStatus>;
  /** The same, or undefined for an agent that is not registered. */
  noteContactIfRegistered(agent_id: string, touch: Touch): Promise<AgentStatus | undefined>;
  /** Brings an offline agent back; one that answered 410 comes back by a heartbeat alone (or by registering). */
  revive(agentStatus: AgentStatus, by: Touch['by']): Promise<AgentStatus>;
  /** Changes a registered agent's record; the sweeper looks at it next. A change to nothing commits nothing. */
  change(
    agent_id: string,
    change: (record: AgentRecord, agentStatus: AgentStatus) => AgentFields,
  ): Promise<AgentStatus>;
};

/** Creates the agents' presence over a store. */
export function createRegisteredAgents(deps: { store: Store; transitions: Transitions }): RegisteredAgents {
  const { store, transitions } = deps;

  async function findIfRegistered(agent_id: string): Promise<AgentStatus | undefined> {
    return registered(await store.getAgentStatus(agent_id));
  }

  /** An unregistered agent's record may be touched as well: nothing looks at its contact any more. */
  async function noteContactIfRegistered(agent_id: string, touch: Touch): Promise<AgentStatus | undefined> {
    const agentStatus = registered(await store.touch(agent_id, touch));
    return agentStatus && (await revive(agentStatus, touch.by));
  }

  async function find(agent_id: string): Promise<AgentStatus> {
    const agentStatus = await findIfRegistered(agent_id);
    if (!agentStatus) throw agentNotFound();
    return agentStatus;
  }

  async function change(
    agent_id: string,
    decide: (record: AgentRecord, agentStatus: AgentStatus) => AgentFields,
  ): Promise<AgentStatus> {
    return await transitions.retry(async (notAfterMs) => {
      const agentStatus = await find(agent_id);
      const record = completeAgent(decide(agentStatus.record, agentStatus));
      if (isSameRecord(record, agentStatus.record)) return agentStatus;
      const outcome = await store.commit({
        writes: [{ kind: 'agent', id: agent_id, expect: agentStatus.revision, value: record }],
        due: [{ ref: agentRef(agent_id), atMs: store.nowMs() }],
        notAfterMs,
      });
      return outcome.ok ? { ...agentStatus, record, revision: outcome.revision } : undefined;
    });
  }

  async function revive(agentStatus: AgentStatus, by: Touch['by']): Promise<AgentStatus> {
    const { agent_id, offlineMs, left } = agentStatus.record;
    if (offlineMs === null || (left && by !== 'beat')) return agentStatus;
    return await change(agent_id, (record) => ({ ...record, offlineMs: null, left: false }));
  }

  return {
    findIfRegistered,
    find,
    change,
    revive,
    noteContactIfRegistered,
    async noteContact(agent_id, touch) {
      const agentStatus = await noteContactIfRegistered(agent_id, touch);
      if (!agentStatus) throw agentNotFound();
      return agentStatus;
    },
  };
}

/** The refusal for an agent that is not registered (§4.6, §7). */
export function agentNotFound(): GatewayError {
  return new GatewayError(
    'agent_not_found',
    'No agent is registered under this agent_id. Register it with POST /api/agent/register, then repeat the call.',
  );
}

function registered(agentStatus: AgentStatus | undefined): AgentStatus | undefined {
  return agentStatus?.record.unregisteredMs === null ? agentStatus : undefined;
}

function isSameRecord(a: AgentRecord, b: AgentRecord): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

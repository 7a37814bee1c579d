/**
 * An agent's presence: every call of an agent is contact, and contact brings an offline agent back. Contact itself is
 * not a commit; coming back is.
 */
import { type AgentFacts, type AgentRecord, completeAgent } from '../domain/agent.ts';
import { GatewayError } from '../ports/gateway.ts';
import type { Standing, Store, Touch } from '../ports/store.ts';
import { agentRef, type Transitions } from './transition.ts';

export type Contacts = {
  /** An agent that is registered now; refuses with `agent_not_found`. */
  find(agentId: string): Promise<Standing>;
  /** The same, or undefined. */
  lookUp(agentId: string): Promise<Standing | undefined>;
  /** Notes a call of a registered agent and revives it if it was offline. Returns the agent as it stands then. */
  note(agentId: string, touch: Touch): Promise<Standing>;
  /** The same, or undefined for an agent that is not registered. */
  noteIfRegistered(agentId: string, touch: Touch): Promise<Standing | undefined>;
  /** Brings an offline agent back; one that answered 410 comes back by a heartbeat alone (or by registering). */
  revive(standing: Standing, by: Touch['by']): Promise<Standing>;
  /** Changes a registered agent's record; the sweeper looks at it next. A change to nothing commits nothing. */
  change(agentId: string, change: (record: AgentRecord, standing: Standing) => AgentFacts): Promise<Standing>;
};

/** Creates the agents' presence over a store. */
export function createContacts(deps: { store: Store; transitions: Transitions }): Contacts {
  const { store, transitions } = deps;

  async function lookUp(agentId: string): Promise<Standing | undefined> {
    return registered(await store.standing(agentId));
  }

  /** An unregistered agent's record may be touched as well: nothing looks at its contact any more. */
  async function noteIfRegistered(agentId: string, touch: Touch): Promise<Standing | undefined> {
    const standing = registered(await store.touch(agentId, touch));
    return standing && (await revive(standing, touch.by));
  }

  async function find(agentId: string): Promise<Standing> {
    const standing = await lookUp(agentId);
    if (!standing) throw agentNotFound();
    return standing;
  }

  async function change(
    agentId: string,
    decide: (record: AgentRecord, standing: Standing) => AgentFacts,
  ): Promise<Standing> {
    return await transitions.retry(async (notAfterMs) => {
      const standing = await find(agentId);
      const record = completeAgent(decide(standing.record, standing));
      if (isSameRecord(record, standing.record)) return standing;
      const outcome = await store.commit({
        writes: [{ kind: 'agent', id: agentId, expect: standing.revision, value: record }],
        due: [{ ref: agentRef(agentId), atMs: store.nowMs() }],
        notAfterMs,
      });
      return outcome.ok ? { ...standing, record, revision: outcome.revision } : undefined;
    });
  }

  async function revive(standing: Standing, by: Touch['by']): Promise<Standing> {
    const { agent_id, offlineMs, left } = standing.record;
    if (offlineMs === null || (left && by !== 'beat')) return standing;
    return await change(agent_id, (record) => ({ ...record, offlineMs: null, left: false }));
  }

  return {
    lookUp,
    find,
    change,
    revive,
    noteIfRegistered,
    async note(agentId, touch) {
      const standing = await noteIfRegistered(agentId, touch);
      if (!standing) throw agentNotFound();
      return standing;
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

function registered(standing: Standing | undefined): Standing | undefined {
  return standing?.record.unregisteredMs === null ? standing : undefined;
}

function isSameRecord(a: AgentRecord, b: AgentRecord): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

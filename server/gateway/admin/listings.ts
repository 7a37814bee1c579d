/**
 * The list of all agents, which are read as their reader takes them.
 */
import { yieldToEventLoop } from '../../async/waiting.ts';
import { agentLoad, agentState, isFull } from '../../domain/agent.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AgentListing, Gateway } from '../../ports/gateway.ts';
import type { AgentStatus, Store } from '../../ports/store.ts';
import { limitTime } from '../deadline.ts';

/** Agents that are read and described before everything else goes on. */
const AGENTS_PER_TURN = 100;
const SHOWN_IDS_MAX = 100;

type Deps = { readonly store: Store; readonly clock: Clock };
type AgentsPage = { readonly agents: readonly AgentListing[]; readonly next: string | null };

/** Creates the operation. */
export function createListings({ store, clock }: Deps): Pick<Gateway, 'listAgents'> {
  const { readSome } = limitTime(clock, { readSome: (after: string | null) => readAgents(store, after) });
  return {
    async *listAgents() {
      let after: string | null = null;
      do {
        const page: AgentsPage = await readSome(after);
        yield* page.agents;
        after = page.next;
        if (after !== null) await yieldToEventLoop();
      } while (after !== null);
    },
  };
}

/** Reads and describes the next agents; `next` is null at the end. */
async function readAgents(store: Store, after: string | null): Promise<AgentsPage> {
  const range = { limit: AGENTS_PER_TURN, ...(after !== null && { after }) };
  const { items, next } = await store.list('agents', {}, range);
  const registered = items.filter(({ record }) => record.unregisteredMs === null);
  return {
    agents: await Promise.all(registered.map((agentStatus) => describeAgent(store, agentStatus))),
    next,
  };
}

async function describeAgent(store: Store, { record, slots, contact }: AgentStatus): Promise<AgentListing> {
  const { agent_id } = record;
  const shown = slots > 0 ? await store.list('slots', { agent_id }, { limit: SHOWN_IDS_MAX }) : null;
  return {
    agent_id,
    endpoint: record.endpoint,
    agent_tags: record.agent_tags,
    state: agentState(record, slots),
    full: isFull(record, slots),
    eligible: slots < record.limit,
    max_concurrent: record.max_concurrent,
    current_load: agentLoad(record, slots),
    running: slots,
    running_request_ids: shown?.items.map(({ request_id }) => request_id) ?? [],
    registered_time: record.registeredMs / 1_000,
    last_contact_time: contact.contactMs / 1_000,
    push: { last_status: contact.push?.status ?? null, last_error: contact.push?.error ?? null },
  };
}

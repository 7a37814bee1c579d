/**
 * The port's listings: slots, waiting tasks and agents from memory, tasks and unreported tasks from key
 * ranges of the file. Each listing waits until every commit decided before the call is durable, so that no
 * item depends on a commit that may be lost. Beside them the demand: counts for the operator, which do not
 * wait.
 */
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { AgentStatus, Demand, Lists, Page } from '../../ports/store.ts';
import type { Generation } from './generation.ts';
import type { Contacts } from './memory/contacts.ts';
import {
  agentListing,
  LISTING_ALL,
  lastPart,
  padMs,
  type Range,
  rangeOf,
  sessionListing,
  unreportedListing,
} from './sqlite/row-keys.ts';

/** At most `limit` items, beginning after the given position. */
type PageRequest = { readonly after?: string; readonly limit: number };
type Positioned<T> = { readonly item: T; readonly position: string };

/** An agent's status as it is in memory; undefined without a record. */
export function buildAgentStatus(
  generation: Generation,
  contacts: Contacts,
  agent_id: string,
): AgentStatus | undefined {
  const entry = generation.agents.get(agent_id);
  if (!entry) return undefined;
  return {
    record: entry.record,
    revision: entry.revision,
    slots: generation.agents.slots.count(agent_id),
    lastGrantMs: contacts.lastGrantMs(agent_id),
    contact: contacts.contactOf(agent_id),
  };
}

/** Reads one page of a listing. */
export async function listPage<Q extends keyof Lists>(
  generation: Generation,
  contacts: Contacts,
  nowMs: number,
  query: Q,
  filter: Lists[Q]['ask'],
  page: PageRequest,
): Promise<Page<Lists[Q]['item']>> {
  const seq = generation.commits.lastSeq();
  // One item more than the page shows whether another page follows.
  const extended = { ...page, limit: page.limit + 1 };
  const fromMemory = listFromMemory(generation, contacts, query, filter, extended);
  await generation.commits.whenDurable(seq);
  const found = fromMemory ?? (await listFromFile(generation, nowMs, query, filter, extended));
  const items = found.slice(0, page.limit);
  const next = found.length > page.limit ? (items.at(-1)?.position ?? null) : null;
  return { items: items.map(({ item }) => item) as Lists[Q]['item'][], next };
}

type AnyItem = Lists[keyof Lists]['item'];

/** Undefined for the listings that are read from the file. */
function listFromMemory<Q extends keyof Lists>(
  generation: Generation,
  contacts: Contacts,
  query: Q,
  filter: Lists[Q]['ask'],
  { after, limit }: PageRequest,
): readonly Positioned<AnyItem>[] | undefined {
  switch (query) {
    case 'slots': {
      const { agent_id } = filter as Lists['slots']['ask'];
      return generation.agents.slots.list(agent_id, after, limit).map(wrapTask);
    }
    case 'waiting': {
      const { tags } = filter as Lists['waiting']['ask'];
      return generation.waiting.list(tags, after, limit).map(wrapTask);
    }
    case 'agents':
      return generation.agents.list(after, limit).flatMap((agent_id) => {
        const item = buildAgentStatus(generation, contacts, agent_id);
        return item ? [{ item, position: agent_id }] : [];
      });
    default:
      return undefined;
  }
}

type ListedTask = { readonly request_id: string; readonly position: string };

function wrapTask({ request_id, position }: ListedTask): Positioned<AnyItem> {
  return { item: { request_id }, position };
}

/** Newest first: the ranges are read in reverse. */
async function listFromFile<Q extends keyof Lists>(
  generation: Generation,
  nowMs: number,
  query: Q,
  filter: Lists[Q]['ask'],
  { after, limit }: PageRequest,
): Promise<readonly Positioned<AnyItem>[]> {
  if (query === 'unreported') {
    const listing = unreportedListing((filter as Lists['unreported']['ask']).agent_id);
    const from = `${listing}/${padMs(nowMs - STORE_LIMITS.unreportedMs + 1)}/`;
    const range = { from, to: rangeOf(listing).to };
    return await readNewest(generation, listing, range, after, limit, (request_id) => ({ request_id }));
  }
  const { session, agent_id } = filter as Lists['tasks']['ask'];
  const listing =
    session !== undefined
      ? sessionListing(session)
      : agent_id !== undefined
        ? agentListing(agent_id)
        : LISTING_ALL;
  return await readNewest(generation, listing, rangeOf(listing), after, limit, (request_id, position) => ({
    request_id,
    position,
  }));
}

async function readNewest(
  generation: Generation,
  listing: string,
  range: Range,
  after: string | undefined,
  limit: number,
  createItem: (request_id: string, position: string) => AnyItem,
): Promise<readonly Positioned<AnyItem>[]> {
  const to = after === undefined ? range.to : `${listing}/${after}`;
  const rows = to > range.from ? await generation.storage.scan({ from: range.from, to }, limit, true) : [];
  return rows.map(([key]) => {
    const position = key.slice(listing.length + 1);
    return { item: createItem(lastPart(key), position), position };
  });
}

/** How many tasks are open and wait, and at most so many of the tags that these ask for. */
export function readDemand({ tasks, waiting }: Generation, tagsMax: number): Demand {
  return {
    openTasks: tasks.size,
    waitingTasks: waiting.count(),
    oldestWaitingMs: waiting.oldestMs(),
    tags: waiting.tags(tagsMax),
  };
}

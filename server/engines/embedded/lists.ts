/**
 * The port's listings: slots, waiting and open tasks and agents from memory, other tasks from key ranges of
 * the file. Each listing waits until every commit decided before the call is durable, so that no
 * item depends on a commit that may be lost. Beside them the demand: counts for the operator, which do not
 * wait.
 */
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { AgentStatus, Demand, Lists, Page, TasksAsk } from '../../ports/store.ts';
import type { Generation } from './generation.ts';
import type { Contacts } from './memory/contacts.ts';
import type { PositionRange } from './memory/open-positions.ts';
import {
  agentListing,
  LISTING_ALL,
  lastPart,
  outcomeListing,
  padMs,
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
    case 'tasks': {
      const ask = filter as TasksAsk;
      if (ask.open === undefined) return undefined;
      return listOpen(generation, ask.open, rangeOfPositions(ask, after), limit).map((item) => ({
        item,
        position: item.position,
      }));
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

function listOpen(
  { waiting, openPositions }: Generation,
  open: NonNullable<TasksAsk['open']>,
  range: PositionRange,
  limit: number,
): readonly ListedTask[] {
  if (open === 'waiting') return waiting.listNewest(range, limit);
  return openPositions.list(open === true ? ['pending', 'running'] : [open], range, limit);
}

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
    const range = { from: `${padMs(nowMs - STORE_LIMITS.unreportedMs + 1)}/`, below: after };
    return await readNewest(generation, listing, range, limit, (request_id) => ({ request_id }));
  }
  const ask = filter as TasksAsk;
  const range = rangeOfPositions(ask, after);
  return await readNewest(generation, listingOf(ask), range, limit, (request_id, position) => ({
    request_id,
    position,
  }));
}

function listingOf({ session, agent_id, outcome }: TasksAsk): string {
  if (session !== undefined) return sessionListing(session);
  if (agent_id !== undefined) return agentListing(agent_id);
  return outcome === undefined ? LISTING_ALL : outcomeListing(outcome);
}

/** The positions of tasks that were created in this time, and that follow in a listing, newest first. */
function rangeOfPositions({ fromMs, toMs }: TasksAsk, after: string | undefined): PositionRange {
  const end = toMs === undefined ? after : padMs(toMs);
  const below = after !== undefined && end !== undefined && after < end ? after : end;
  return { from: fromMs === undefined ? '' : padMs(fromMs), below };
}

async function readNewest(
  generation: Generation,
  listing: string,
  { from, below }: PositionRange,
  limit: number,
  createItem: (request_id: string, position: string) => AnyItem,
): Promise<readonly Positioned<AnyItem>[]> {
  const all = rangeOf(listing);
  const range = { from: `${all.from}${from}`, to: below === undefined ? all.to : `${all.from}${below}` };
  const rows = range.to > range.from ? await generation.storage.scan(range, limit, true) : [];
  return rows.map(([key]) => {
    const position = key.slice(listing.length + 1);
    return { item: createItem(lastPart(key), position), position };
  });
}

/** How many tasks are open and wait, and at most so many of the tags that these ask for. */
export function readDemand({ tasks, waiting }: Generation, tagsMax: number): Demand {
  return {
    openTasks: tasks.count(),
    waitingTasks: waiting.count(),
    oldestWaitingMs: waiting.oldestMs(),
    tagsTotal: waiting.countTags(),
    tags: waiting.tags(tagsMax),
  };
}

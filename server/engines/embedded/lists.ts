/**
 * The port's listings: slots, agents and all that is listed of open tasks from memory, other tasks from key
 * ranges of the file. Each listing waits until every commit decided before the call is durable, so that no
 * item depends on a commit that may be lost.
 */
import { HANDED_OUT_MAX, STORE_LIMITS } from '../../ports/limits.ts';
import type { AgentStatus, Claimable, Lists, Page, TasksAsk } from '../../ports/store.ts';
import type { Contacts } from '../contacts.ts';
import type { Generation } from './generation.ts';
import type { Indexes, KeyRange } from './memory/indexes.ts';
import { type Row, scanIntact } from './storage/ordered-storage.ts';
import { lastPart, listingOf, padMs, rangeOf } from './storage/row-keys.ts';

/** At most `limit` items, beginning after the given position. */
type PageRequest = { readonly after?: string; readonly limit: number };
type Positioned<T> = { readonly item: T; readonly position: string };

/** The only part of an index without parts. */
const WHOLE: readonly string[] = [''];
/** A task has a key with this time until it is handed out. */
const FRESH = rangeOf(padMs(0));

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

/** Undefined for listings from the file. */
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
      return generation.agents.slots
        .list(agent_id, after, limit)
        .map(({ request_id, position }) => ({ item: { request_id }, position }));
    }
    case 'waiting': {
      const { tags } = filter as Lists['waiting']['ask'];
      const [index, parts] = tags ? (['waiting-for', tags] as const) : (['waiting', WHOLE] as const);
      return generation.indexes
        .list(index, parts, { after, below: undefined }, limit)
        .map((position) => ({ item: { request_id: lastPart(position) }, position }));
    }
    case 'waitingForAnswer':
      return generation.indexes
        .list('waiting-for-answer', WHOLE, { after, below: undefined }, limit)
        .map(positionTask);
    case 'tasks': {
      const ask = filter as TasksAsk;
      if (ask.open === undefined) return undefined;
      const [index, parts] = openPartsOf(ask.open);
      return generation.indexes
        .list(index, parts, rangeOfPositions(ask, after), limit, 'descending')
        .map(positionTask);
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

function openPartsOf(open: NonNullable<TasksAsk['open']>): readonly ['open' | 'waiting', readonly string[]] {
  if (open === 'waiting') return ['waiting', WHOLE];
  return ['open', open === true ? ['pending', 'running'] : [open]];
}

function positionTask(position: string): Positioned<AnyItem> {
  return { item: { request_id: lastPart(position), position }, position };
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
    const listing = listingOf('unreported', (filter as Lists['unreported']['ask']).agent_id);
    const range = { after: padMs(nowMs - STORE_LIMITS.unreportedMs + 1), below: after };
    return await readNewest(generation, listing, range, limit, (request_id) => ({ request_id }));
  }
  const ask = filter as TasksAsk;
  const range = rangeOfPositions(ask, after);
  return await readNewest(generation, listingFor(ask), range, limit, (request_id, position) => ({
    request_id,
    position,
  }));
}

function listingFor({ session, agent_id, outcome }: TasksAsk): string {
  if (session !== undefined) return listingOf('by-session', session);
  if (agent_id !== undefined) return listingOf('by-agent', agent_id);
  return outcome === undefined ? listingOf('all', '') : listingOf('by-outcome', outcome);
}

/** The positions of tasks from this time, as far as they follow in a listing, newest first. */
function rangeOfPositions({ fromMs, toMs }: TasksAsk, after: string | undefined): KeyRange {
  const end = toMs === undefined ? after : padMs(toMs);
  const below = after !== undefined && end !== undefined && after < end ? after : end;
  return { after: fromMs === undefined ? undefined : padMs(fromMs), below };
}

async function readNewest(
  generation: Generation,
  listing: string,
  { after = '', below }: KeyRange,
  limit: number,
  createItem: (request_id: string, position: string) => AnyItem,
): Promise<readonly Positioned<AnyItem>[]> {
  const all = rangeOf(listing);
  const range = { from: `${all.from}${after}`, to: below === undefined ? all.to : `${all.from}${below}` };
  const found = range.to > range.from ? await scanIntact(generation.storage, range, limit + 1, true) : [];
  return keepFalling(found, range.to)
    .slice(0, limit)
    .map(([key]) => {
      const position = key.slice(listing.length + 1);
      return { item: createItem(lastPart(key), position), position };
    });
}

/**
 * The rows whose keys fall, beginning below `to`: in the order of memory, or of the file, which is that of
 * UTF-8. A damaged key stands at its old place in the file. If a page ended with one that is too high, the
 * next page would begin above it, and the listing would not end.
 */
function keepFalling(rows: readonly Row[], to: string): readonly Row[] {
  let last = to;
  return rows.filter(([key]) => {
    const isBelow = key !== last && (key < last || Buffer.compare(Buffer.from(key), Buffer.from(last)) < 0);
    if (isBelow) last = key;
    return isBelow;
  });
}

/** The tasks that claims of the agent may hand out. Costs the same however many tasks the agent holds. */
export function listClaimable(indexes: Indexes, agent_id: string, nowMs: number, limit: number): Claimable {
  const read = (after: string, below: string | undefined, keysMax: number): string[] =>
    indexes.list('claimable', [agent_id], { after, below }, keysMax);
  const until = padMs(nowMs + 1);
  const keys = [...read(FRESH.to, until, HANDED_OUT_MAX), ...read(FRESH.from, FRESH.to, limit)];
  const assignmentOf = (key: string): string => key.slice(FRESH.from.length);
  const oldestFirst = keys.sort((a, b) => (assignmentOf(a) < assignmentOf(b) ? -1 : 1));
  const [next] = read(until, undefined, 1);
  return {
    request_ids: oldestFirst.slice(0, limit).map(lastPart),
    nextMs: next === undefined ? null : Number(next.slice(0, next.indexOf('/'))),
  };
}

/**
 * The listings of the port: of what is open from memory, of what is stored by key ranges. Each waits until all that
 * was decided before the call is durable, so that no item rests on a commit that may be lost.
 */
import type { AgentStatus, Lists, Page } from '../../ports/store.ts';
import { UNREPORTED_MS } from './apply.ts';
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

export type Ask = { readonly after?: string; readonly limit: number };
type Positioned<T> = { readonly item: T; readonly position: string };

/** An agent as it stands in memory; undefined without a record. */
export function describeAgent(
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

/** Answers one page of a listing. */
export async function listPage<Q extends keyof Lists>(
  generation: Generation,
  contacts: Contacts,
  nowMs: number,
  query: Q,
  ask: Lists[Q]['ask'],
  page: Ask,
): Promise<Page<Lists[Q]['item']>> {
  const seq = generation.commits.lastSeq();
  // One more than asked tells whether there is more.
  const wanted = { ...page, limit: page.limit + 1 };
  const inMemory = listFromMemory(generation, contacts, query, ask, wanted);
  await generation.commits.whenDurable(seq);
  const found = inMemory ?? (await listFromRows(generation, nowMs, query, ask, wanted));
  const items = found.slice(0, page.limit);
  const next = found.length > page.limit ? (items.at(-1)?.position ?? null) : null;
  return { items: items.map(({ item }) => item) as Lists[Q]['item'][], next };
}

type AnyItem = Lists[keyof Lists]['item'];

function listFromMemory<Q extends keyof Lists>(
  generation: Generation,
  contacts: Contacts,
  query: Q,
  ask: Lists[Q]['ask'],
  { after, limit }: Ask,
): readonly Positioned<AnyItem>[] | undefined {
  switch (query) {
    case 'slots': {
      const { agent_id } = ask as Lists['slots']['ask'];
      return generation.agents.slots.list(agent_id, after, limit).map(positionItem);
    }
    case 'waiting': {
      const { tags } = ask as Lists['waiting']['ask'];
      return generation.waiting.list(tags, after, limit).map(positionItem);
    }
    case 'agents':
      return generation.agents.list(after, limit).flatMap((position) => {
        const item = describeAgent(generation, contacts, position);
        return item ? [{ item, position }] : [];
      });
    default:
      return undefined;
  }
}

function positionItem({
  request_id,
  position,
}: {
  request_id: string;
  position: string;
}): Positioned<AnyItem> {
  return { item: { request_id }, position };
}

/** Newest first: the ranges are read from the end. */
async function listFromRows<Q extends keyof Lists>(
  generation: Generation,
  nowMs: number,
  query: Q,
  ask: Lists[Q]['ask'],
  { after, limit }: Ask,
): Promise<readonly Positioned<AnyItem>[]> {
  if (query === 'unreported') {
    const listing = unreportedListing((ask as Lists['unreported']['ask']).agent_id);
    const range = { from: `${listing}/${padMs(nowMs - UNREPORTED_MS + 1)}/`, to: rangeOf(listing).to };
    return await readNewest(generation, listing, range, after, limit, (request_id) => ({ request_id }));
  }
  const { session, agent_id } = ask as Lists['tasks']['ask'];
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
  describe: (request_id: string, position: string) => AnyItem,
): Promise<readonly Positioned<AnyItem>[]> {
  const to = after === undefined ? range.to : `${listing}/${after}`;
  const rows = to > range.from ? await generation.storage.scan({ from: range.from, to }, limit, true) : [];
  return rows.map(([key]) => {
    const position = key.slice(listing.length + 1);
    return { item: describe(lastPart(key), position), position };
  });
}

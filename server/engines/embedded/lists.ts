/**
 * The listings of the port: of what is open from memory, of what is stored by key ranges. Each waits until all that
 * was decided before the call is durable, so that no item rests on a commit that may be lost.
 */
import type { Lists, Page, Standing } from '../../ports/store.ts';
import { UNREPORTED_MS } from './apply.ts';
import type { Life } from './life.ts';
import type { Presence } from './presence.ts';
import {
  agentListing,
  LISTING_ALL,
  lastPart,
  padMs,
  type Range,
  rangeOf,
  sessionListing,
  unreportedListing,
} from './rows.ts';

export type Ask = { readonly after?: string; readonly limit: number };
type Placed<T> = { readonly item: T; readonly place: string };

/** An agent as it stands in memory; undefined without a record. */
export function describeAgent(life: Life, presence: Presence, agentId: string): Standing | undefined {
  const entry = life.agents.get(agentId);
  if (!entry) return undefined;
  return {
    record: entry.record,
    revision: entry.revision,
    held: life.agents.slots.count(agentId),
    lastGrantMs: presence.lastGrantMs(agentId),
    contact: presence.contact(agentId),
  };
}

/** Answers one page of a listing. */
export async function listPage<Q extends keyof Lists>(
  life: Life,
  presence: Presence,
  nowMs: number,
  query: Q,
  ask: Lists[Q]['ask'],
  page: Ask,
): Promise<Page<Lists[Q]['item']>> {
  const seq = life.groups.lastSeq();
  // One more than asked tells whether there is more.
  const wanted = { ...page, limit: page.limit + 1 };
  const inMemory = listFromMemory(life, presence, query, ask, wanted);
  await life.groups.whenDurable(seq);
  const found = inMemory ?? (await listFromRows(life, nowMs, query, ask, wanted));
  const items = found.slice(0, page.limit);
  const next = found.length > page.limit ? (items.at(-1)?.place ?? null) : null;
  return { items: items.map(({ item }) => item) as Lists[Q]['item'][], next };
}

type AnyItem = Lists[keyof Lists]['item'];

function listFromMemory<Q extends keyof Lists>(
  life: Life,
  presence: Presence,
  query: Q,
  ask: Lists[Q]['ask'],
  { after, limit }: Ask,
): readonly Placed<AnyItem>[] | undefined {
  switch (query) {
    case 'slots': {
      const { agentId } = ask as Lists['slots']['ask'];
      return life.agents.slots.list(agentId, after, limit).map(placeItem);
    }
    case 'waiting': {
      const { tags } = ask as Lists['waiting']['ask'];
      return life.waiters.list(tags, after, limit).map(placeItem);
    }
    case 'agents':
      return life.agents.list(after, limit).flatMap((place) => {
        const item = describeAgent(life, presence, place);
        return item ? [{ item, place }] : [];
      });
    default:
      return undefined;
  }
}

function placeItem({ request_id, place }: { request_id: string; place: string }): Placed<AnyItem> {
  return { item: { request_id }, place };
}

/** Newest first: the ranges are read from the end. */
async function listFromRows<Q extends keyof Lists>(
  life: Life,
  nowMs: number,
  query: Q,
  ask: Lists[Q]['ask'],
  { after, limit }: Ask,
): Promise<readonly Placed<AnyItem>[]> {
  if (query === 'unreported') {
    const listing = unreportedListing((ask as Lists['unreported']['ask']).agentId);
    const range = { from: `${listing}/${padMs(nowMs - UNREPORTED_MS + 1)}/`, to: rangeOf(listing).to };
    return await readNewest(life, listing, range, after, limit, (request_id) => ({ request_id }));
  }
  const { session, agentId } = ask as Lists['tasks']['ask'];
  const listing =
    session !== undefined
      ? sessionListing(session)
      : agentId !== undefined
        ? agentListing(agentId)
        : LISTING_ALL;
  return await readNewest(life, listing, rangeOf(listing), after, limit, (request_id, place) => ({
    request_id,
    place,
  }));
}

async function readNewest(
  life: Life,
  listing: string,
  range: Range,
  after: string | undefined,
  limit: number,
  describe: (request_id: string, place: string) => AnyItem,
): Promise<readonly Placed<AnyItem>[]> {
  const to = after === undefined ? range.to : `${listing}/${after}`;
  const rows = to > range.from ? await life.storage.scan({ from: range.from, to }, limit, true) : [];
  return rows.map(([key]) => {
    const place = key.slice(listing.length + 1);
    return { item: describe(lastPart(key), place), place };
  });
}

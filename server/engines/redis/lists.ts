/** The listings of the port, each a range of one sorted set, or of several that are merged. */
import type { Lists, Page } from '../../ports/store.ts';
import type { Reply } from './connect.ts';
import type { Line } from './line.ts';
import { scripts } from './scripts.ts';
import { readStanding } from './standing.ts';

type Ask = { readonly after?: string; readonly limit: number };
type AnyItem = Lists[keyof Lists]['item'];
type Placed = { readonly item: AnyItem; readonly place: string };

/** Answers one page of a listing. */
export async function listPage<Q extends keyof Lists>(
  line: Line,
  query: Q,
  ask: Lists[Q]['ask'],
  { after, limit }: Ask,
): Promise<Page<Lists[Q]['item']>> {
  const [listing, asked] = listingOf(query, ask);
  // One more than asked tells whether there is more.
  const from = after === undefined ? '' : query === 'slots' ? numberOf(after) : after;
  const reply = await line.call(scripts.list, [listing, from, String(limit + 1), ...asked]);
  const [resumed, told] = reply as readonly Reply[];
  const found = (told as readonly Reply[]).flatMap((one) => placeItem(query, resumed, one));
  const items = found.slice(0, limit);
  const next = found.length > limit ? (items.at(-1)?.place ?? null) : null;
  return { items: items.map(({ item }) => item) as Lists[Q]['item'][], next };
}

/** Which listing answers, and what of it is asked. */
function listingOf<Q extends keyof Lists>(
  query: Q,
  ask: Lists[Q]['ask'],
): readonly [listing: string, asked: readonly string[]] {
  switch (query) {
    case 'waiting':
      return ['waiting', [...new Set((ask as Lists['waiting']['ask']).tags)]];
    case 'agents':
      return ['agents', []];
    case 'tasks': {
      const { session, agentId } = ask as Lists['tasks']['ask'];
      if (session !== undefined) return ['by-session', [session]];
      return agentId !== undefined ? ['by-agent', [agentId]] : ['all', []];
    }
    default:
      return [query, [(ask as Lists['slots' | 'unreported']['ask']).agentId]];
  }
}

function placeItem(query: keyof Lists, resumed: Reply | undefined, told: Reply): readonly Placed[] {
  if (query === 'agents') {
    const [place, agent] = told as readonly Reply[];
    const item = readStanding(resumed, agent);
    return item ? [{ item, place: String(place) }] : [];
  }
  const place = String(told);
  const request_id = place.slice(place.indexOf('/') + 1);
  return [{ item: query === 'tasks' ? { request_id, place } : { request_id }, place }];
}

/** The number of the grant in a slot's place; whatever is none is before all. */
function numberOf(place: string): string {
  return /^\d+/.exec(place)?.[0] ?? '0';
}

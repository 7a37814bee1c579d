/** The listings of the port, each a range of one sorted set, or of several that are merged. */
import type { Lists, Page } from '../../ports/store.ts';
import { readAgentStatus } from './agent-status.ts';
import type { Reply } from './client.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';

type Ask = { readonly after?: string; readonly limit: number };
type AnyItem = Lists[keyof Lists]['item'];
type Positioned = { readonly item: AnyItem; readonly position: string };

/** Answers one page of a listing. */
export async function listPage<Q extends keyof Lists>(
  connection: Connection,
  query: Q,
  ask: Lists[Q]['ask'],
  { after, limit }: Ask,
): Promise<Page<Lists[Q]['item']>> {
  const [listing, asked] = listingOf(query, ask);
  // One more than asked tells whether there is more.
  const from = after === undefined ? '' : query === 'slots' ? numberOf(after) : after;
  const reply = await connection.call(scripts.list, [listing, from, String(limit + 1), ...asked]);
  const [resumed, entries] = reply as readonly Reply[];
  const found = (entries as readonly Reply[]).flatMap((one) => positionItem(query, resumed, one));
  const items = found.slice(0, limit);
  const next = found.length > limit ? (items.at(-1)?.position ?? null) : null;
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
      const { session, agent_id } = ask as Lists['tasks']['ask'];
      if (session !== undefined) return ['by-session', [session]];
      return agent_id !== undefined ? ['by-agent', [agent_id]] : ['all', []];
    }
    default:
      return [query, [(ask as Lists['slots' | 'unreported']['ask']).agent_id]];
  }
}

function positionItem(query: keyof Lists, resumed: Reply | undefined, reply: Reply): readonly Positioned[] {
  if (query === 'agents') {
    const [position, agent] = reply as readonly Reply[];
    const item = readAgentStatus(resumed, agent);
    return item ? [{ item, position: String(position) }] : [];
  }
  const position = String(reply);
  const request_id = position.slice(position.indexOf('/') + 1);
  return [{ item: query === 'tasks' ? { request_id, position } : { request_id }, position }];
}

/** The number of the grant in a slot's place; whatever is none is before all. */
function numberOf(position: string): string {
  return /^\d+/.exec(position)?.[0] ?? '0';
}

/** The listings of the port, each a range of one sorted set, or of several that are merged. */
import type { Lists, Page } from '../../ports/store.ts';
import { parseAgentStatus } from './agent-status.ts';
import type { Reply } from './client.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';

type PageOptions = { readonly after?: string; readonly limit: number };
type AnyItem = Lists[keyof Lists]['item'];
type PositionedItem = { readonly item: AnyItem; readonly position: string };

/** Reads one page of a listing. */
export async function readPage<Q extends keyof Lists>(
  connection: Connection,
  query: Q,
  ask: Lists[Q]['ask'],
  { after, limit }: PageOptions,
): Promise<Page<Lists[Q]['item']>> {
  const [listing, subjects] = findListing(query, ask);
  const from = after === undefined ? '' : query === 'slots' ? grantNumberOf(after) : after;
  // One item beyond the page shows whether there are more.
  const reply = await connection.call(scripts.list, [listing, from, String(limit + 1), ...subjects]);
  const [resumedMs, entries] = reply as readonly Reply[];
  const found = (entries as readonly Reply[]).flatMap((entry) => parseEntry(query, resumedMs, entry));
  const items = found.slice(0, limit);
  const next = found.length > limit ? (items.at(-1)?.position ?? null) : null;
  return { items: items.map(({ item }) => item) as Lists[Q]['item'][], next };
}

/** The name of the listing in Redis, and the tags, session or agent that it is about. */
function findListing<Q extends keyof Lists>(
  query: Q,
  ask: Lists[Q]['ask'],
): readonly [listing: string, subjects: readonly string[]] {
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

/** The item of an entry; none for an agent whose record is gone. */
function parseEntry(
  query: keyof Lists,
  resumedMs: Reply | undefined,
  entry: Reply,
): readonly PositionedItem[] {
  if (query === 'agents') {
    const [position, status] = entry as readonly Reply[];
    const item = parseAgentStatus(resumedMs, status);
    return item ? [{ item, position: String(position) }] : [];
  }
  const position = String(entry);
  const request_id = position.slice(position.indexOf('/') + 1);
  return [{ item: query === 'tasks' ? { request_id, position } : { request_id }, position }];
}

/** The number of the grant in the position of a slot; a text without one is before all slots. */
function grantNumberOf(position: string): string {
  return /^\d+/.exec(position)?.[0] ?? '0';
}

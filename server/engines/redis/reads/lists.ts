/** The listings of the port: each reads a range of one sorted set, or of several and merges them. */
import type { AgentStatus, Lists, Page, TasksAsk } from '../../../ports/store.ts';
import type { Reply } from '../client/client.ts';
import { padMs } from '../commit/commit-arguments.ts';
import type { Connection } from '../connection/connection.ts';
import { scripts } from '../scripts.ts';
import type { AgentStatuses } from './agent-status.ts';

type PageOptions = { readonly after?: string; readonly limit: number };

/** Reads one page of a listing. A page of agents may be short: it ends when the records have a megabyte. */
export async function readPage<Q extends keyof Lists>(
  { connection, statuses }: { readonly connection: Connection; readonly statuses: AgentStatuses },
  query: Q,
  ask: Lists[Q]['ask'],
  { after, limit }: PageOptions,
): Promise<Page<Lists[Q]['item']>> {
  const [listing, subjects] = findListing(query, ask);
  const from = findStart(query, ask, after);
  // One entry beyond the page shows whether there are more.
  const reply = await connection.call(scripts.list, [listing, from, String(limit + 1), ...subjects]);
  const [resumedMs, entries, isCut] = reply as readonly [Reply, readonly Reply[], Reply];
  const shown = entries.slice(0, limit);
  const hasMore = entries.length > limit || isCut === 1;
  const items =
    query === 'agents'
      ? shown.flatMap((entry) => parseAgent(statuses, resumedMs, entry))
      : shown.map((entry) => parseTask(query, entry));
  const last = shown.at(-1);
  return {
    items: items as readonly Lists[Q]['item'][],
    next: hasMore && last !== undefined ? positionOf(query, last) : null,
  };
}

/** The name of the listing in Redis, and its subject: tags, a session, an agent. */
function findListing<Q extends keyof Lists>(
  query: Q,
  ask: Lists[Q]['ask'],
): readonly [listing: string, subjects: readonly string[]] {
  switch (query) {
    case 'waiting':
      return findWaiting(ask as Lists['waiting']['ask']);
    case 'waitingForAnswer':
      return ['waiting-for-answer', []];
    case 'agents':
      return ['agents', []];
    case 'tasks': {
      const { fromMs } = ask as TasksAsk;
      return ['tasks', [fromMs === undefined ? '' : padMs(fromMs), ...setsOf(ask as TasksAsk)]];
    }
    default:
      return [query, [(ask as Lists['slots' | 'unreported']['ask']).agent_id]];
  }
}

function findWaiting({ tags }: Lists['waiting']['ask']): readonly [listing: string, tags: readonly string[]] {
  return tags ? ['waiting', [...new Set(tags)]] : ['waiting-tasks', []];
}

/** The sorted sets of these tasks. */
function setsOf({ session, agent_id, open, outcome }: TasksAsk): readonly string[] {
  if (session !== undefined) return [`by-session:${session}`];
  if (agent_id !== undefined) return [`by-agent:${agent_id}`];
  if (open !== undefined) return open === true ? ['pending-tasks', 'running-tasks'] : [`${open}-tasks`];
  return [outcome === undefined ? 'all' : `by-outcome:${outcome}`];
}

/** The position after which the page begins; empty: at the first item. */
function findStart<Q extends keyof Lists>(query: Q, ask: Lists[Q]['ask'], after: string | undefined): string {
  if (query === 'slots') return after === undefined ? '' : grantNumberOf(after);
  const { toMs } = query === 'tasks' ? (ask as TasksAsk) : {};
  if (toMs === undefined) return after ?? '';
  // Before all positions of this time, and behind those of every earlier one.
  const end = padMs(toMs);
  return after !== undefined && after < end ? after : end;
}

/** The item of an agent's entry; none when its record is gone or cannot be read. */
function parseAgent(statuses: AgentStatuses, resumedMs: Reply, entry: Reply): readonly AgentStatus[] {
  const [agent_id, status] = entry as readonly Reply[];
  const item = statuses.parse(String(agent_id), resumedMs, status);
  return item ? [item] : [];
}

function parseTask(query: keyof Lists, entry: Reply): Lists['tasks' | 'slots']['item'] {
  const position = String(entry);
  const request_id = position.slice(position.indexOf('/') + 1);
  return query === 'tasks' || query === 'waitingForAnswer' ? { request_id, position } : { request_id };
}

function positionOf(query: keyof Lists, entry: Reply): string {
  return String(query === 'agents' ? (entry as readonly Reply[])[0] : entry);
}

/** The number of the grant in the position of a slot; a text without one is before all slots. */
function grantNumberOf(position: string): string {
  return /^\d+/.exec(position)?.[0] ?? '0';
}

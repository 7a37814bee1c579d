/** The listings of the port. Each reads a range of one sorted set, or merges ranges of several. */
import type { Lists, Page, TasksAsk } from '../../../ports/store.ts';
import type { Reply } from '../client/client.ts';
import { padMs } from '../commit/commit-arguments.ts';
import type { Connection } from '../connection/connection.ts';
import { scripts } from '../scripts.ts';

type PageOptions = { readonly after?: string; readonly limit: number };

export async function readPage<Q extends keyof Lists>(
  connection: Connection,
  query: Q,
  ask: Lists[Q]['ask'],
  { after, limit }: PageOptions,
): Promise<Page<Lists[Q]['item']>> {
  const [listing, subjects] = findListing(query, ask);
  const from = findStart(query, ask, after);
  // One entry beyond the page shows whether more items follow.
  const reply = await connection.call(scripts.list, [listing, from, String(limit + 1), ...subjects]);
  const positions = (reply as readonly Reply[]).map(String);
  const shown = positions.slice(0, limit);
  return {
    items: shown.map((position) => parseTask(query, position)) as readonly Lists[Q]['item'][],
    next: positions.length > limit ? (shown.at(-1) ?? null) : null,
  };
}

/** Returns the name of the listing for the script, and its subjects: tags, an agent or sorted sets. */
function findListing<Q extends keyof Lists>(
  query: Q,
  ask: Lists[Q]['ask'],
): readonly [listing: string, subjects: readonly string[]] {
  switch (query) {
    case 'waiting':
      return findWaiting(ask as Lists['waiting']['ask']);
    case 'waitingForAnswer':
      return ['waiting-for-answer', []];
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

function setsOf({ session, agent_id, open, outcome }: TasksAsk): readonly string[] {
  if (session !== undefined) return [`by-session:${session}`];
  if (agent_id !== undefined) return [`by-agent:${agent_id}`];
  if (open !== undefined) return open === true ? ['pending-tasks', 'running-tasks'] : [`${open}-tasks`];
  return [outcome === undefined ? 'all' : `by-outcome:${outcome}`];
}

/** Returns the position after which the page begins; empty: the page begins with the first item. */
function findStart<Q extends keyof Lists>(query: Q, ask: Lists[Q]['ask'], after: string | undefined): string {
  if (query === 'slots') return after === undefined ? '' : grantNumberOf(after);
  const { toMs } = query === 'tasks' ? (ask as TasksAsk) : {};
  if (toMs === undefined) return after ?? '';
  // This text sorts before all positions of its time, and after those of every earlier time.
  const end = padMs(toMs);
  return after !== undefined && after < end ? after : end;
}

function parseTask(query: keyof Lists, position: string): Lists['tasks' | 'slots']['item'] {
  const request_id = position.slice(position.indexOf('/') + 1);
  return query === 'tasks' || query === 'waitingForAnswer' ? { request_id, position } : { request_id };
}

/**
 * Reads the number of the grant in the position of a slot. A text without a number comes before all slots.
 */
function grantNumberOf(position: string): string {
  return /^\d+/.exec(position)?.[0] ?? '0';
}

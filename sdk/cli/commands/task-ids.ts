/**
 * Short ids of tasks: the last characters of an id, as `task list` shows them in a narrow terminal. Only who
 * may list the tasks can use them.
 */
import type { TaskQuery } from '../../calls.ts';
import { AuthenticationError } from '../../errors.ts';
import type { Connection } from '../connection.ts';
import { createUsageError } from '../exit-codes.ts';

const SHORT_CHARS = 8;
/** A text of so many characters is a whole id. */
const WHOLE_CHARS = 36;
const PAGE_MAX = 100;
const PAGES_MAX = 10;

/** Returns the last characters of an id. They are random, so they distinguish tasks of the same moment. */
export function shortenId(request_id: string): string {
  return request_id.length < WHOLE_CHARS ? request_id : request_id.slice(-SHORT_CHARS);
}

/**
 * Returns the id of the only task, among the newest 1,000, whose id ends with the text. Returns the text
 * itself if it is a whole id, if there is no such task, or without the right admin secret. Throws a usage
 * error if there are several such tasks.
 */
export async function resolveTaskId(
  { client, adminAuth }: Pick<Connection, 'client' | 'adminAuth'>,
  text: string,
  signal: AbortSignal,
): Promise<string> {
  if (adminAuth === undefined || !/^[\da-f]{8,35}$/i.test(text)) return text;
  const found: string[] = [];
  let query: TaskQuery = { limit: PAGE_MAX };
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await client.listTasks(query, { signal }).catch(ignoreWrongSecret);
    if (!page) return text;
    const { tasks, next_cursor } = page;
    found.push(...tasks.map(({ request_id }) => request_id).filter((id) => id.endsWith(text.toLowerCase())));
    if (next_cursor === null) break;
    query = { limit: PAGE_MAX, cursor: next_cursor };
  }
  if (found.length > 1) {
    throw createUsageError(`"${text}" is the end of ${found.length} ids: give one of ${found.join(', ')}.`);
  }
  return found[0] ?? text;
}

function ignoreWrongSecret(error: unknown): undefined {
  if (!(error instanceof AuthenticationError)) throw error;
}

/**
 * Short ids of tasks: the last characters of an id, as `task list` shows them in a narrow terminal. Only
 * somebody who may list tasks can use them.
 */
import { AuthenticationError, NotFoundError } from '../../errors.ts';
import type { Connection } from '../connection.ts';
import { createUsageError } from '../exit-codes.ts';

const SHORT_CHARS = 8;
/** How many characters a whole id has. */
const WHOLE_CHARS = 36;
/** How many ids an error names, if several end the same. */
const NAMED_MAX = 10;

/** Returns the last characters of an id, which are random: even tasks of the same moment differ in them. */
export function shortenId(request_id: string): string {
  return request_id.length < WHOLE_CHARS ? request_id : request_id.slice(-SHORT_CHARS);
}

/**
 * Returns the id of the only task whose id ends with the text; the gateway finds it. Returns the text itself
 * if it is a whole id, if there is no such task, or without the right admin secret. Throws a usage error if
 * there are several such tasks.
 */
export async function resolveTaskId(
  { client, adminAuth }: Pick<Connection, 'client' | 'adminAuth'>,
  text: string,
  signal: AbortSignal,
): Promise<string> {
  if (adminAuth === undefined || !/^[\da-f]{8,35}$/i.test(text)) return text;
  const query = { id: text.toLowerCase(), limit: NAMED_MAX };
  const page = await client.listTasks(query, { signal }).catch(ignoreRefusal);
  const found = page?.tasks.map(({ request_id }) => request_id) ?? [];
  if (found.length > 1) {
    throw createUsageError(`"${text}" is the end of several ids: give one of ${found.join(', ')}.`);
  }
  return found[0] ?? text;
}

function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof AuthenticationError) && !(error instanceof NotFoundError)) throw error;
}

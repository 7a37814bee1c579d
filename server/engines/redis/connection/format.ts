/**
 * The format of a store on Redis: what the names of its keys begin with, and the version of what they hold.
 * It stands in the key `format`, written with the store. Version 1 had no such key and other names; a store
 * of another version is refused and stays as it is.
 */
import { isErrorReply, type RedisClient } from '../client/client.ts';
import { UnusableServer } from '../client/durability.ts';

/** In braces, so that all keys of a store live in one slot of a cluster. */
export const PREFIX = '{task-gateway2}:';
export const FORMAT = '2';
/** A key that each store of version 1 has. */
const KEY_OF_VERSION_1 = '{task-gateway}:epoch';

/** Throws `UnusableServer` for a store whose format is another one. */
export function requireFormat(format: string, peer: string, database: number): void {
  if (format === FORMAT) return;
  throw new UnusableServer(
    `Database ${database} of ${peer} has format version ${format}, this gateway reads version ${FORMAT}. Start the ` +
      'gateway that wrote it; to go on with this one, let that one end its tasks, and name another database.',
  );
}

/**
 * Throws `UnusableServer` where a store of version 1 is in the same database: its tasks would be left behind.
 * A user who may not read its keys has none to leave.
 */
export async function requireNoVersion1(client: RedisClient, database: number): Promise<void> {
  try {
    if ((await client.send(['EXISTS', KEY_OF_VERSION_1])) === 1) requireFormat('1', client.peer, database);
  } catch (error) {
    if (!isErrorReply(error)) throw error;
  }
}

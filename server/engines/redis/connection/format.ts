/**
 * The format of a store on Redis: what the names of its keys begin with, and the version of what they hold.
 * It stands in the key `format`, written with the store. Version 1 had no such key and other names; a store
 * whose version this gateway does not read is refused and stays as it is.
 *
 * A new version means what it means in a file (`sqlite/file-format.ts`): gateways before it must not
 * write to the store any more. The first one that opens it raises its version and gives it a new epoch, which
 * cuts those that run already off; each of them then finds a version that it does not read, and says so.
 */
import { isErrorReply, type RedisClient } from '../client/client.ts';
import { UnusableServer } from '../client/durability.ts';

/** In braces, so that all keys of a store live in one slot of a cluster. */
export const PREFIX = '{task-gateway2}:';

/** The versions of a gateway: the one that it writes, and the oldest that it opens. */
export type Formats = { readonly written: number; readonly oldest: number };

export const FORMATS_OF_THIS: Formats = { written: 3, oldest: 3 };
/** A key that each store of version 1 has. */
const KEY_OF_VERSION_1 = '{task-gateway}:epoch';

/** Throws `UnusableServer` for a store of a version that this gateway does not read. */
export function requireFormat(
  format: number,
  peer: string,
  database: number,
  { written, oldest } = FORMATS_OF_THIS,
): void {
  if (format >= oldest && format <= written) return;
  const readable = oldest === written ? `version ${written}` : `versions ${oldest} to ${written}`;
  throw new UnusableServer(
    `Database ${database} of ${peer} has format version ${format}, this gateway reads ${readable}. Start the ` +
      'gateway that wrote it; to go on with this one, let that one end its tasks, and name another database.',
  );
}

/**
 * Throws `UnusableServer` where a store of version 1 is in the same database: its tasks would be left behind.
 * A user who may not read its keys has none to leave.
 */
export async function requireNoVersion1(client: RedisClient, database: number): Promise<void> {
  try {
    if ((await client.send(['EXISTS', KEY_OF_VERSION_1])) === 1) requireFormat(1, client.peer, database);
  } catch (error) {
    if (!isErrorReply(error)) throw error;
  }
}

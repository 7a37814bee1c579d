/**
 * The format of a store on Redis: what the names of its keys begin with, and the version of what they hold.
 * It stands in the key `format`, written with the store. A store of another format is refused and stays as it
 * is: so is one of a gateway before version 2, whose keys began with another prefix or had no `format`.
 *
 * A new version means that gateways before it must not write to the store any more. The first one that opens
 * it raises its version and gives it a new epoch, which cuts those that run already off; each of them then
 * finds a version that it does not read, and says so.
 */
import { isErrorReply, type RedisClient } from '../client/client.ts';
import { UnusableServer } from '../client/durability.ts';

/** In braces, so that all keys of a store live in one slot of a cluster. */
export const PREFIX = '{task-gateway}:';
/** The version that this gateway writes and reads. */
export const FORMAT = 1;

/** A store without the key `format` counts as this version. */
const NO_FORMAT = 0;
/** The last gateways before version 2 had a prefix of their own, and this key in each store. */
const OLD_KEY = '{task-gateway2}:epoch';

/** Throws `UnusableServer` for a store of a format that this gateway does not read. */
export function requireFormat(format: number, peer: string, database: number): void {
  if (format === FORMAT) return;
  const found =
    format === NO_FORMAT
      ? 'has a store of a gateway before version 2, which this one does not read'
      : `has format version ${format}, this gateway reads version ${FORMAT}`;
  throw new UnusableServer(
    `Database ${database} of ${peer} ${found}. Start the gateway that wrote it; to go on with this one, let that ` +
      'one end its tasks, and name another database.',
  );
}

/**
 * Throws `UnusableServer` where a store of a gateway before version 2 is in the same database under its own
 * prefix: its tasks would be left behind. A user who may not read its keys has none to leave.
 */
export async function requireNoOldStore(client: RedisClient, database: number): Promise<void> {
  try {
    if ((await client.send(['EXISTS', OLD_KEY])) === 1) requireFormat(NO_FORMAT, client.peer, database);
  } catch (error) {
    if (!isErrorReply(error)) throw error;
  }
}

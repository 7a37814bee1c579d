/**
 * The format of a store on Redis: the prefix of its keys, and a version number, which is in the key `format`
 * from the creation of the store on. A store of another format is refused and not changed. So is a store of a
 * preview, from before 1.0.0, which has another prefix or no key `format`.
 *
 * A new version means that older gateways must no longer write to the store. The first newer gateway that
 * opens the store raises the version and sets a new epoch, which cuts off running older gateways. Each of
 * these then finds a version that it does not read, and says so.
 */
import { isErrorReply, type RedisClient } from '../client/client.ts';
import { UnusableServer } from '../client/durability.ts';

/** The braces keep all keys of a store in one slot of a cluster. */
export const PREFIX = '{task-gateway}:';
/** The version that this gateway writes and reads. */
export const FORMAT = 1;

/** A store without the key `format` counts as this version. */
const NO_FORMAT = 0;
/** Each store of the last previews has this key, with a prefix of their own. */
const OLD_KEY = '{task-gateway2}:epoch';

/** Throws `UnusableServer` if this gateway does not read the format. */
export function requireFormat(format: number, peer: string, database: number): void {
  if (format === FORMAT) return;
  const found =
    format === NO_FORMAT
      ? 'has a store of a preview from before 1.0.0, which this gateway does not read'
      : `has format version ${format}, this gateway reads version ${FORMAT}`;
  throw new UnusableServer(
    `Database ${database} of ${peer} ${found}. Start the gateway that wrote it; to go on with this one, let that ` +
      'one end its tasks, and name another database.',
  );
}

/**
 * Throws `UnusableServer` if the database also has a store of a preview: its tasks would be left behind. A
 * user of Redis who may not read its key never had such a store.
 */
export async function requireNoOldStore(client: RedisClient, database: number): Promise<void> {
  try {
    if ((await client.send(['EXISTS', OLD_KEY])) === 1) requireFormat(NO_FORMAT, client.peer, database);
  } catch (error) {
    if (!isErrorReply(error)) throw error;
  }
}

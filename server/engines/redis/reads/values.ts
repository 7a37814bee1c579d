/**
 * Reads of single values. For a value above 64 KiB the first reply is its size. Such values are then read one
 * after the other, so that a thousand reads of 1 MiB do not hold all values at once.
 */
import { createLargeWork } from '../../../async/large-work.ts';
import { SMALL_LENGTH_MAX } from '../../../domain/value-size.ts';
import type { Kinds } from '../../../ports/store.ts';
import { createSingleValues, type ReadValue, type StoredText } from '../../single-values.ts';
import type { Reply } from '../client/client.ts';
import type { Connection } from '../connection/connection.ts';
import { scripts } from '../scripts.ts';

type Found = StoredText | undefined;

export type Values = {
  read(kind: keyof Kinds, id: string): Promise<Found>;
  /** Returns the reply of `scripts/read.lua` about the status of an agent. */
  readStatus(agent_id: string): Promise<Reply>;
};

/** As in `scripts/read.lua`: the beginning of a value's key, its field, and the field of its revision. */
const PLACES = {
  task: ['task:', 's', 'r'],
  input: ['task:', 'i', 'ir'],
  agent: ['agent:', 'v', 'r'],
  key: ['key:', 'v', 'r'],
  details: ['task:', 'p', 'r'],
} as const satisfies Readonly<Record<keyof Kinds, readonly string[]>>;

/** All keys begin with `prefix`. */
export function createValues({
  connection,
  prefix,
}: {
  readonly connection: Connection;
  readonly prefix: string;
}): Values {
  const { callRead, readSmall, readLarge } = createReads(connection, prefix);
  const largeReads = createLargeWork();
  return {
    async read(kind, id) {
      connection.requireUp();
      const found = await readSmall(kind, id);
      return typeof found === 'number' ? await largeReads.run(() => readLarge(kind, id)) : found;
    },
    async readStatus(agent_id) {
      connection.requireUp();
      return await callRead('status', agent_id);
    },
  };
}

/** Creates the reads by the script, and the read of one large value. */
function createReads(connection: Connection, prefix: string) {
  const callRead = (kind: string, id: string): Promise<Reply> =>
    connection.call(scripts.read, [String(SMALL_LENGTH_MAX), kind, id]);
  /** Reads a value, or its size if it is large. */
  const readSmall = createSingleValues(async (kind, id) => parseReply(await callRead(kind, id)));
  /**
   * Reads a large value. It uses no script, because Lua would look at every byte while Redis serves no other
   * call. If nothing is found, the script must say whether the store is still the same.
   */
  const readLarge: ReadValue<StoredText> = createSingleValues(async (kind, id) => {
    const [key, ...fields] = PLACES[kind];
    const reply = await connection.read(['HMGET', `${prefix}${key}${id}`, ...fields]);
    const [json, revision] = reply as readonly Reply[];
    if (typeof json === 'string' && typeof revision === 'string') return { revision, json };
    const found = await readSmall(kind, id);
    return typeof found === 'number' ? await readLarge(kind, id) : found;
  });
  return { callRead, readSmall, readLarge };
}

/** Parses a reply of `scripts/read.lua`: a value, the size of a large value, or nothing. */
function parseReply(reply: Reply): StoredText | number | undefined {
  if (typeof reply === 'number') return reply;
  const [json, revision] = reply as readonly string[];
  return json === undefined ? undefined : { revision: revision ?? '', json };
}

/**
 * Reads of single values. If a value is above 64 KiB its size comes instead of it, and it is read when those
 * before it are: so a thousand reads of 1 MiB at once do not hold them all.
 */
import { createLargeWork } from '../../../async/large-work.ts';
import { SMALL_LENGTH_MAX } from '../../../domain/value-size.ts';
import type { Kinds } from '../../../ports/store.ts';
import { createSingleValues, type ReadValue, type StoredText } from '../../single-values.ts';
import type { Reply } from '../client/client.ts';
import type { Connection } from '../connection/connection.ts';
import { scripts } from '../scripts.ts';

/** Undefined if nothing is stored. */
type Found = StoredText | undefined;

export type Values = {
  read(kind: keyof Kinds, id: string): Promise<Found>;
  /** The reply of the reads' script about the status of an agent. */
  readStatus(agent_id: string): Promise<Reply>;
};

/** As in `scripts/read.lua`: what the key of a value begins with, and the fields of it and its revision. */
const PLACES = {
  task: ['task:', 's', 'r'],
  input: ['task:', 'i', 'ir'],
  agent: ['agent:', 'v', 'r'],
  key: ['key:', 'v', 'r'],
  details: ['task:', 'p', 'r'],
} as const satisfies Readonly<Record<keyof Kinds, readonly string[]>>;

/** Creates the reads over the connection; the names of all keys begin with `prefix`. */
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

/** The reads by the script, and of one large value. */
function createReads(connection: Connection, prefix: string) {
  const callRead = (kind: string, id: string): Promise<Reply> =>
    connection.call(scripts.read, [String(SMALL_LENGTH_MAX), kind, id]);
  /** Reads a value, or its size if it is large. */
  const readSmall = createSingleValues(async (kind, id) => parseReply(await callRead(kind, id)));
  /**
   * Reads a large value. Without a script: Lua would look at every byte while Redis serves no other call. But
   * if nothing is found, a script must say whether the store is still the same.
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

/** A reply of the reads' script: a value, its size if it is large, or nothing. */
function parseReply(reply: Reply): StoredText | number | undefined {
  if (typeof reply === 'number') return reply;
  const [json, revision] = reply as readonly string[];
  return json === undefined ? undefined : { revision: revision ?? '', json };
}

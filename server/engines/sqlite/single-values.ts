/**
 * Single values, read through a Keyv: the tables are its storage. Conditions, order, and several writes in
 * one transaction stand beside it: Keyv has none of them.
 *
 * Keyv gets no expiry time, because it compares those with the wall clock and deletes what it reads: the
 * engine compares with the store's time. It gets no prefix and no serialisation: a value resolves as
 * `{revision, json}`.
 */
import { Keyv, type KeyvStorageAdapter, keyvStorageCapability } from 'keyv';
import { messageOf } from '../../async/error-message.ts';
import { parseStored } from '../../domain/json-text.ts';
import { type Kinds, StoreDamaged, type Stored } from '../../ports/store.ts';
import type { Prepare } from './statements.ts';

export type SingleValues = {
  /** A value as it was committed last; undefined if there is none. Throws `StoreDamaged`. */
  read<K extends keyof Kinds>(kind: K, id: string): Promise<Stored<Kinds[K]> | undefined>;
};

type StoredRow = { readonly revision: string; readonly json: string };

/** Creates the Keyv over the tables of a connection. */
export function createSingleValues(prepare: Prepare, nowMs: () => number): SingleValues {
  const keyv = new Keyv<StoredRow>({
    store: createAdapter(prepare, nowMs),
    checkExpired: false,
  });
  return {
    async read(kind, id) {
      const row = await keyv.get(`${kind}/${id}`);
      return row && { value: parseValue(kind, id, row.json), revision: row.revision };
    },
  };
}

/** Parses the text of a value; throws `StoreDamaged`, which names it and nothing of what it holds. */
export function parseValue<K extends keyof Kinds>(kind: K, id: string, json: string): Kinds[K] {
  try {
    return parseStored(json) as Kinds[K];
  } catch (error) {
    throw new StoreDamaged(`The store is damaged: the ${kind} under "${id}" is not JSON (${nameOf(error)}).`);
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : messageOf(error);
}

/** The storage of the Keyv: it reads by kind and id, and leaves every write to the engine's commits. */
function createAdapter(prepare: Prepare, nowMs: () => number): KeyvStorageAdapter {
  const find = prepare(
    'SELECT revision, coalesce(json, (SELECT large.json FROM large WHERE large.id = large_id)), expires_ms ' +
      'FROM value WHERE kind = ? AND id = ?',
  );
  const get = (key: string): StoredRow | undefined => {
    const slash = key.indexOf('/');
    const [revision, json, expiresMs] = find.get(key.slice(0, slash), key.slice(slash + 1)) ?? [];
    if (revision === undefined || (expiresMs !== null && Number(expiresMs) <= nowMs())) return undefined;
    return { revision: String(revision), json: String(json) };
  };
  const wrap = (value: StoredRow | undefined) => value && { value };
  const refuse = async (): Promise<never> => {
    throw new Error('This storage is written by commits alone.');
  };
  const adapter = {
    get: async (key: string) => wrap(get(key)),
    getMany: async (keys: string[]) => keys.map((key) => wrap(get(key))),
    has: async (key: string) => get(key) !== undefined,
    hasMany: async (keys: string[]) => keys.map((key) => get(key) !== undefined),
    set: refuse,
    setMany: refuse,
    delete: refuse,
    deleteMany: refuse,
    clear: refuse,
  } as unknown as KeyvStorageAdapter;
  return Object.assign(adapter, { capabilities: keyvStorageCapability(adapter) });
}

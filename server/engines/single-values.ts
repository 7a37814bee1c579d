/**
 * Single values, read through a Keyv: an engine is its storage. Conditions, order, and several writes at once
 * stand beside it: Keyv has none of them.
 *
 * Keyv gets no expiry time, because it compares those with the wall clock and deletes what it reads: the
 * engine compares with the store's time. It gets no prefix and no serialisation: what it resolves is what the
 * engine has found. It has no listener for `error`: with one, a read that fails would read as absent.
 */
import { Keyv, type KeyvStorageAdapter, keyvStorageCapability } from 'keyv';
import { messageOf } from '../async/error-message.ts';
import { parseStored } from '../domain/json-text.ts';
import { type Kinds, StoreDamaged } from '../ports/store.ts';

/** The text of a value as it was committed last. */
export type StoredText = { readonly revision: string; readonly json: string };

/** Reads a value of the engine; undefined if nothing is stored. */
export type ReadValue<T> = (kind: keyof Kinds, id: string) => Promise<T | undefined>;

/** Creates the read through a Keyv, over that of the engine; it rejects as that does. */
export function createSingleValues<T = StoredText>(read: ReadValue<T>): ReadValue<T> {
  const keyv = new Keyv<T>({ store: createAdapter(read), checkExpired: false });
  return (kind, id) => keyv.get(`${kind}/${id}`);
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
function createAdapter<T>(read: ReadValue<T>): KeyvStorageAdapter {
  const get = async (key: string): Promise<{ readonly value: T } | undefined> => {
    const slash = key.indexOf('/');
    const value = await read(key.slice(0, slash) as keyof Kinds, key.slice(slash + 1));
    return value === undefined ? undefined : { value };
  };
  const has = async (key: string): Promise<boolean> => (await get(key)) !== undefined;
  const refuse = async (): Promise<never> => {
    throw new Error('This storage is written by commits alone.');
  };
  const adapter = {
    get,
    getMany: async (keys: string[]) => await Promise.all(keys.map(get)),
    has,
    hasMany: async (keys: string[]) => await Promise.all(keys.map(has)),
    set: refuse,
    setMany: refuse,
    delete: refuse,
    deleteMany: refuse,
    clear: refuse,
  } as unknown as KeyvStorageAdapter;
  return Object.assign(adapter, { capabilities: keyvStorageCapability(adapter) });
}

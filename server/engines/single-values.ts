/**
 * Reads of single values through a Keyv, with an engine as its storage. Keyv has no conditions, no order and
 * no writes of several values, so the engines do these beside it.
 *
 * Keyv gets no expiry times, because it compares them with the wall clock; the engine compares with store
 * time. It gets no prefix and no serialisation, so that it returns what the engine has found. It has no
 * listener for `error`, because then a failed read would look like an absent value.
 */
import { Keyv, type KeyvStorageAdapter, keyvStorageCapability } from 'keyv';
import { messageOf } from '../async/error-message.ts';
import { parseStored } from '../domain/json-text.ts';
import { type Kinds, StoreDamaged } from '../ports/store.ts';

/** The last committed text of a value. */
export type StoredText = { readonly revision: string; readonly json: string };

/** Reads a value; undefined if none is stored. */
export type ReadValue<T> = (kind: keyof Kinds, id: string) => Promise<T | undefined>;

/** Wraps the engine's read in a Keyv. The result rejects as the engine's read does. */
export function createSingleValues<T = StoredText>(read: ReadValue<T>): ReadValue<T> {
  const keyv = new Keyv<T>({ store: createAdapter(read), checkExpired: false });
  return (kind, id) => keyv.get(`${kind}/${id}`);
}

/** Parses the text of a value. Throws `StoreDamaged`, which names the value but nothing of its content. */
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

/** The storage of the Keyv. It reads by kind and id, and refuses every write, because only commits write. */
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

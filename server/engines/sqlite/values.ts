/** Single values as the writer keeps them. Long texts are in the table `large`. */
import type { Kinds } from '../../ports/store.ts';
import { SHORT_CHARS_MAX } from './schema.ts';
import type { Prepare } from './statements.ts';

export type Values = {
  /** Undefined if the value is absent, or a key that has expired. */
  revisionOf(kind: keyof Kinds, id: string, nowMs: number): string | undefined;
  readJson(kind: keyof Kinds, id: string): string | undefined;
  isOpenTask(id: string): boolean;
  put(kind: keyof Kinds, id: string, value: StoredValue): void;
  remove(kind: keyof Kinds, id: string): void;
  /** Stores a long text in `large`. Returns the two columns of a row that hold or name the text. */
  store(text: string): StoredText;
  /** Removes at most `limit` expired keys, and returns how many. */
  trim(nowMs: number, limit: number): number;
};

type StoredValue = {
  readonly revision: string;
  readonly json: string;
  /** For a task alone. */
  readonly isOpen?: boolean;
  readonly expiresMs?: number | null;
};

type StoredText = readonly [json: string | null, large_id: number | null];

export function createValues(prepare: Prepare): Values {
  const findRevision = prepare('SELECT revision, expires_ms FROM value WHERE kind = ? AND id = ?');
  const findJson = prepare(
    'SELECT coalesce(json, (SELECT large.json FROM large WHERE large.id = large_id)) FROM value WHERE kind = ? AND id = ?',
  );
  const findOpen = prepare("SELECT is_open FROM value WHERE kind = 'task' AND id = ?");
  const put = prepare(
    'INSERT INTO value VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision, ' +
      'json = excluded.json, large_id = excluded.large_id, is_open = excluded.is_open, expires_ms = excluded.expires_ms',
  );
  const remove = prepare('DELETE FROM value WHERE kind = ? AND id = ?');
  const addLarge = prepare('INSERT INTO large (json) VALUES (?) RETURNING id');
  const dropExpired = prepare(
    'DELETE FROM value WHERE (kind, id) IN (SELECT kind, id FROM value WHERE expires_ms <= ? LIMIT ?)',
  );

  function store(text: string): StoredText {
    if (text.length <= SHORT_CHARS_MAX) return [text, null];
    return [null, Number(addLarge.get(text)?.[0])];
  }

  return {
    revisionOf(kind, id, nowMs) {
      const [revision, expiresMs] = findRevision.get(kind, id) ?? [];
      return expiresMs !== null && Number(expiresMs) <= nowMs ? undefined : (revision as string | undefined);
    },
    readJson: (kind, id) => findJson.get(kind, id)?.[0] as string | undefined,
    isOpenTask: (id) => findOpen.get(id)?.[0] === 1,
    put(kind, id, { revision, json, isOpen, expiresMs = null }) {
      put.run(kind, id, revision, ...store(json), isOpen === undefined ? null : Number(isOpen), expiresMs);
    },
    remove: (kind, id) => void remove.run(kind, id),
    store,
    trim: (nowMs, limit) => dropExpired.run(nowMs, limit),
  };
}

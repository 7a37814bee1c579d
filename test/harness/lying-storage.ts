/** A disk that reports a write as done and writes it later: a crash loses the delayed write. */
import type { Keyv } from 'keyv';
import { openDatabase } from '../../server/engines/embedded/sqlite/database.ts';
import { createSqliteAdapter, writeHere } from '../../server/engines/embedded/sqlite/keyv-adapter.ts';
import { openKeyv } from '../../server/engines/embedded/sqlite/ordered-storage.ts';

/**
 * Creates it. Each `everyNth` write is delayed until the next one. What was opened before a crash writes
 * nothing after it: that process is gone.
 */
export function createLyingStorage(everyNth: number): {
  open(): Promise<Keyv<string>>;
  crash(): void;
  close(): void;
} {
  const database = openDatabase(':memory:');
  const lasting = { ...database, close: () => undefined };
  let delayed: (() => void) | null = null;
  let writes = 0;
  let crashes = 0;
  return {
    async open() {
      const openedAfter = crashes;
      const writing = writeHere(lasting);
      const lying: typeof writing = {
        ...writing,
        async apply(sets, deletes) {
          if (crashes !== openedAfter) return await new Promise<void>(() => {});
          delayed?.();
          delayed = null;
          writes += 1;
          if (writes % everyNth !== 0) return await writing.apply(sets, deletes);
          const late = [new Map(sets), new Set(deletes)] as const;
          // A run that ends closes the database before some writes: those are lost, as in a crash.
          delayed = () => void writing.apply(...late).catch(() => undefined);
        },
      };
      return openKeyv(createSqliteAdapter(lasting, lying));
    },
    crash() {
      crashes += 1;
      delayed = null;
    },
    close: () => database.close(),
  };
}

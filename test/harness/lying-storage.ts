/** A disk that says "written" and writes later: what it holds back is gone after a crash. */
import type { Keyv } from 'keyv';
import { openDatabase } from '../../server/engines/embedded/sqlite/database.ts';
import { createSqliteAdapter, writeHere } from '../../server/engines/embedded/sqlite/keyv-adapter.ts';
import { openKeyv } from '../../server/engines/embedded/sqlite/ordered-storage.ts';

/** Creates it; of so many writes one is held back until the next. */
export function createLyingStorage(everyNth: number): {
  open(): Promise<Keyv<string>>;
  crash(): void;
  close(): void;
} {
  const database = openDatabase(':memory:');
  const lasting = { ...database, close: () => undefined };
  let held: (() => void) | null = null;
  let writes = 0;
  return {
    async open() {
      const writing = writeHere(lasting);
      const lying: typeof writing = {
        ...writing,
        async apply(sets, deletes) {
          held?.();
          held = null;
          writes += 1;
          if (writes % everyNth !== 0) return await writing.apply(sets, deletes);
          const late = [new Map(sets), new Set(deletes)] as const;
          held = () => void writing.apply(...late);
        },
      };
      return openKeyv(createSqliteAdapter(lasting, lying));
    },
    crash() {
      held = null;
    },
    close: () => database.close(),
  };
}

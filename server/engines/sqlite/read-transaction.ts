/**
 * One read transaction a tick of the event loop: the first read begins it, and it ends with the tick, or
 * earlier when a group has become durable. Meanwhile the pages of the reader stay valid: without it SQLite
 * would look for changes of the other connection at every read.
 */
import type { DatabaseSync } from 'node:sqlite';

export type ReadTransaction = {
  /** Begins the transaction unless it has begun. */
  begin(): void;
  /** Ends it: the next read sees what was committed meanwhile. */
  end(): void;
};

export function createReadTransaction(sqlite: DatabaseSync): ReadTransaction {
  const [begin, commit] = [sqlite.prepare('BEGIN'), sqlite.prepare('COMMIT')];
  let hasBegun = false;
  const end = (): void => {
    if (hasBegun && sqlite.isOpen) commit.run();
    hasBegun = false;
  };
  return {
    begin() {
      if (hasBegun) return;
      begin.run();
      hasBegun = true;
      setImmediate(end);
    },
    end,
  };
}

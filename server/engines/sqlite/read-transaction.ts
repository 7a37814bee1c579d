/**
 * One read transaction in each tick of the event loop. The first read begins the transaction; it ends with
 * the tick, or earlier when a group has become durable. Within it, SQLite need not look for changes of the
 * writer at every read.
 */
import type { DatabaseSync } from 'node:sqlite';

export type ReadTransaction = {
  begin(): void;
  /** Ends the transaction: the next read sees what was committed meanwhile. */
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

/** Prepared statements whose rows are arrays of columns, which cost a third less to read than objects. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { messageOf } from '../../async/error-message.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import { outageKindOf } from './outage-kind.ts';

export type Row = readonly unknown[];

type Statement = {
  /** The first row; undefined if there is none. */
  get(...values: readonly unknown[]): Row | undefined;
  all(...values: readonly unknown[]): readonly Row[];
  /** Returns how many rows were changed. */
  run(...values: readonly unknown[]): number;
};

export type Prepare = (sql: string) => Statement;

/**
 * Parses the text of a row. Returns the fallback for a damaged text, so that a group of many calls does not
 * fail.
 */
export function parseOr<T>(fallback: T, text: unknown): T {
  try {
    return JSON.parse(String(text));
  } catch {
    return fallback;
  }
}

/** Prepares statements, which throw the errors of SQLite. */
export function createPrepare(sqlite: DatabaseSync): Prepare {
  return (sql) => {
    const statement = sqlite.prepare(sql);
    statement.setReturnArrays(true);
    return {
      get: (...values) => statement.get(...(values as SQLInputValue[])) as Row | undefined,
      all: (...values) => statement.all(...(values as SQLInputValue[])) as unknown as readonly Row[],
      run: (...values) => Number(statement.run(...(values as SQLInputValue[])).changes),
    };
  };
}

/**
 * Prepares queries on a connection for reading, and calls `before` before each query. A failing query throws
 * `StoreUnavailable`, so that it never reads as "absent".
 */
export function createPrepareQuery(sqlite: DatabaseSync, before: () => void): Prepare {
  const prepare = createPrepare(sqlite);
  const query = <T>(read: () => T): T => {
    try {
      before();
      return read();
    } catch (error) {
      const message = `The store could not read: ${messageOf(error)}.`;
      throw new StoreUnavailable(message, { kind: outageKindOf(error), cause: error });
    }
  };
  return (sql) => {
    const { get, all, run } = prepare(sql);
    return {
      get: (...values) => query(() => get(...values)),
      all: (...values) => query(() => all(...values)),
      run,
    };
  };
}

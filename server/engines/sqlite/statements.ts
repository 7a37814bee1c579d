/** Prepared statements whose rows are arrays of columns: reading them costs a third less than objects. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

export type Row = readonly unknown[];

type Statement = {
  /** The first row; undefined if there is none. */
  get(...values: readonly unknown[]): Row | undefined;
  all(...values: readonly unknown[]): readonly Row[];
  /** How many rows it changed. */
  run(...values: readonly unknown[]): number;
};

export type Prepare = (sql: string) => Statement;

/** Prepares statements on a connection; `before` is called before each of them runs. */
export function createPrepare(sqlite: DatabaseSync, before: () => void = () => undefined): Prepare {
  return (sql) => {
    const statement = sqlite.prepare(sql);
    statement.setReturnArrays(true);
    return {
      get(...values) {
        before();
        return statement.get(...(values as SQLInputValue[])) as Row | undefined;
      },
      all(...values) {
        before();
        return statement.all(...(values as SQLInputValue[])) as unknown as readonly Row[];
      },
      run(...values) {
        before();
        return Number(statement.run(...(values as SQLInputValue[])).changes);
      },
    };
  };
}

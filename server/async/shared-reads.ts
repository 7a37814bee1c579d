/**
 * Makes a read that many callers want at the same time only once: all readers of a feed that one event wakes
 * read the same rows, all newcomers that want one agent look at the same waiting tasks. A result is shared
 * within one turn of the event loop, and never after `forget()`, so no caller that knows of a change gets
 * rows from before it.
 */
export type SharedReads<T> = {
  /** The value under the key: read now, or by an earlier caller in this turn. A failure is shared as well. */
  read(key: string, read: () => Promise<T>): Promise<T>;
  /** Something changed: later callers read again. */
  forget(): void;
};

/** Creates it empty. */
export function createSharedReads<T>(): SharedReads<T> {
  const readsOfTurn = new Map<string, Promise<T>>();

  return {
    read(key, read) {
      const shared = readsOfTurn.get(key);
      if (shared) return shared;
      if (readsOfTurn.size === 0) setImmediate(() => readsOfTurn.clear());
      const reading = read();
      readsOfTurn.set(key, reading);
      return reading;
    },
    forget: () => readsOfTurn.clear(),
  };
}

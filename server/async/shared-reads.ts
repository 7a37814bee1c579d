/**
 * Makes a read that many callers want at the same time only once: all readers of a feed that one event wakes
 * read the same rows, all newcomers that want one agent look at the same waiting tasks. A result is shared
 * within one tick of the event loop, and never after `forget()`, so no caller that knows of a change gets
 * rows from before it.
 */
export type SharedReads<T> = {
  /** The value under the key: read now, or by an earlier caller in this tick. A failure is shared as well. */
  read(key: string, read: () => Promise<T>): Promise<T>;
  /** Something changed: later callers read again. */
  forget(): void;
};

export function createSharedReads<T>(): SharedReads<T> {
  const readsOfTick = new Map<string, Promise<T>>();
  let isTickOver = true;

  function endTick(): void {
    isTickOver = true;
    readsOfTick.clear();
  }

  return {
    read(key, read) {
      const shared = readsOfTick.get(key);
      if (shared) return shared;
      if (isTickOver) setImmediate(endTick);
      isTickOver = false;
      const reading = read();
      readsOfTick.set(key, reading);
      return reading;
    },
    forget: () => readsOfTick.clear(),
  };
}

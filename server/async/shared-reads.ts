/**
 * Reads once what many callers want at the same time. For example, one event wakes many readers of a feed,
 * and all of them want the same rows. A result is shared within one tick of the event loop, and never after
 * `forget()`. So a caller that knows of a change never gets older rows.
 */
export type SharedReads<T> = {
  /** The value under the key: read now, or by an earlier caller in this tick. A failure is shared as well. */
  read(key: string, read: () => Promise<T>): Promise<T>;
  /** To be called after a change: later callers read again. */
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

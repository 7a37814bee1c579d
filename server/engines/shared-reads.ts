/**
 * Reads that many want at once are made once: all readers of a feed that an event wakes ask for the same rows. What was
 * read is shared within one turn of the event loop and never beyond the next news from the disk, so nobody who was told
 * of something new is shown what was there before.
 */
export type SharedReads<T> = {
  /** What is there under the key: read now, or by whoever asked in this turn. A failure is shared as well. */
  read(key: string, read: () => Promise<T>): Promise<T>;
  /** There is something new: whoever asks from now on reads anew. */
  forget(): void;
};

/** Creates it empty. */
export function createSharedReads<T>(): SharedReads<T> {
  const turn = new Map<string, Promise<T>>();

  return {
    read(key, read) {
      const known = turn.get(key);
      if (known) return known;
      if (turn.size === 0) setImmediate(() => turn.clear());
      const reading = read();
      turn.set(key, reading);
      return reading;
    },
    forget: () => turn.clear(),
  };
}

/** A disk that reports a write as done and writes it later: a crash loses the delayed write. */
import type { Keyv } from 'keyv';
import { keepInMemory } from '../../server/engines/embedded/storage/memory-storage.ts';
import { openKeyv, type StorageAdapter } from '../../server/engines/embedded/storage/ordered-storage.ts';

/**
 * Creates it. Each `everyNth` write is delayed until the next one. What was opened before a crash writes
 * nothing after it: that process is gone.
 */
export function createLyingStorage(everyNth: number): { open(): Promise<Keyv<string>>; crash(): void } {
  const openMemory = keepInMemory();
  let delayed: (() => void) | null = null;
  let writes = 0;
  let crashes = 0;
  return {
    async open() {
      const openedAfter = crashes;
      const adapter = (await openMemory()).store as unknown as StorageAdapter;
      return openKeyv({
        ...adapter,
        async apply(sets, deletes) {
          if (crashes !== openedAfter) return await new Promise<void>(() => {});
          delayed?.();
          delayed = null;
          writes += 1;
          if (writes % everyNth !== 0) return await adapter.apply(sets, deletes);
          const late = [new Map(sets), new Set(deletes)] as const;
          delayed = () => void adapter.apply(...late);
        },
      });
    },
    crash() {
      crashes += 1;
      delayed = null;
    },
  };
}

/**
 * Gives back the memory that only the start needed. While sources are loaded, V8 grows its space for new
 * objects to the maximum, and it does not shrink that space while a gateway is idle: 25 of 145 MB would be
 * kept.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** If more is in use, the memory holds tasks, and a collection would hold up callers. */
const HEAP_BYTES_MAX = 64 * 2 ** 20;

/**
 * Collects all garbage and shrinks the heap, which takes about 45 ms. Does nothing if much memory is in use.
 */
export function releaseStartMemory(): void {
  if (getHeapStatistics().used_heap_size > HEAP_BYTES_MAX) return;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (how: object) => void;
  setFlagsFromString('--no-expose-gc');
  // A plain collection may leave the space for new objects as large as it is.
  collect({ type: 'major', flavor: 'last-resort' });
}

/**
 * How much of the heap may be taken by what a start loads before it serves. Beyond that the gateway refuses
 * more, because it could not load it again. For example, if 512 MB of the heap count, agents may take 96 MB.
 * The rest of the heap is for the work itself.
 */
import { getHeapStatistics } from 'node:v8';

/** Node adds this much to `--max-old-space-size` for new objects, unless `--max-semi-space-size` is set. */
const YOUNG_BYTES = 192 * 2 ** 20;
/** At least this share of the heap counts, however small the heap is. */
const OLD_SHARE_MIN = 1 / 4;
const AGENTS_SHARE = 3 / 16;

export type MemoryBudgets = {
  /** How many bytes the agents may take, most of them for tags. */
  readonly agentBytesMax: number;
};

/** The budgets of this process, from the limit of its heap (`--max-old-space-size`, or Node's choice). */
export function readMemoryBudgets(): MemoryBudgets {
  const { heap_size_limit: limit } = getHeapStatistics();
  const heapBytes = Math.max(limit - YOUNG_BYTES, limit * OLD_SHARE_MIN);
  return {
    agentBytesMax: Math.floor(heapBytes * AGENTS_SHARE),
  };
}

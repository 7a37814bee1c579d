/**
 * How much of the heap may be taken by what a start loads before it serves. When they are used up, the
 * gateway refuses more: if it did not, it would accept what it could not load again. For example, if 512 MB
 * of the heap count, agents may take 96 MB. The rest of the heap is for the work itself.
 */
import { getHeapStatistics } from 'node:v8';

/** Node adds this much to `--max-old-space-size` for new objects, if `--max-semi-space-size` is not set. */
const YOUNG_BYTES = 192 * 2 ** 20;
/** If a heap is hardly larger than that, at least this much of it counts. */
const OLD_SHARE_MIN = 1 / 4;
const AGENTS_SHARE = 3 / 16;

export type MemoryBudgets = {
  /** Bytes of the agents, most of them for their tags. */
  readonly agentBytesMax: number;
};

/** The budgets of this process, by the limit of its heap (`--max-old-space-size`, or what Node chose). */
export function readMemoryBudgets(): MemoryBudgets {
  const { heap_size_limit: limit } = getHeapStatistics();
  const heapBytes = Math.max(limit - YOUNG_BYTES, limit * OLD_SHARE_MIN);
  return {
    agentBytesMax: Math.floor(heapBytes * AGENTS_SHARE),
  };
}

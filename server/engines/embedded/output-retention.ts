/**
 * Retention of output: that of a task past its retention goes with the task, and while all output together
 * comes near its limit, that of settled tasks goes, the one that settled first first.
 *
 *   rows 1 … N, head  ──▶  rows left, head that says "removed"  ──▶  that head  ──▶  nothing
 *                          some rows a step, in order                expires with the task
 */
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { Retention } from '../../ports/store.ts';
import type { Generation } from './generation.ts';
import { putRow, removeRow } from './group-commit.ts';
import { readOutputRow, writeOutputRow } from './output-rows.ts';
import { ENDED_OUTPUT_RANGE, expiryKey, lastPart, msOf, outputRange, padMs } from './storage/row-keys.ts';

type TrimPass = {
  readonly generation: Generation;
  readonly retention: Retention;
  readonly nowMs: number;
};

/** Removes at most `limit` rows of the output that goes next; returns how many things it removed. */
export async function trimOutput({ generation, retention, nowMs }: TrimPass, limit: number): Promise<number> {
  const { storage, outputs, commits } = generation;
  const [indexRow] = await storage.scan(ENDED_OUTPUT_RANGE, 1);
  if (!indexRow) return 0;
  const [indexKey, bytes] = indexRow;
  const isPast = indexKey < `${ENDED_OUTPUT_RANGE.from}${padMs(nowMs - retention.keepTasksMs + 1)}`;
  if (!isPast && outputs.bytes() <= retention.outputBytesMax * STORE_LIMITS.outputFilledShareMax) return 0;
  const id = lastPart(indexKey);
  const rows = await storage.scan(outputRange(id), limit + 1);
  const isLast = rows.length <= limit;
  const [end] = await storage.scan(outputRange(id), 1, true);
  const { group } = commits.join();
  for (const [key] of rows.slice(0, limit)) removeRow(group, key);
  if (end) {
    const [headKey, head] = writeOutputRow(id, { ...readOutputRow(end).head, isRemoved: true }, []);
    // At once: a reader is shown all pieces or none.
    if (!(isPast && isLast)) putRow(group, headKey, head);
    if (!isPast && isLast) putRow(group, expiryKey(msOf(indexKey) + retention.keepTasksMs, headKey), '');
  }
  if (isLast) {
    removeRow(group, indexKey);
    outputs.remove(Number(bytes));
    group.highWaterMark = generation.highWaterMark;
  }
  return Math.max(1, Math.min(rows.length, limit));
}

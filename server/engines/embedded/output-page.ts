/**
 * A page of a task's output: it holds what is durable and nothing else. It is read from the file, but for a
 * reader that has every piece before the last write.
 */
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { OutputPage } from '../../ports/output.ts';
import { type Revision, StoreDamaged } from '../../ports/store.ts';
import type { Generation } from './generation.ts';
import { NO_OUTPUT, type StoredOutput } from './memory/outputs.ts';
import { readOutputRow, readStoredOutput } from './output-rows.ts';
import { afterKey, outputKey, outputRange } from './storage/row-keys.ts';

/** Each may have 64 KiB: few enough that reading them delays no other call. */
const ROWS_PER_SLICE = 16;

type Piece = OutputPage['pieces'][number];

/** The page of a task that is not stored. */
export const NO_TASK_PAGE: OutputPage = { pieces: [], last: 0, missing: null, revision: null };

/** Reads a page of the task, whose state at this revision is durable. */
export async function readOutputPage(
  generation: Generation,
  request_id: string,
  revision: Revision,
  after: number,
  limit: number,
): Promise<OutputPage> {
  const { tasks, outputs, commits } = generation;
  if (tasks.get(request_id)?.hasOutput === false) return pageOf([], NO_OUTPUT, revision);
  const written = outputs.get(request_id);
  const known = written && !commits.isDurable(written.seq) ? written.previous : written;
  if (known && commits.isDurable(known.seq)) {
    const { head, tail } = known;
    const first = head.last - tail.length + 1;
    if (after >= first - 1 && limit >= tail.length) {
      const pieces = tail.map((json, index) => ({ n: first + index, json }));
      return pageOf(pieces.slice(Math.max(0, after - first + 1)), head, revision);
    }
  }
  for (;;) {
    const { pieces, end, hole } = await readPieces(generation, request_id, after, limit);
    const head = end ?? (await readStoredOutput(generation.storage, request_id)) ?? NO_OUTPUT;
    // It may be removed while it is read.
    if (head.last === 0 || head.isRemoved) return pageOf([], head, revision);
    if (hole !== undefined)
      throw new StoreDamaged(`The store is damaged: it lacks output of ${request_id} before "${hole}".`);
    // Else pieces were written between the two reads: their reader would go on behind them.
    if (pieces.length > 0 || head.last <= after) return pageOf(pieces, head, revision);
  }
}

function pageOf(pieces: readonly Piece[], head: StoredOutput, revision: Revision): OutputPage {
  const missing = head.isRemoved ? 'removed' : head.isFull ? 'truncated' : null;
  return { pieces, last: head.last, missing, revision };
}

/** The pieces that were read; the end if it was reached, or the row before which one is missing. */
type Found = {
  readonly pieces: readonly Piece[];
  readonly end?: StoredOutput | undefined;
  readonly hole?: string;
};

/** The pieces behind a number. */
async function readPieces(
  { storage }: Generation,
  request_id: string,
  after: number,
  limit: number,
): Promise<Found> {
  const pieces: Piece[] = [];
  let bytes = 0;
  let end: StoredOutput | undefined;
  const { to } = outputRange(request_id);
  let from = outputKey(request_id, after + 1);
  for (;;) {
    const rows = await storage.scan({ from, to }, ROWS_PER_SLICE);
    for (const row of rows) {
      const { head, pieces: ofRow } = readOutputRow(row);
      const first = head.last - ofRow.length + 1;
      if (first > (end?.last ?? after) + 1) return { pieces, hole: row[0] };
      end = head;
      for (const [index, json] of ofRow.entries()) {
        if (first + index <= after) continue;
        bytes += Buffer.byteLength(json);
        const isFull = pieces.length >= limit || bytes > STORE_LIMITS.outputPageBytes;
        if (isFull && pieces.length > 0) return { pieces };
        pieces.push({ n: first + index, json });
      }
    }
    const [lastKey] = rows.at(-1) ?? [];
    if (rows.length < ROWS_PER_SLICE || lastKey === undefined) return { pieces, end };
    from = afterKey(lastKey);
  }
}

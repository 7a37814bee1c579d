/**
 * The rows of a task's output: one for each write, with its pieces and how the output stands behind them. So
 * the last row is the head, and it is read alone at the first write after a start.
 */
import { joinPieces, splitPieces } from '../pieces.ts';
import type { StoredOutput } from './memory/outputs.ts';
import type { OrderedStorage, Row } from './storage/ordered-storage.ts';
import { lastPieceOf, outputHeadKey, outputKey, outputRange } from './storage/row-keys.ts';

const FULL = 1;
const REMOVED = 2;

type StartOfRow = [writer: string | null, next: number, bytes: number, flags: number, ...replaced: string[]];

/** The row of a write, without pieces that of the head alone. */
export function writeOutputRow(id: string, head: StoredOutput, pieces: readonly string[]): Row {
  const { writer, replaced, next, last, bytes, isFull, isRemoved } = head;
  const flags = (isFull ? FULL : 0) + (isRemoved ? REMOVED : 0);
  const text = joinPieces([JSON.stringify([writer, next, bytes, flags, ...replaced]), ...pieces]);
  return [pieces.length > 0 ? outputKey(id, last) : outputHeadKey(id, last), text];
}

/** How the output stood behind this row, and the row's pieces. */
export function readOutputRow([key, text]: Row): { head: StoredOutput; pieces: readonly string[] } {
  const [start = '', ...pieces] = splitPieces(text);
  const [writer, next, bytes, flags, ...replaced] = JSON.parse(start) as StartOfRow;
  const isFull = (flags & FULL) > 0;
  const isRemoved = (flags & REMOVED) > 0;
  return { head: { writer, replaced, next, last: lastPieceOf(key), bytes, isFull, isRemoved }, pieces };
}

/** How the stored output stands; undefined without one. */
export async function readStoredOutput(
  storage: OrderedStorage,
  id: string,
): Promise<StoredOutput | undefined> {
  const [row] = await storage.scan(outputRange(id), 1, true);
  return row && readOutputRow(row).head;
}

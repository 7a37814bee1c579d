/** The output of tasks in the plain store: all pieces of a task in one array. */
import { STORE_LIMITS } from '../../ports/limits.ts';
import { isNeeded, type OutputChange, type OutputConflict, type OutputHead } from '../../ports/output.ts';
import { StoreRefused } from '../../ports/store.ts';
import type { PlainOutput, PlainState } from './state.ts';

const START = { next: 0, last: 0, isFull: false };
/** Stands for the output of a task without output. */
export const NO_OUTPUT: PlainOutput = { ...START, writer: null, replaced: [], pieces: [], bytes: 0 };
const FULL = { ok: false, conflict: 'full' } as const;
const { outputBytesMax, outputReserveBytes, outputReplacedMax, outputPieceBytes } = STORE_LIMITS;

/** Returns a task's output as the change will leave it. The stored output does not change yet. */
export function planOutput(state: PlainState, change: OutputChange): PlainOutput | OutputConflict {
  const { request_id, begins, append } = change;
  const before = state.outputs.get(request_id) ?? NO_OUTPUT;
  if (!state.open.has(request_id))
    return begins?.writer === null && !append ? before : { ok: false, conflict: 'settled' };
  const begun = begins ? beginWriter(before, begins) : before;
  if ('conflict' in begun || !append) return begun;
  const { by, pieces, isWhole, behind = [] } = append;
  if (by && by.writer !== begun.writer) return { ok: false, conflict: 'writer' };
  if (by && by.from > begun.next) return { ok: false, conflict: 'gap', next: begun.next };
  const fresh = by ? pieces.slice(begun.next - by.from) : pieces;
  if (fresh.length === 0 && behind.length === 0) return begun;
  const stored = fresh.filter((piece) => piece !== '');
  const bytes = countBytes(stored);
  if (isNeeded(append)) {
    if (by && bytes > 0 && !hasSpaceInAll(state, bytes)) return FULL;
  } else if (begun.isFull || begun.bytes + bytes > outputBytesMax || !hasSpaceInAll(state, bytes)) {
    return isWhole ? FULL : { ...begun, isFull: true };
  }
  const after = addPieces(begun, [...stored, ...behind]);
  return by && isBeyondReserve(after) ? FULL : { ...after, next: begun.next + (by ? fresh.length : 0) };
}

function beginWriter(
  before: PlainOutput,
  { writer, reset }: NonNullable<OutputChange['begins']>,
): PlainOutput | OutputConflict {
  if (writer === before.writer) return before;
  const isWritten = before.writer !== null;
  if (isWritten && writer !== null && before.replaced.includes(writer))
    return { ok: false, conflict: 'replaced' };
  const replaced = isWritten
    ? [before.writer, ...before.replaced].slice(0, outputReplacedMax)
    : before.replaced;
  const isReset = reset !== undefined && before.last > 0;
  const after = addPieces({ ...before, writer, replaced, next: 0 }, isReset ? [reset] : []);
  return isReset && isBeyondReserve(after) ? FULL : after;
}

export function putOutput(state: PlainState, request_id: string, output: PlainOutput): OutputHead {
  const { next, last, isFull, bytes } = output;
  state.outputBytes += bytes - (state.outputs.get(request_id)?.bytes ?? 0);
  if (output !== NO_OUTPUT) state.outputs.set(request_id, output);
  return { next, last, isFull };
}

function addPieces(output: PlainOutput, added: readonly string[]): PlainOutput {
  const pieces = [...output.pieces, ...added];
  return { ...output, pieces, last: pieces.length, bytes: output.bytes + countBytes(added) };
}

function countBytes(pieces: readonly string[]): number {
  return Buffer.byteLength(pieces.join('')) + pieces.length * outputPieceBytes;
}

/** Beyond the reserve only the answers of clients are stored. */
function isBeyondReserve({ bytes }: PlainOutput): boolean {
  return bytes > outputBytesMax + outputReserveBytes;
}

/**
 * Whether all output together may grow by this much. Throws while output of ended tasks will still be
 * removed.
 */
function hasSpaceInAll({ outputs, outputBytes, outputBytesMax, open }: PlainState, bytes: number): boolean {
  if (outputBytes + bytes <= outputBytesMax) return true;
  for (const [id, output] of outputs)
    if (output.bytes > 0 && !open.has(id))
      throw new StoreRefused('The store has no room for output until that of ended tasks is removed.');
  return false;
}

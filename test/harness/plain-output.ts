/** The output of tasks in the plain store: all pieces of a task in one array. */
import { isSettled } from '../../server/domain/task.ts';
import { STORE_LIMITS } from '../../server/ports/limits.ts';
import type { OutputChange, OutputConflict, OutputHead, OutputPage } from '../../server/ports/output.ts';
import { type PlainOutput, type PlainState, readValue } from './plain-state.ts';

const NONE: PlainOutput = { writer: null, replaced: [], next: 0, pieces: [], isFull: false };

/** What a change makes of the task's output; the state is left as it is. */
export function planOutput(
  state: PlainState,
  { request_id, begins, append }: OutputChange,
): PlainOutput | OutputConflict {
  const task = readValue(state, 'task', request_id)?.value;
  if (!task && begins?.writer === null && !append) return NONE;
  if (!task || isSettled(task)) return { ok: false, conflict: 'settled' };
  let output = state.outputs.get(request_id) ?? NONE;
  if (begins && begins.writer !== output.writer) {
    const reset = begins.reset !== undefined && output.pieces.length > 0 ? [begins.reset] : [];
    const { writer, replaced, pieces } = output;
    if (writer !== null && begins.writer !== null && replaced.includes(begins.writer))
      return { ok: false, conflict: 'replaced' };
    output = {
      ...output,
      writer: begins.writer,
      replaced: writer === null ? replaced : [writer, ...replaced].slice(0, STORE_LIMITS.outputReplacedMax),
      next: 0,
      pieces: [...pieces, ...reset],
    };
    if (reset.length > 0 && isBeyondReserve(output.pieces)) return { ok: false, conflict: 'full' };
  }
  if (!append) return output;
  const { by, pieces, isNeeded = by === undefined, isWhole, behind = [] } = append;
  if (!by) return { ...output, pieces: [...output.pieces, ...pieces, ...behind] };
  const { next } = output;
  if (by.writer !== output.writer) return { ok: false, conflict: 'writer' };
  if (by.from > next) return { ok: false, conflict: 'gap', next };
  const fresh = pieces.slice(next - by.from);
  if (fresh.length === 0 && behind.length === 0) return output;
  const stored = fresh.filter((piece) => piece !== '');
  const all = [...output.pieces, ...stored, ...behind];
  const isTooMuch = output.isFull || bytesOf(all) > STORE_LIMITS.outputBytesMax;
  if (isTooMuch && isWhole) return { ok: false, conflict: 'full' };
  if (isTooMuch && !isNeeded) return { ...output, isFull: true };
  if (isBeyondReserve(all)) return { ok: false, conflict: 'full' };
  return { ...output, pieces: all, next: next + fresh.length };
}

/** How an output stands. */
export function headOf({ next, pieces, isFull }: PlainOutput): OutputHead {
  return { next, last: pieces.length, isFull };
}

/** A page of a task's output. */
export function readOutput(state: PlainState, request_id: string, after: number, limit: number): OutputPage {
  const revision = readValue(state, 'task', request_id)?.revision ?? null;
  const { pieces, isFull } = state.outputs.get(request_id) ?? NONE;
  const numbered = pieces.map((json, index) => ({ n: index + 1, json }));
  const page = numbered.slice(after, after + limit);
  while (page.length > 1 && sizeOf(page.map(({ json }) => json)) > STORE_LIMITS.outputPageBytes) page.pop();
  return { pieces: page, last: pieces.length, missing: isFull ? 'truncated' : null, revision };
}

function isBeyondReserve(pieces: readonly string[]): boolean {
  return bytesOf(pieces) > STORE_LIMITS.outputBytesMax + STORE_LIMITS.outputReserveBytes;
}

function bytesOf(pieces: readonly string[]): number {
  return sizeOf(pieces) + pieces.length * STORE_LIMITS.outputPieceBytes;
}

function sizeOf(pieces: readonly string[]): number {
  return Buffer.byteLength(pieces.join(''));
}

/**
 * The output of tasks in a commit: what a change makes of it, decided on how it stands, and the rows of that.
 *
 *   stored writer   null ── begins ──▶ A ── begins ──▶ B ── begins null ──▶ null
 *   its next piece               0, 1, 2 …        0, 1, 2 …
 *   numbers                      1, 2, 3 …     4 (the reset), 5 …
 */
import { STORE_LIMITS } from '../../ports/limits.ts';
import { isNeeded, type OutputChange, type OutputConflict, type OutputHead } from '../../ports/output.ts';
import { StoreRefused } from '../../ports/store.ts';
import type { Generation } from './generation.ts';
import { type CommitGroup, putRow } from './group-commit.ts';
import type { Prefetched } from './lookup.ts';
import { NO_OUTPUT, type StoredOutput } from './memory/outputs.ts';
import { writeOutputRow } from './output-rows.ts';
import { endedOutputKey } from './storage/row-keys.ts';

/** An output before and after a change. */
export type PlannedOutput = {
  readonly request_id: string;
  readonly before: StoredOutput;
  readonly after: StoredOutput;
  readonly added: readonly string[];
};

/** How the output of a task stands, as a decision sees it. */
function findOutput(generation: Generation, prefetched: Prefetched, id: string): StoredOutput {
  return generation.outputs.get(id)?.head ?? prefetched.outputs.get(id) ?? NO_OUTPUT;
}

/**
 * Decides on a change of the output of an open task. Throws `StoreRefused` if it must wait until other
 * output is removed. `bytesMax` is for all output together.
 */
export function planOutput(
  generation: Generation,
  prefetched: Prefetched,
  { request_id, begins, append }: OutputChange,
  bytesMax: number,
): PlannedOutput | OutputConflict {
  const before = findOutput(generation, prefetched, request_id);
  if (!generation.tasks.has(request_id)) {
    const isWithoutEffect = begins?.writer === null && !append;
    return isWithoutEffect
      ? { request_id, before, after: before, added: [] }
      : { ok: false, conflict: 'settled' };
  }
  let after = before;
  const added: string[] = [];
  const behind = append?.behind ?? [];
  if (begins && begins.writer !== before.writer) {
    if (isReplaced(before, begins.writer)) return { ok: false, conflict: 'replaced' };
    after = { ...after, writer: begins.writer, replaced: listReplaced(before), next: 0 };
    if (begins.reset !== undefined && before.last > 0) {
      added.push(begins.reset);
      after = addPieces(after, added);
      if (isBeyondReserve(after)) return { ok: false, conflict: 'full' };
    }
  }
  if (!append) return { request_id, before, after, added };
  const { by, pieces } = append;
  if (by && by.writer !== after.writer) return { ok: false, conflict: 'writer' };
  if (by && by.from > after.next) return { ok: false, conflict: 'gap', next: after.next };
  const fresh = by ? pieces.slice(after.next - by.from) : pieces;
  if (fresh.length === 0 && behind.length === 0) return { request_id, before, after, added };
  const stored = fresh.filter((piece) => piece !== '');
  const size = countBytes(stored);
  const needed = isNeeded(append);
  if (!needed && !(hasSpace(after, size) && hasSpaceInAll(generation, size, bytesMax))) {
    if (append.isWhole) return { ok: false, conflict: 'full' };
    return { request_id, before, after: after.isFull ? after : { ...after, isFull: true }, added };
  }
  if (needed && by && size > 0 && !hasSpaceInAll(generation, size, bytesMax))
    return { ok: false, conflict: 'full' };
  after = addPieces(after, [...stored, ...behind]);
  if (by && isBeyondReserve(after)) return { ok: false, conflict: 'full' };
  if (by) after = { ...after, next: after.next + fresh.length };
  added.push(...stored, ...behind);
  return { request_id, before, after, added };
}

/** Whether the writer comes back although another writes: a call of a process that is gone comes late. */
function isReplaced({ writer, replaced }: StoredOutput, beginning: string | null): boolean {
  return writer !== null && beginning !== null && replaced.includes(beginning);
}

/** The writers that may not begin again once another one has. */
function listReplaced({ writer, replaced }: StoredOutput): readonly string[] {
  return writer === null ? replaced : [writer, ...replaced].slice(0, STORE_LIMITS.outputReplacedMax);
}

/** Beyond it only the answers of clients are stored: one for a question. */
function isBeyondReserve({ bytes }: StoredOutput): boolean {
  return bytes > STORE_LIMITS.outputBytesMax + STORE_LIMITS.outputReserveBytes;
}

function addPieces(head: StoredOutput, pieces: readonly string[]): StoredOutput {
  return { ...head, last: head.last + pieces.length, bytes: head.bytes + countBytes(pieces) };
}

function countBytes(pieces: readonly string[]): number {
  let bytes = 0;
  for (const piece of pieces) bytes += Buffer.byteLength(piece) + STORE_LIMITS.outputPieceBytes;
  return bytes;
}

/** Whether the output of a task may have this many bytes of text and data more. */
function hasSpace({ isFull, bytes }: StoredOutput, addedBytes: number): boolean {
  return !isFull && bytes + addedBytes <= STORE_LIMITS.outputBytesMax;
}

/** Whether all output together may. */
function hasSpaceInAll({ outputs }: Generation, addedBytes: number, bytesMax: number): boolean {
  if (outputs.bytes() + addedBytes <= bytesMax) return true;
  if (outputs.settledBytes() === 0) return false;
  throw new StoreRefused('The store has no room for output until that of ended tasks is removed.');
}

/** The commit that changes an output. */
type OutputCommit = {
  readonly generation: Generation;
  readonly group: CommitGroup;
  readonly seq: number;
};

/** Puts what was planned into memory and the row of the write; nothing if nothing changes. */
export function applyOutput(
  { generation, group, seq }: OutputCommit,
  { request_id, before, after, added }: PlannedOutput,
): void {
  if (after === before) return;
  putRow(group, ...writeOutputRow(request_id, after, added));
  generation.outputs.put(request_id, after, seq, added, after.bytes - before.bytes);
  group.highWaterMark = generation.highWaterMark;
}

/** The task of an output settles: retention finds its output by the time. */
export function settleOutput(
  { generation, group }: OutputCommit,
  prefetched: Prefetched,
  id: string,
  ms: number,
): void {
  const head = findOutput(generation, prefetched, id);
  generation.outputs.settle(id, head);
  putRow(group, endedOutputKey(ms, id), String(head.bytes));
  group.highWaterMark = generation.highWaterMark;
}

/** How an output stands, for callers. */
export function headOf({ next, last, isFull }: StoredOutput): OutputHead {
  return { next, last, isFull };
}

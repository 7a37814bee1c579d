/**
 * The output of tasks as the writer keeps it: a row with the head of each output, and a row for each piece. A
 * change is planned on the head, and applied with the rest of its commit.
 *
 *   stored writer   null ── begins ──▶ A ── begins ──▶ B ── begins null ──▶ null
 *   its next piece               0, 1, 2 …        0, 1, 2 …
 *   numbers                      1, 2, 3 …     4 (the reset), 5 …
 */
import { STORE_LIMITS } from '../../ports/limits.ts';
import { isNeeded, type OutputChange, type OutputConflict } from '../../ports/output.ts';
import { StoreRefused } from '../../ports/store.ts';
import type { Counters } from './counters.ts';
import { type Prepare, parseOr, type Row } from './statements.ts';
import type { Values } from './values.ts';

type Head = {
  readonly writer: string | null;
  readonly replaced: readonly string[];
  readonly next: number;
  readonly last: number;
  readonly bytes: number;
  readonly isFull: boolean;
};

export type PlannedOutput = {
  readonly task: string;
  readonly before: Head;
  readonly after: Head;
  readonly added: readonly string[];
};

export type Outputs = {
  /** Decides on a change. Throws `StoreRefused` if the change must wait until other output is removed. */
  plan(change: OutputChange, bytesMax: number): PlannedOutput | OutputConflict;
  apply(planned: PlannedOutput): void;
  /** Notes when the task of an output settled, so that retention finds the output. */
  settle(task: string, ms: number): void;
  /**
   * Removes at most `limit` pieces of a removed task, and the head with the last. Returns how many pieces.
   */
  remove(task: string, limit: number): number;
  /** Removes output of settled tasks while all output together is near its limit. Returns how many pieces. */
  trim(bytesMax: number, limit: number, onRemoved: (task: string) => void): number;
};

const NONE: Head = { writer: null, replaced: [], next: 0, last: 0, bytes: 0, isFull: false };

function prepareOutputs(prepare: Prepare) {
  return {
    find: prepare('SELECT writer, replaced, next, last, bytes, is_full FROM output WHERE task = ?'),
    put: prepare(
      'INSERT INTO output VALUES (?, ?, ?, ?, ?, ?, ?, 0, NULL) ON CONFLICT (task) DO UPDATE SET ' +
        'writer = excluded.writer, replaced = excluded.replaced, next = excluded.next, last = excluded.last, ' +
        'bytes = excluded.bytes, is_full = excluded.is_full',
    ),
    addPiece: prepare('INSERT INTO piece VALUES (?, ?, ?, ?)'),
    settle: prepare('UPDATE output SET ended_ms = ? WHERE task = ? AND ended_ms IS NULL RETURNING bytes'),
    firstEnded: prepare(
      'SELECT task, bytes FROM output WHERE ended_ms IS NOT NULL ORDER BY ended_ms, task LIMIT 1',
    ),
    hide: prepare('UPDATE output SET is_removed = 1 WHERE task = ? AND is_removed = 0'),
    empty: prepare('UPDATE output SET bytes = 0, ended_ms = NULL WHERE task = ?'),
    dropPieces: prepare(
      'DELETE FROM piece WHERE (task, n) IN (SELECT task, n FROM piece WHERE task = ? ORDER BY n LIMIT ?)',
    ),
    drop: prepare('DELETE FROM output WHERE task = ?'),
  };
}

export function createOutputs(prepare: Prepare, counters: Counters, values: Values): Outputs {
  const statements = prepareOutputs(prepare);
  const { find, put, addPiece, settle, firstEnded, hide, empty, dropPieces, drop } = statements;

  function readHead(task: string): Head {
    const row = find.get(task);
    return row ? toHead(row) : NONE;
  }

  function forgetBytes(bytes: number): void {
    counters.add('output_bytes', -bytes);
    counters.add('ended_output_bytes', -bytes);
  }

  return {
    plan(change, bytesMax) {
      const task = change.request_id;
      const before = readHead(task);
      if (values.isOpenTask(task))
        return planChange(before, change, (more) => hasSpaceInAll(counters, more, bytesMax));
      const isWithoutEffect = change.begins?.writer === null && !change.append;
      return isWithoutEffect
        ? { task, before, after: before, added: [] }
        : { ok: false, conflict: 'settled' };
    },
    apply({ task, before, after, added }) {
      if (after === before) return;
      const { writer, replaced, next, last, bytes, isFull } = after;
      put.run(task, writer, JSON.stringify(replaced), next, last, bytes, Number(isFull));
      const first = last - added.length + 1;
      for (const [index, piece] of added.entries()) addPiece.run(task, first + index, ...values.store(piece));
      counters.add('output_bytes', bytes - before.bytes);
      if (before === NONE) counters.add('outputs', 1);
    },
    settle(task, ms) {
      const row = counters.get('outputs') > 0 ? settle.get(ms, task) : undefined;
      if (row) counters.add('ended_output_bytes', Number(row[0]));
    },
    remove(task, limit) {
      const head = counters.get('outputs') > 0 ? readHead(task) : NONE;
      if (head === NONE) return 0;
      hide.run(task);
      const removed = dropPieces.run(task, limit);
      if (removed >= limit) return removed;
      forgetBytes(head.bytes);
      counters.add('outputs', -1);
      drop.run(task);
      return removed;
    },
    trim(bytesMax, limit, onRemoved) {
      const keptMax = bytesMax * STORE_LIMITS.outputFilledShareMax;
      let removed = 0;
      while (removed < limit && counters.get('output_bytes') > keptMax) {
        const row = firstEnded.get();
        if (!row) break;
        const [task, bytes] = row as [string, number];
        // All pieces are hidden at once: a reader sees all of them or none.
        if (hide.run(task) > 0) onRemoved(task);
        const pieces = dropPieces.run(task, limit - removed);
        removed += Math.max(1, pieces);
        if (removed >= limit && pieces > 0) break;
        forgetBytes(bytes);
        empty.run(task);
      }
      return removed;
    },
  };
}

function toHead([writer, replaced, next, last, bytes, isFull]: Row): Head {
  const numbers = { next: Number(next), last: Number(last), bytes: Number(bytes) };
  return {
    writer: writer as string | null,
    replaced: parseOr([], replaced),
    ...numbers,
    isFull: isFull === 1,
  };
}

/** Whether all output together may grow by this many bytes. */
function hasSpaceInAll(counters: Counters, addedBytes: number, bytesMax: number): boolean {
  if (counters.get('output_bytes') + addedBytes <= bytesMax) return true;
  if (counters.get('ended_output_bytes') === 0) return false;
  throw new StoreRefused('The store has no room for output until that of ended tasks is removed.');
}

function planChange(
  before: Head,
  { request_id: task, begins, append }: OutputChange,
  hasSpaceForAll: (addedBytes: number) => boolean,
): PlannedOutput | OutputConflict {
  let after = before;
  const added: string[] = [];
  if (begins && begins.writer !== before.writer) {
    if (isReplaced(before, begins.writer)) return { ok: false, conflict: 'replaced' };
    after = { ...after, writer: begins.writer, replaced: listReplaced(before), next: 0 };
    if (begins.reset !== undefined && before.last > 0) {
      added.push(begins.reset);
      after = addPieces(after, added);
      if (isBeyondReserve(after)) return { ok: false, conflict: 'full' };
    }
  }
  if (!append) return { task, before, after, added };
  const { by, pieces, behind = [] } = append;
  if (by && by.writer !== after.writer) return { ok: false, conflict: 'writer' };
  if (by && by.from > after.next) return { ok: false, conflict: 'gap', next: after.next };
  const fresh = by ? pieces.slice(after.next - by.from) : pieces;
  if (fresh.length === 0 && behind.length === 0) return { task, before, after, added };
  const stored = fresh.filter((piece) => piece !== '');
  const size = countBytes(stored);
  const needed = isNeeded(append);
  if (!needed && !(hasSpace(after, size) && hasSpaceForAll(size))) {
    if (append.isWhole) return { ok: false, conflict: 'full' };
    return { task, before, after: after.isFull ? after : { ...after, isFull: true }, added };
  }
  if (needed && by && size > 0 && !hasSpaceForAll(size)) return { ok: false, conflict: 'full' };
  after = addPieces(after, [...stored, ...behind]);
  if (by && isBeyondReserve(after)) return { ok: false, conflict: 'full' };
  if (by) after = { ...after, next: after.next + fresh.length };
  return { task, before, after, added: [...added, ...stored, ...behind] };
}

/**
 * Whether a replaced writer wants to begin again while another writes. That is a late call of an earlier
 * process.
 */
function isReplaced({ writer, replaced }: Head, beginning: string | null): boolean {
  return writer !== null && beginning !== null && replaced.includes(beginning);
}

/** The replaced writers after another writer has begun. */
function listReplaced({ writer, replaced }: Head): readonly string[] {
  return writer === null ? replaced : [writer, ...replaced].slice(0, STORE_LIMITS.outputReplacedMax);
}

/** Beyond the reserve only the answers of clients are stored, one for each question. */
function isBeyondReserve({ bytes }: Head): boolean {
  return bytes > STORE_LIMITS.outputBytesMax + STORE_LIMITS.outputReserveBytes;
}

function addPieces(head: Head, pieces: readonly string[]): Head {
  return { ...head, last: head.last + pieces.length, bytes: head.bytes + countBytes(pieces) };
}

function countBytes(pieces: readonly string[]): number {
  let bytes = 0;
  for (const piece of pieces) bytes += Buffer.byteLength(piece) + STORE_LIMITS.outputPieceBytes;
  return bytes;
}

/** Whether the output of a task may grow by this many bytes of text and data. */
function hasSpace({ isFull, bytes }: Head, addedBytes: number): boolean {
  return !isFull && bytes + addedBytes <= STORE_LIMITS.outputBytesMax;
}

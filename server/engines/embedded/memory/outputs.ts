/**
 * How the output of open tasks stands, and how many bytes all output has. Of the pieces, only those of a
 * task's last two writes are in memory, if they are short: a reader that follows the task needs no others,
 * and the last write may not be durable yet.
 *
 * Invariants
 * - An entry is as the file will hold it once every decided commit is durable. A task that has output and no
 *   entry was not written to since the start: its head is read from the file.
 * - An entry takes 2 KB at most, and goes when its task settles; `open-tasks.ts` counts it.
 */
import type { OutputHead } from '../../../ports/output.ts';
import type { MarkRow } from '../storage/row-keys.ts';

/** How an output stands, as it is stored. */
export type StoredOutput = OutputHead & {
  /** The only one who may write; null: no one. */
  readonly writer: string | null;
  /** The writers before it that may not begin again while it writes, the last one first. */
  readonly replaced: readonly string[];
  /** Those of its pieces' JSON, and some for each piece. */
  readonly bytes: number;
  /** Its pieces were removed to make room. */
  readonly isRemoved: boolean;
};

/** The output of a task that has none. */
export const NO_OUTPUT: StoredOutput = {
  writer: null,
  replaced: [],
  next: 0,
  last: 0,
  bytes: 0,
  isFull: false,
  isRemoved: false,
};

type Entry = {
  readonly head: StoredOutput;
  readonly seq: number;
  /** The last pieces, as JSON; none if they are longer than `TAIL_CHARS_MAX`. */
  readonly tail: readonly string[];
  /** The entry before the last write; it has none itself. */
  readonly previous: Entry | null;
};

const TAIL_CHARS_MAX = 256;

export type Outputs = {
  /** Of an open task, with the number of the commit that wrote to it last. */
  get(id: string): Entry | undefined;
  /** A commit added these pieces; it has this many bytes more than before. */
  put(id: string, head: StoredOutput, seq: number, added: readonly string[], addedBytes: number): void;
  /** Its task settled. */
  settle(id: string, { bytes }: StoredOutput): void;
  /** The output of a settled task, with this many bytes, was removed. */
  remove(bytes: number): void;
  bytes(): number;
  /** How many of the bytes are of settled tasks. */
  settledBytes(): number;
  /** As it is in the row of the high-water mark. */
  store(): Pick<MarkRow, 'output'>;
};

/** Creates it without entries, and with the bytes as they were stored. */
export function createOutputs({ output = [0, 0] }: Pick<MarkRow, 'output'>): Outputs {
  const entries = new Map<string, Entry>();
  let [bytes, settledBytes] = output;

  return {
    get: (id) => entries.get(id),
    put(id, head, seq, added, addedBytes) {
      const chars = added.reduce((sum, piece) => sum + piece.length, 0);
      const before = entries.get(id);
      const previous = before ? { ...before, previous: null } : null;
      entries.set(id, { head, seq, tail: chars <= TAIL_CHARS_MAX ? added : [], previous });
      bytes += addedBytes;
    },
    settle(id, head) {
      entries.delete(id);
      settledBytes += head.bytes;
    },
    remove(removed) {
      bytes -= removed;
      settledBytes -= removed;
    },
    bytes: () => bytes,
    settledBytes: () => settledBytes,
    store: () => (bytes > 0 ? { output: [bytes, settledBytes] } : {}),
  };
}

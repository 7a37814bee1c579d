/**
 * Tasks as this process wrote them last, or as another process did whose message came, so that the next
 * calls about them need no read:
 *
 *   open or settled   the next commit is decided on it. If another process has changed the task since, this
 *                     commit finds another revision, and is decided again on a read.
 *   settled           readers are shown it, for a second: it never changes, and is kept for longer.
 *
 * For example, an agent claims a task and reports it a moment later: the report is decided without a read.
 *
 * A task of this process enters when its commit has resolved: it is durable then. One of another process
 * enters with the message, when the commit is as durable as Redis alone makes it. If the replicas of Redis
 * count too (`isMessageDurable` is false), no reader is shown it. Cost: the bounds below.
 */
import { JsonText, parseStored } from '../../../domain/json-text.ts';
import { isSettled, type TaskState } from '../../../domain/task.ts';
import type { Batch, CommitResult, Revision, Stored } from '../../../ports/store.ts';

export type WrittenTasks = {
  /**
   * Begins a commit whose arguments have this many characters. The tasks it writes must be read, or come by a
   * message, until the returned function is called with its result.
   */
  begin(batch: Batch, size: number): (result: CommitResult) => void;
  /** Another process wrote the task; `state` is the text of its state. */
  learn(request_id: string, revision: Revision, state: string): void;
  /** The task as the next commit may find it; undefined if it must be read. */
  find(request_id: string): Stored<TaskState> | undefined;
  /** The same of a task settled just now; undefined if it must be read. */
  findSettled(request_id: string): Stored<TaskState> | undefined;
  /** Forgets all of them. */
  forget(): void;
};

/** A state of another process is parsed when it is needed: most states only their own process needs. */
type Kept = {
  readonly revision: Revision;
  readonly isShown: boolean;
  value: TaskState | string;
};

/** A larger commit is not kept; the payload of its input does not count. */
const SIZE_MAX = 8_192;
/** Bytes of all kept commits. */
const TOTAL_SIZE_MAX = 2_000_000;
const SETTLED_SHOWN_MS = 1_000;

/** Creates it, empty; `nowMs` is the store's time. */
export function createWrittenTasks(nowMs: () => number, isMessageDurable: boolean): WrittenTasks {
  /** The older half is dropped at once: to drop one after the other costs time in what was dropped before. */
  let present = new Map<string, Kept>();
  let past = new Map<string, Kept>();
  let presentSize = 0;

  const findKept = (request_id: string): Kept | undefined => present.get(request_id) ?? past.get(request_id);

  function keep(request_id: string, kept: Kept, size: number): void {
    present.set(request_id, kept);
    presentSize += size;
    if (presentSize < TOTAL_SIZE_MAX / 2) return;
    past = present;
    present = new Map();
    presentSize = 0;
  }

  return {
    begin(batch, size) {
      for (const { kind, id } of batch.writes) {
        if (kind !== 'task') continue;
        present.delete(id);
        past.delete(id);
      }
      const keptSize = size - countPayload(batch);
      return (result) => {
        if (!result.ok || keptSize > SIZE_MAX) return;
        const { revision } = result;
        for (const { kind, id, value } of batch.writes) {
          if (kind === 'task') keep(id, { value, revision, isShown: true }, keptSize);
        }
      };
    },
    learn(request_id, revision, state) {
      keep(request_id, { value: state, revision, isShown: isMessageDurable }, Buffer.byteLength(state));
    },
    find: (request_id) => readKept(findKept(request_id)),
    findSettled(request_id) {
      const kept = findKept(request_id);
      const stored = kept?.isShown ? readKept(kept) : undefined;
      if (!stored || !isSettled(stored.value)) return undefined;
      const { settledMs } = stored.value;
      return settledMs !== null && nowMs() - settledMs < SETTLED_SHOWN_MS ? stored : undefined;
    },
    forget() {
      present = new Map();
      past = new Map();
      presentSize = 0;
    },
  };
}

/** Bytes of the payloads in a batch: inputs are not kept here. */
function countPayload({ writes }: Batch): number {
  let bytes = 0;
  for (const { kind, value } of writes) {
    if (kind === 'input' && value?.payload instanceof JsonText) bytes += value.payload.byteLength;
  }
  return bytes;
}

function readKept(kept: Kept | undefined): Stored<TaskState> | undefined {
  if (!kept) return undefined;
  // The script that stored this text sent it.
  if (typeof kept.value === 'string') kept.value = parseStored(kept.value) as TaskState;
  return { value: kept.value, revision: kept.revision };
}

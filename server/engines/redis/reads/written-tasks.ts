/**
 * Tasks as this process wrote them last, or as another process wrote them and said so in a message. So the
 * next calls about these tasks need no read:
 *
 *   any task       serves to decide the next commit. If another process has changed the task since, that
 *                  commit finds another revision, and is decided again on a read
 *   settled task   is also shown to readers for a second, because it never changes
 *
 * For example, when an agent claims a task and reports it a moment later, the report is decided without a
 * read.
 *
 * A task that this process wrote enters when its commit has resolved, so it is durable. A task that another
 * process wrote enters with the message. By then the commit is as durable as Redis makes it without replicas.
 * If replicas count too (`isMessageDurable` is false), no reader is shown such a task.
 */
import { JsonText, parseStored } from '../../../domain/json-text.ts';
import { isSettled, type TaskState } from '../../../domain/task.ts';
import type { Batch, CommitResult, Revision, Stored } from '../../../ports/store.ts';

export type WrittenTasks = {
  /**
   * Begins a commit whose arguments have `size` bytes, and forgets the tasks that it writes. The returned
   * function must be called with the result.
   */
  begin(batch: Batch, size: number): (result: CommitResult) => void;
  /** Learns a task that another process wrote. `state` is the text of the state. */
  learn(request_id: string, revision: Revision, state: string): void;
  /** The task for deciding the next commit; undefined if the task must be read. */
  find(request_id: string): Stored<TaskState> | undefined;
  /** A task settled just now, for readers; undefined if the task must be read. */
  findSettled(request_id: string): Stored<TaskState> | undefined;
  forget(): void;
};

/** The text of another process's state is parsed when it is needed, because most such states never are. */
type Kept = {
  readonly revision: Revision;
  readonly isShown: boolean;
  value: TaskState | string;
};

/** Tasks of a larger commit are not kept. The payload in the commit does not count. */
const SIZE_MAX = 8_192;
/** The bytes of all kept commits. */
const TOTAL_SIZE_MAX = 2_000_000;
const SETTLED_SHOWN_MS = 1_000;

/** `nowMs` returns store time. */
export function createWrittenTasks(nowMs: () => number, isMessageDurable: boolean): WrittenTasks {
  /**
   * The older half is dropped at once. Dropping single entries of a `Map` costs a step for each entry dropped
   * before.
   */
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

/** Counts the bytes of the payloads in a batch, because inputs are not kept here. */
function countPayload({ writes }: Batch): number {
  let bytes = 0;
  for (const { kind, value } of writes) {
    if (kind === 'input' && value?.payload instanceof JsonText) bytes += value.payload.byteLength;
  }
  return bytes;
}

function readKept(kept: Kept | undefined): Stored<TaskState> | undefined {
  if (!kept) return undefined;
  // The text is whole JSON, because the script that stored it also sent it.
  if (typeof kept.value === 'string') kept.value = parseStored(kept.value) as TaskState;
  return { value: kept.value, revision: kept.revision };
}

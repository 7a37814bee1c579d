/**
 * Tasks as this process wrote them last, so that what follows soon needs no read:
 *
 *   open or settled   what the next commit is decided on. Where another process has changed the task since,
 *                     that commit finds another revision, and is decided again on a read.
 *   settled           what readers are shown, for a second: it never changes, and is kept for longer.
 *
 * A task enters when its commit has resolved: it is durable then. Cost: the bounds below.
 */
import { isSettled, type TaskState } from '../../domain/task.ts';
import type { Batch, CommitResult, Stored } from '../../ports/store.ts';

export type WrittenTasks = {
  /**
   * Begins a commit whose arguments have so many characters: until its result is noted by what this returns,
   * the tasks that it writes must be read.
   */
  begin(batch: Batch, size: number): (result: CommitResult) => void;
  /** The task as the next commit may find it; undefined where it must be read. */
  find(request_id: string): Stored<TaskState> | undefined;
  /** The same of a task that settled just now; undefined where it must be read. */
  findSettled(request_id: string): Stored<TaskState> | undefined;
  /** Forgets all of them. */
  forget(): void;
};

/** A larger commit is not kept. */
const SIZE_MAX = 8_192;
/** Characters of the commits that are kept. */
const TOTAL_SIZE_MAX = 1_000_000;
const SETTLED_SHOWN_MS = 1_000;

/** Creates it, empty; `nowMs` is the store's time. */
export function createWrittenTasks(nowMs: () => number): WrittenTasks {
  /** The older half is dropped at once: to drop one after the other costs time in what was dropped before. */
  let present = new Map<string, Stored<TaskState>>();
  let past = new Map<string, Stored<TaskState>>();
  let presentSize = 0;

  const find = (request_id: string): Stored<TaskState> | undefined =>
    present.get(request_id) ?? past.get(request_id);

  function keep(request_id: string, task: Stored<TaskState>, size: number): void {
    present.set(request_id, task);
    presentSize += size;
    if (presentSize < TOTAL_SIZE_MAX / 2) return;
    past = present;
    present = new Map();
    presentSize = 0;
  }

  return {
    begin({ writes }, size) {
      for (const { kind, id } of writes) {
        if (kind !== 'task') continue;
        present.delete(id);
        past.delete(id);
      }
      return (result) => {
        if (!result.ok || size > SIZE_MAX) return;
        const { revision } = result;
        for (const { kind, id, value } of writes) {
          if (kind === 'task' && value !== null) keep(id, { value, revision }, size);
        }
      };
    },
    find,
    findSettled(request_id) {
      const stored = find(request_id);
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

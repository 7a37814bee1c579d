/**
 * Reading tasks, the large ones one at a time. Nothing says how large a task is before it is read. So, when a
 * task proves to be large, its id is remembered and its reads wait in the rotation from then on; and when one
 * was found in a tick of the event loop, the other reads of this tick wait too. So many reads of large tasks
 * hold up no read of a small one, and none holds a value before it is next: a thousand reads of 2 MB at once
 * would end a heap of 512 MB.
 *
 * Cost: the ids of the last `REMEMBERED_MAX` large tasks.
 */
import type { LargeWork } from '../../async/large-work.ts';
import { isLargeValue } from '../../domain/value-size.ts';
import type { Caller } from '../../ports/caller.ts';

const REMEMBERED_MAX = 10_000;

/** Who reads. `mayWaitLong`: it is not refused, however long it waits. */
export type TaskReader = { readonly caller: Caller; readonly mayWaitLong?: boolean };

export type LargeTasks = {
  /** Whether the task was found to be large. */
  isLarge(request_id: string): boolean;
  /** Remembers that the task is large. */
  note(request_id: string): void;
  /**
   * Reads the task of this id, or a part of it, when its caller is next; settles as the read does, or rejects
   * as `LargeWork` does.
   */
  read<T>(request_id: string, reader: TaskReader, read: () => Promise<T>): Promise<T>;
};

/** Creates it with no id remembered. */
export function createLargeTasks(work: LargeWork): LargeTasks {
  const largeIds = new Set<string>();
  let isTickUsed = false;

  async function readAndNote<T>(request_id: string, read: () => Promise<T>): Promise<T> {
    const value = await read();
    if (isLargeValue(value)) note(request_id);
    return value;
  }

  function note(request_id: string): void {
    largeIds.delete(request_id);
    largeIds.add(request_id);
    const [oldest] = largeIds;
    if (largeIds.size > REMEMBERED_MAX && oldest !== undefined) largeIds.delete(oldest);
    if (isTickUsed) return;
    isTickUsed = true;
    setImmediate(() => {
      isTickUsed = false;
    });
  }

  return {
    isLarge: (request_id) => largeIds.has(request_id),
    note,
    async read(request_id, { caller, mayWaitLong = false }, read) {
      const isLarge = largeIds.has(request_id);
      if (!isLarge && !isTickUsed) return await readAndNote(request_id, read);
      const position = { caller, order: isLarge ? 'large' : 'small', isRead: !mayWaitLong } as const;
      return await work.run(position, () => readAndNote(request_id, read));
    },
  };
}

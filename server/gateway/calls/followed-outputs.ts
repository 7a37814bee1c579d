/**
 * The outputs that readers follow now. All readers of a task share one watch, and within a tick they share
 * equal reads. A change ends the sharing, so that no reader gets pieces from before the change that woke it.
 */
import { createSharedReads, type SharedReads } from '../../async/shared-reads.ts';
import type { TaskState } from '../../domain/task.ts';
import type { OutputPage } from '../../ports/output.ts';
import type { Store, Stored } from '../../ports/store.ts';

/** The changes of one task and its output, for one reader. */
type Changes = {
  /**
   * Resolves with true after the next change; several changes count as one while the reader is busy. Resolves
   * with false when the signal has fired or the store cannot watch.
   */
  next(): Promise<boolean>;
  /** Every reader must call this at its end. */
  close(): void;
};

export type FollowedOutputs = {
  /** Reads that readers share within a tick, until the next change of any followed task. */
  readonly pages: SharedReads<OutputPage>;
  readonly states: SharedReads<Stored<TaskState> | undefined>;
  follow(request_id: string, signal: AbortSignal): Changes;
};

type Followed = { readonly wakes: Set<() => void>; readonly over: AbortController };

export function createFollowedOutputs(store: Pick<Store, 'watch'>): FollowedOutputs {
  const followed = new Map<string, Followed>();
  const pages = createSharedReads<OutputPage>();
  const states = createSharedReads<Stored<TaskState> | undefined>();

  function begin(request_id: string): Followed {
    const output: Followed = { wakes: new Set(), over: new AbortController() };
    followed.set(request_id, output);
    void watch(request_id, output);
    return output;
  }

  async function watch(request_id: string, output: Followed): Promise<void> {
    try {
      for await (const _ of store.watch(`output:${request_id}`, output.over.signal)) {
        pages.forget();
        states.forget();
        wakeAll(output);
      }
    } catch {
      // Each reader's next read fails for the same reason and reports it.
    }
    end(request_id, output);
    wakeAll(output);
  }

  function end(request_id: string, output: Followed): void {
    if (followed.get(request_id) === output) followed.delete(request_id);
    output.over.abort('over');
  }

  return {
    pages,
    states,
    follow(request_id, signal) {
      const output = followed.get(request_id) ?? begin(request_id);
      let change = Promise.withResolvers<void>();
      const wake = (): void => change.resolve();
      output.wakes.add(wake);
      signal.addEventListener('abort', wake, { once: true });
      return {
        async next() {
          if (!signal.aborted && !output.over.signal.aborted) await change.promise;
          change = Promise.withResolvers();
          return !signal.aborted && !output.over.signal.aborted;
        },
        close() {
          signal.removeEventListener('abort', wake);
          output.wakes.delete(wake);
          if (output.wakes.size === 0) end(request_id, output);
        },
      };
    },
  };
}

function wakeAll({ wakes }: Followed): void {
  for (const wake of wakes) wake();
}

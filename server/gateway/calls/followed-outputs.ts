/**
 * The outputs that are followed now. All readers of a task share one watch of it and, within a tick, each
 * read of the same pieces; a change ends the sharing, so that no reader it wakes gets pieces from before it.
 */
import { createSharedReads, type SharedReads } from '../../async/shared-reads.ts';
import type { TaskState } from '../../domain/task.ts';
import type { OutputPage } from '../../ports/output.ts';
import type { Store, Stored } from '../../ports/store.ts';

/** The changes of one task and its output, as one reader waits for them. */
type Changes = {
  /**
   * Resolves true after the next change; those while the reader is busy count as one. False when the signal
   * has fired, or when the store can't watch: the reader comes again.
   */
  next(): Promise<boolean>;
  /** Must be called at the end. */
  close(): void;
};

export type FollowedOutputs = {
  /** The reads that readers share within a tick, until the next change of any followed task. */
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
      // The next read of each reader fails for the same reason, and says it.
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

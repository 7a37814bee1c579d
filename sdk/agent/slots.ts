/** An agent's slots: which tasks occupy them, and a wait until one is free. */
import { linkSignals } from '../clock.ts';
import type { RequestId } from '../contract.ts';

/** The slots of an agent, each occupied by an entry of the owner's type. */
export type Slots<Entry> = {
  get(request_id: RequestId): Entry | undefined;
  list(): readonly Entry[];
  occupy(entry: Entry): void;
  /**
   * Frees the slot of an entry. If its handler has not ended yet, the task counts as busy until `ended`
   * resolves.
   */
  free(entry: Entry, ended?: Promise<void>): void;
  /** Whether a task has a slot, or a handler still works on it. */
  isBusy(request_id: RequestId): boolean;
  isFull(): boolean;
  /** Resolves when the signal fires or the condition holds, which it checks whenever a slot becomes free. */
  waitUntil(isMet: () => boolean, signal: AbortSignal): Promise<void>;
};

/** Creates the slots of one agent. It calls `onChange` when a slot becomes occupied or free. */
export function createSlots<Entry extends { readonly request_id: RequestId }>(
  count: number,
  onChange: () => void,
): Slots<Entry> {
  const entries = new Map<RequestId, Entry>();
  const overdue = new Set<RequestId>();
  const waiters = new Set<() => void>();
  return {
    get: (request_id) => entries.get(request_id),
    list: () => [...entries.values()],
    occupy(entry) {
      entries.set(entry.request_id, entry);
      onChange();
    },
    free({ request_id }, ended = Promise.resolve()) {
      overdue.add(request_id);
      void ended.finally(() => overdue.delete(request_id));
      entries.delete(request_id);
      onChange();
      for (const check of waiters) check();
    },
    isBusy: (request_id) => entries.has(request_id) || overdue.has(request_id),
    isFull: () => entries.size >= count,
    async waitUntil(isMet, signal) {
      if (isMet() || signal.aborted) return;
      await new Promise<void>((resolve) => {
        const linked = linkSignals(signal);
        const check = (): void => {
          if (isMet()) linked.abort();
        };
        waiters.add(check);
        linked.signal.addEventListener('abort', () => {
          waiters.delete(check);
          resolve();
        });
      });
    },
  };
}

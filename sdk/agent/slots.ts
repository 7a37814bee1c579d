/** An agent's slots: which tasks occupy them, and how to wait until one is free. */
import { linkSignals } from '../clock.ts';
import type { RequestId } from '../contract.ts';

/** The slots, each occupied by an entry of the owner's type. */
export type Slots<Entry> = {
  get(request_id: RequestId): Entry | undefined;
  /** Returns the entries in all occupied slots. */
  list(): readonly Entry[];
  occupy(entry: Entry): void;
  /**
   * Frees the slot of an entry. If a handler still works on it, the handler does not occupy a slot any more;
   * until it has ended, the entry is busy.
   */
  free(entry: Entry, ended?: Promise<void>): void;
  /** Whether a task has a slot, or something still works on it. */
  isBusy(request_id: RequestId): boolean;
  isFull(): boolean;
  /** Resolves when the condition, checked whenever a slot becomes free, holds, or when the signal fires. */
  waitUntil(isMet: () => boolean, signal: AbortSignal): Promise<void>;
};

/** Creates the slots of one agent. `onChange` is called when one was occupied or freed. */
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

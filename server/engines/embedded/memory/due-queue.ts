/**
 * The due queue: one entry for each ref, ordered by due time, with the lease under which the entry was taken.
 * A taken entry is not removed but hidden: it is due again when its lease expires.
 */
import BTreeModule from 'sorted-btree';
import { countLatestDue, STORE_LIMITS } from '../../../ports/limits.ts';
import type { Lease, Ref } from '../../../ports/store.ts';

const BTree = BTreeModule.default;

type Entry = { readonly ref: Ref; atMs: number; order: number; lease: Lease | null };

type Taken = { readonly ref: Ref; readonly lease: Lease };

export type DueQueue = {
  /** When the entry is due; undefined when there is no entry. */
  atMs(ref: Ref): number | undefined;
  /** Whether the entry was last taken under this lease. */
  isHeld(ref: Ref, lease: Lease): boolean;
  /** Whether a lease hides the entry now. */
  isHidden(ref: Ref, nowMs: number): boolean;
  /** Re-times an entry, creating it if necessary, and replaces its lease. */
  set(ref: Ref, atMs: number, lease: Lease | null): void;
  remove(ref: Ref): void;
  /** Takes at most `limit` due entries as `Store.takeDue` says, each under a new lease that hides it. */
  take(nowMs: number, limit: number): readonly Taken[];
  /** The earliest due time; undefined when the queue is empty. */
  earliestMs(): number | undefined;
};

/** Creates an empty queue. Its own leases begin with `run`: none of an earlier generation is valid. */
export function createDueQueue(run: number): DueQueue {
  const byRef = new Map<Ref, Entry>();
  const byTime = new BTree<Entry, undefined>(undefined, (a, b) => a.atMs - b.atMs || a.order - b.order);
  let count = 0;

  function set(ref: Ref, atMs: number, lease: Lease | null): void {
    const existing = byRef.get(ref);
    if (existing) {
      existing.lease = lease;
      if (existing.atMs === atMs) return;
      byTime.delete(existing);
    }
    const entry = existing ?? { ref, atMs, order: 0, lease };
    count += 1;
    entry.atMs = atMs;
    entry.order = count;
    byTime.set(entry, undefined);
    if (!existing) byRef.set(ref, entry);
  }

  function takeEach(limit: number, nowMs: number, findNext: () => Entry | undefined): Taken[] {
    const taken: Taken[] = [];
    while (taken.length < limit) {
      const next = findNext();
      if (!next || next.atMs > nowMs) break;
      count += 1;
      const lease = `${run}-${count}`;
      set(next.ref, nowMs + STORE_LIMITS.leaseMs, lease);
      taken.push({ ref: next.ref, lease });
    }
    return taken;
  }

  return {
    atMs: (ref) => byRef.get(ref)?.atMs,
    isHeld: (ref, lease) => byRef.get(ref)?.lease === lease,
    isHidden(ref, nowMs) {
      const entry = byRef.get(ref);
      return entry !== undefined && entry.lease !== null && entry.atMs > nowMs;
    },
    set,
    remove(ref) {
      const entry = byRef.get(ref);
      if (!entry) return;
      byTime.delete(entry);
      byRef.delete(ref);
    },
    take(nowMs, limit) {
      const latestCount = countLatestDue(limit);
      const afterAllDue: Entry = { ref: 'task:', atMs: nowMs, order: Number.POSITIVE_INFINITY, lease: null };
      const earliest = takeEach(limit - latestCount, nowMs, () => byTime.minKey());
      const latest = takeEach(latestCount, nowMs, () => byTime.nextLowerKey(afterAllDue));
      return [...earliest, ...latest.reverse()];
    },
    earliestMs: () => byTime.minKey()?.atMs,
  };
}

/**
 * What is due when: one entry for each ref, in the order of their times, with the lease of whoever holds it.
 * A taken entry is not removed but hidden: it comes back by itself when its lease runs out.
 */
import BTreeModule from 'sorted-btree';
import type { Lease, Ref } from '../../../ports/store.ts';

const BTree = BTreeModule.default;

/** For how long a taken entry is hidden from everybody else. */
export const LEASE_MS = 1_500;

type Entry = { readonly ref: Ref; atMs: number; order: number; lease: Lease | null };

export type DueQueue = {
  /** When the entry is due; undefined: there is none. */
  atMs(ref: Ref): number | undefined;
  /** Whether the lease is still the entry's. */
  isHeld(ref: Ref, lease: Lease): boolean;
  /** Whether a lease hides it now. */
  isHidden(ref: Ref, nowMs: number): boolean;
  /** Re-times an entry, creating it if need be; its lease is the named one from now on, or none. */
  set(ref: Ref, atMs: number, lease: Lease | null): void;
  remove(ref: Ref): void;
  /** Takes at most so many entries whose time has come, earliest first, and hides them. */
  take(nowMs: number, limit: number): readonly { readonly ref: Ref; readonly lease: Lease }[];
  /** The earliest time of all; undefined when the list is empty. */
  earliestMs(): number | undefined;
};

/** Creates an empty list; leases begin with the name of the run, so that none outlives its process. */
export function createDueQueue(run: number): DueQueue {
  const byRef = new Map<Ref, Entry>();
  const byTime = new BTree<Entry, undefined>(undefined, (a, b) => a.atMs - b.atMs || a.order - b.order);
  let count = 0;

  function set(ref: Ref, atMs: number, lease: Lease | null): void {
    const known = byRef.get(ref);
    if (known) {
      known.lease = lease;
      if (known.atMs === atMs) return;
      byTime.delete(known);
    }
    const entry = known ?? { ref, atMs, order: 0, lease };
    count += 1;
    entry.atMs = atMs;
    entry.order = count;
    byTime.set(entry, undefined);
    if (!known) byRef.set(ref, entry);
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
      const taken: { ref: Ref; lease: Lease }[] = [];
      while (taken.length < limit) {
        const first = byTime.minKey();
        if (!first || first.atMs > nowMs) break;
        count += 1;
        const lease = `${run}-${count}`;
        set(first.ref, nowMs + LEASE_MS, lease);
        taken.push({ ref: first.ref, lease });
      }
      return taken;
    },
    earliestMs: () => byTime.minKey()?.atMs,
  };
}

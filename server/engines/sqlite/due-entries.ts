/**
 * The due entries as the writer keeps them: when tasks and agents are looked at next. A lease hides an entry
 * until its end.
 */
import { countLatestDue, STORE_LIMITS } from '../../ports/limits.ts';
import type { Lease, Ref } from '../../ports/store.ts';
import type { DueCall } from './calls.ts';
import type { Prepare } from './statements.ts';

export type TakenEntry = { readonly ref: Ref; readonly lease: Lease };

export type DueEntries = {
  /** Whether each entry still has the lease that its change names. */
  areHeld(changes: readonly DueCall[]): boolean;
  retime(changes: readonly DueCall[], nowMs: number): void;
  makeDue(agent: string, nowMs: number): void;
  /** Takes due entries as the port promises. */
  take(limit: number, nowMs: number): readonly TakenEntry[];
  renew(held: TakenEntry, nowMs: number): void;
  /** The earliest due time; `Infinity` if nothing will be due. */
  earliestMs(): number;
};

export function createDueEntries(prepare: Prepare, leasePrefix: string): DueEntries {
  let leases = 0;
  const find = prepare('SELECT lease, at_ms FROM due WHERE ref = ?');
  const put = prepare(
    'INSERT INTO due VALUES (?, ?, ?) ON CONFLICT (ref) DO UPDATE SET at_ms = excluded.at_ms, lease = excluded.lease',
  );
  const drop = prepare('DELETE FROM due WHERE ref = ?');
  const extend = prepare('UPDATE due SET at_ms = ? WHERE ref = ? AND lease = ?');
  const first = prepare('SELECT at_ms FROM due ORDER BY at_ms LIMIT 1');
  const selectEarliest = prepare('SELECT ref FROM due WHERE at_ms <= ? ORDER BY at_ms, ref LIMIT ?');
  const selectLatest = prepare('SELECT ref FROM due WHERE at_ms <= ? ORDER BY at_ms DESC, ref DESC LIMIT ?');

  function isHidden(ref: Ref, nowMs: number): boolean {
    const [lease, atMs] = find.get(ref) ?? [null];
    return lease !== null && Number(atMs) > nowMs;
  }

  return {
    areHeld: (changes) =>
      changes.every(({ ref, lease, isNew }) => lease === null || isNew || find.get(ref)?.[0] === lease),
    retime(changes, nowMs) {
      for (const { ref, atMs, lease, unlessHeld } of changes) {
        if (unlessHeld && isHidden(ref, nowMs)) continue;
        if (atMs === 'held') put.run(ref, nowMs + STORE_LIMITS.leaseMs, lease);
        else if (atMs === null) drop.run(ref);
        else put.run(ref, atMs, null);
      }
    },
    makeDue: (agent, nowMs) => void put.run(`agent:${agent}`, nowMs, null),
    take(limit, nowMs) {
      const latest = countLatestDue(limit);
      const refs = new Set(selectEarliest.all(nowMs, limit - latest).map(([ref]) => ref as Ref));
      if (refs.size === limit - latest) {
        for (const [ref] of selectLatest.all(nowMs, latest).toReversed()) refs.add(ref as Ref);
      }
      return [...refs].map((ref) => {
        leases += 1;
        const lease = leasePrefix + leases;
        put.run(ref, nowMs + STORE_LIMITS.leaseMs, lease);
        return { ref, lease };
      });
    },
    renew: ({ ref, lease }, nowMs) => void extend.run(nowMs + STORE_LIMITS.leaseMs, ref, lease),
    earliestMs: () => (first.get()?.[0] as number | undefined) ?? Number.POSITIVE_INFINITY,
  };
}

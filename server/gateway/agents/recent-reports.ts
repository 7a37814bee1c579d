/**
 * The final reports of each agent in the last five seconds. Until an agent has the response to such a report
 * it may count the task among its load, while the gateway has released its slot already.
 *
 * Kept by the process that got the report. One report costs an entry of a queue for five seconds. Those at
 * other processes are found among the tasks that ended last, which all callers of a tick read once.
 */
import { createSharedReads } from '../../async/shared-reads.ts';
import { externalLoad } from '../../domain/agent.ts';
import { TIME_BUDGETS } from '../../ports/limits.ts';
import type { Store } from '../../ports/store.ts';

/** A caller has its response within this time. */
const RECENT_MS = TIME_BUDGETS.responseWithinMs;

export type RecentReports = {
  /** Notes that a final report of the agent has arrived. */
  note(agent_id: string, nowMs: number): void;
  /** How many of the agent's have arrived lately. */
  count(agent_id: string, nowMs: number): number;
  /** How many of its tasks have ended lately, whichever process got the report. */
  countEnded(agent_id: string, nowMs: number): Promise<number>;
};

/** Creates it, empty. */
export function createRecentReports(store: Pick<Store, 'readEnded'>): RecentReports {
  const reads = createSharedReads<Awaited<ReturnType<Store['readEnded']>>>();
  const counts = new Map<string, number>();
  /** Oldest first; those before `first` are counted no more. */
  let queue: { readonly agent_id: string; readonly atMs: number }[] = [];
  let first = 0;

  function forgetOld(nowMs: number): void {
    for (let oldest = queue[first]; oldest && nowMs - oldest.atMs > RECENT_MS; oldest = queue[first]) {
      const left = (counts.get(oldest.agent_id) ?? 0) - 1;
      if (left > 0) counts.set(oldest.agent_id, left);
      else counts.delete(oldest.agent_id);
      first += 1;
    }
    // Moves no more entries than were removed.
    if (first * 2 < queue.length) return;
    queue = queue.slice(first);
    first = 0;
  }

  return {
    note(agent_id, atMs) {
      forgetOld(atMs);
      queue.push({ agent_id, atMs });
      counts.set(agent_id, (counts.get(agent_id) ?? 0) + 1);
    },
    count(agent_id, nowMs) {
      forgetOld(nowMs);
      return counts.get(agent_id) ?? 0;
    },
    async countEnded(agent_id, nowMs) {
      const ended = await reads.read('ended', () => store.readEnded());
      return ended.filter((one) => one.agent_id === agent_id && nowMs - one.endedMs <= RECENT_MS).length;
    },
  };
}

type Load = {
  readonly agent_id: string;
  readonly current_load: number;
  readonly request_ids?: readonly string[] | undefined;
};

/**
 * The external load behind a load that an agent says it has: it has counted the tasks it names, or about as
 * many as it holds if it names none. Where the external load would rise, the report may have reached another
 * process; so the tasks that ended last are read too. `before`: undefined for an agent without a record.
 */
export async function readExternalLoad(
  { store, recentReports }: { readonly store: Pick<Store, 'nowMs'>; readonly recentReports: RecentReports },
  { agent_id, current_load, request_ids }: Load,
  slots: number,
  before: number | undefined,
): Promise<number> {
  const load = (ownTasks: number, justReported: number): number =>
    externalLoad(current_load, { ownTasks, justReported }, before ?? 0);
  if (request_ids) return load(new Set(request_ids).size, 0);
  const nowMs = store.nowMs();
  const here = recentReports.count(agent_id, nowMs);
  if (before === undefined || load(slots, here) <= before) return load(slots, here);
  return load(slots, Math.max(here, await recentReports.countEnded(agent_id, nowMs)));
}

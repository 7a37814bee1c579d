/**
 * The load of an agent that is not this gateway's. Until an agent has the response to its final report it may
 * count the task among its load, while the gateway has released its slot already: so tasks of the agent that
 * ended in the last five seconds are taken off. All callers of a tick read once which these are.
 */
import { createSharedReads } from '../../async/shared-reads.ts';
import { externalLoad } from '../../domain/agent.ts';
import { TIME_BUDGETS } from '../../ports/limits.ts';
import type { Store } from '../../ports/store.ts';

/** A caller has its response within this time. */
const RECENT_MS = TIME_BUDGETS.responseWithinMs;

type Load = {
  readonly agent_id: string;
  readonly current_load: number;
  readonly request_ids?: readonly string[] | undefined;
};

export type ExternalLoads = {
  /**
   * The external load behind a load that an agent says it has: it has counted the tasks it names, or about as
   * many as it holds if it names none. What ended lately is read where the external load would rise.
   * `before`: undefined for an agent without a record.
   */
  read(agent: Load, slots: number, before: number | undefined): Promise<number>;
};

export function createExternalLoads(store: Pick<Store, 'nowMs' | 'readEnded'>): ExternalLoads {
  const reads = createSharedReads<Awaited<ReturnType<Store['readEnded']>>>();
  return {
    async read({ agent_id, current_load, request_ids }, slots, before) {
      const load = (ownTasks: number, justReported: number): number =>
        externalLoad(current_load, { ownTasks, justReported }, before ?? 0);
      if (request_ids) return load(new Set(request_ids).size, 0);
      if (before === undefined || load(slots, 0) <= before) return load(slots, 0);
      const sinceMs = store.nowMs() - RECENT_MS;
      const ended = await reads.read('ended', () => store.readEnded());
      return load(slots, ended.filter((one) => one.agent_id === agent_id && one.endedMs >= sinceMs).length);
    },
  };
}

/**
 * The load of an agent that does not come from this gateway. When an agent reports the end of a task, the
 * gateway releases the slot first; the agent may count the task until it has the response. So tasks that
 * ended in the last five seconds are subtracted. All callers of one tick share one read of these tasks.
 */
import { createSharedReads } from '../../async/shared-reads.ts';
import { externalLoad } from '../../domain/agent.ts';
import { TIME_BUDGETS } from '../../ports/limits.ts';
import type { Store } from '../../ports/store.ts';

/** Within this time a caller has its response. */
const RECENT_MS = TIME_BUDGETS.responseWithinMs;

type Load = {
  readonly agent_id: string;
  readonly current_load: number;
  readonly request_ids?: readonly string[] | undefined;
};

export type ExternalLoads = {
  /**
   * Subtracts the gateway's own tasks from the load that an agent sends: the tasks it names or, if it names
   * none, `slots`. Recently ended tasks are read only if the external load would rise. `before` is the last
   * external load; undefined if the agent has no record.
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

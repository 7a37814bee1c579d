/**
 * The tasks that an agent had lately. If the gateway repeats a push, or someone who has recorded it does, the
 * work does not start again.
 *
 * A delivered task never comes again. A dropped one may, when it was moved away and back. That is a new push,
 * whose `webhook-timestamp` is later than that of every push of the task that this agent has seen; a push
 * that is not later was recorded.
 */
import type { RequestId } from '../contract.ts';
import type { TraceOptions } from '../transport.ts';

export type RecentTasks = {
  /** Notes a push. `sentSeconds` is its `webhook-timestamp`, undefined if it has none. */
  see(request_id: RequestId, sentSeconds: number | undefined): void;
  /** Remembers that the agent has no more work on a task, because it was delivered or dropped. */
  add(request_id: RequestId, end: 'delivered' | 'dropped'): void;
  /** Whether a task that arrives now is over for this agent. A claimed one never is: it was just assigned. */
  isOver(request_id: RequestId, arrival: Arrival): boolean;
};

/** How a task came: by a claim or by a push with this `webhook-timestamp`; and the trace that it had. */
export type Arrival = { readonly trace?: TraceOptions } & (
  | { readonly kind: 'claim' }
  | { readonly kind: 'push'; readonly sentSeconds?: number }
);

/**
 * How many tasks are remembered; beyond that the oldest are forgotten. A signed push that is older than 300 s
 * is rejected anyway, so this recognises every recording if the agent ends at most 33 tasks a second. Each
 * task takes about 200 bytes of memory.
 */
const TASKS_MAX = 10_000;

export function createRecentTasks(): RecentTasks {
  const ends = new Map<RequestId, 'delivered' | 'dropped'>();
  const lastSent = new Map<RequestId, number>();

  function put<Value>(map: Map<RequestId, Value>, request_id: RequestId, value: Value): void {
    map.delete(request_id);
    map.set(request_id, value);
    if (map.size > TASKS_MAX) map.delete(map.keys().next().value ?? request_id);
  }

  return {
    see(request_id, sentSeconds) {
      if (sentSeconds === undefined || sentSeconds <= (lastSent.get(request_id) ?? 0)) return;
      put(lastSent, request_id, sentSeconds);
    },
    add: (request_id, end) => put(ends, request_id, end),
    isOver(request_id, arrival) {
      const end = ends.get(request_id);
      if (end !== 'dropped') return end === 'delivered';
      if (arrival.kind === 'claim') return false;
      return (arrival.sentSeconds ?? 0) <= (lastSent.get(request_id) ?? 0);
    },
  };
}

/**
 * The tasks that an agent had in its hands lately, so that a push which is repeated, by the gateway or by
 * someone who has recorded it, does not start the work again.
 *
 * A delivered task never comes again. A dropped one may: when it was moved away and back. Such a push is a
 * new one, with a later `webhook-timestamp` than every push of the task that this agent has seen; a push
 * that is not later was recorded.
 */
import type { RequestId } from '../contract.ts';
import type { TraceOptions } from '../transport.ts';

export type RecentTasks = {
  /** Notes a push: `sentSeconds` is its `webhook-timestamp`, undefined if it has none. */
  see(request_id: RequestId, sentSeconds: number | undefined): void;
  /** Remembers that the agent has no more work on a task, because it was delivered or dropped. */
  add(request_id: RequestId, end: 'delivered' | 'dropped'): void;
  /** Whether a task that arrives now is over for this agent. A claimed one has just been assigned to it. */
  isOver(request_id: RequestId, arrival: Arrival): boolean;
};

/** How a task came: claimed, or by a push with this `webhook-timestamp`; and the trace that came with it. */
export type Arrival = { readonly trace?: TraceOptions } & (
  | { readonly kind: 'claim' }
  | { readonly kind: 'push'; readonly sentSeconds?: number }
);

/**
 * How many tasks are remembered; beyond that the oldest are forgotten. A signed push is rejected by its age
 * after 300 s, so this recognises all recordings of an agent that ends up to 33 tasks a second. Its memory
 * grows with the number of tasks: about 200 bytes each.
 */
const TASKS_MAX = 10_000;

/** Creates the memory of one agent. */
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

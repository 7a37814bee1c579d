/**
 * The tasks that claims may hand out: for each agent by the time from which they may be, then by the time of
 * their assignment. Each call costs as much as the logarithm of what the agent has not acknowledged.
 */
import BTreeModule from 'sorted-btree';
import { claimableFromMs } from '../../../domain/delivery.ts';
import type { TaskState } from '../../../domain/task.ts';
import type { Claimable } from '../../../ports/store.ts';
import { lastPart, padMs, positionOf, type Range, rangeOf } from '../sqlite/row-keys.ts';

const BTree = BTreeModule.default;
type Queue = InstanceType<typeof BTree<string, undefined>>;

export type ClaimableTasks = {
  /** Puts the task where its new state says, or takes it out; null: the task is no longer open. */
  update(request_id: string, state: TaskState | null): void;
  list(agent_id: string, nowMs: number, limit: number): Claimable;
};

/** Tasks that were handed out before and may be again, from which the oldest are taken. */
const HANDED_OUT_MAX = 100;
/** Keys begin with the time from which the task is claimable: these with that of a task never handed out. */
const FRESH = rangeOf(padMs(0));

/** Creates it without tasks. */
export function createClaimableTasks(): ClaimableTasks {
  const entries = new Map<string, { readonly agent_id: string; readonly key: string }>();
  const queues = new Map<string, Queue>();

  function remove(request_id: string): void {
    const entry = entries.get(request_id);
    if (!entry) return;
    entries.delete(request_id);
    const queue = queues.get(entry.agent_id);
    queue?.delete(entry.key);
    if (queue?.size === 0) queues.delete(entry.agent_id);
  }

  return {
    update(request_id, state) {
      const fromMs = state && claimableFromMs(state);
      const agent_id = state?.agent_id ?? null;
      if (fromMs === null || agent_id === null) return remove(request_id);
      const key = `${padMs(fromMs)}/${positionOf(state?.delivery?.assignedMs ?? 0, request_id)}`;
      const entry = entries.get(request_id);
      if (entry?.key === key && entry.agent_id === agent_id) return;
      remove(request_id);
      const queue = queues.get(agent_id) ?? new BTree<string, undefined>();
      queue.set(key, undefined);
      queues.set(agent_id, queue);
      entries.set(request_id, { agent_id, key });
    },

    list(agent_id, nowMs, limit) {
      const queue = queues.get(agent_id);
      if (!queue) return { request_ids: [], nextMs: null };
      const until = padMs(nowMs + 1);
      const fresh = readKeys(queue, FRESH, limit);
      const handedOut = readKeys(queue, { from: FRESH.to, to: until }, HANDED_OUT_MAX);
      const assignment = (key: string): string => key.slice(FRESH.from.length);
      const found = [...handedOut, ...fresh].sort((a, b) => (assignment(a) < assignment(b) ? -1 : 1));
      const next = queue.nextHigherKey(until);
      return {
        request_ids: found.slice(0, limit).map(lastPart),
        nextMs: next === undefined ? null : Number(next.slice(0, next.indexOf('/'))),
      };
    },
  };
}

/** At most `limit` keys of the range. */
function readKeys(queue: Queue, { from, to }: Range, limit: number): string[] {
  const keys: string[] = [];
  let key = queue.nextHigherKey(from);
  while (key !== undefined && key < to && keys.length < limit) {
    keys.push(key);
    key = queue.nextHigherKey(key);
  }
  return keys;
}

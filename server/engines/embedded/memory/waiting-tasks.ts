/** The tasks that wait for an agent: by tag, oldest first. Joining or leaving twice is harmless. */
import BTreeModule from 'sorted-btree';
import { lastPart, positionOf } from '../sqlite/row-keys.ts';

const BTree = BTreeModule.default;
type Queue = InstanceType<typeof BTree<string, undefined>>;

export type WaitingTasks = {
  join(id: string, tags: readonly string[], sinceMs: number): void;
  leave(id: string): void;
  /** Whether anybody waits for an agent with one of the tags. */
  hasAny(tags: readonly string[]): boolean;
  /** Waiters that share a tag, oldest first, each once, from behind a place on. */
  list(tags: readonly string[], after: string | undefined, limit: number): readonly WaitingTask[];
};

export type WaitingTask = { readonly request_id: string; readonly position: string };

/** Creates an empty set of waiters. */
export function createWaitingTasks(): WaitingTasks {
  const positions = new Map<string, { readonly position: string; readonly tags: readonly string[] }>();
  const queues = new Map<string, Queue>();

  function leave(id: string): void {
    const waiter = positions.get(id);
    if (!waiter) return;
    positions.delete(id);
    for (const tag of waiter.tags) {
      const queue = queues.get(tag);
      queue?.delete(waiter.position);
      if (queue?.size === 0) queues.delete(tag);
    }
  }

  return {
    leave,
    join(id, tags, sinceMs) {
      leave(id);
      const position = positionOf(sinceMs, id);
      positions.set(id, { position, tags });
      for (const tag of tags) {
        const queue = queues.get(tag) ?? new BTree<string, undefined>();
        queue.set(position, undefined);
        queues.set(tag, queue);
      }
    },
    hasAny: (tags) => positions.size > 0 && tags.some((tag) => queues.has(tag)),
    list(tags, after, limit) {
      const mine = [...new Set(tags)].flatMap((tag) => queues.get(tag) ?? []);
      const found: WaitingTask[] = [];
      let position = nextPosition(mine, after);
      while (position !== undefined && found.length < limit) {
        found.push({ request_id: lastPart(position), position });
        position = nextPosition(mine, position);
      }
      return found;
    },
  };
}

/** The smallest place behind this one in any of the queues. */
function nextPosition(queues: readonly Queue[], after: string | undefined): string | undefined {
  let next: string | undefined;
  for (const queue of queues) {
    const position = queue.nextHigherKey(after);
    if (position !== undefined && (next === undefined || position < next)) next = position;
  }
  return next;
}

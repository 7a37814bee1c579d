/** The tasks that wait for an agent: by tag, oldest first. Joining or leaving twice is harmless. */
import BTreeModule from 'sorted-btree';
import { lastPart, placeOf } from './rows.ts';

const BTree = BTreeModule.default;
type Queue = InstanceType<typeof BTree<string, undefined>>;

export type Waiters = {
  join(id: string, tags: readonly string[], sinceMs: number): void;
  leave(id: string): void;
  /** Whether anybody waits for an agent with one of the tags. */
  hasAny(tags: readonly string[]): boolean;
  /** Waiters that share a tag, oldest first, each once, from behind a place on. */
  list(tags: readonly string[], after: string | undefined, limit: number): readonly Waiter[];
};

export type Waiter = { readonly request_id: string; readonly place: string };

/** Creates an empty set of waiters. */
export function createWaiters(): Waiters {
  const places = new Map<string, { readonly place: string; readonly tags: readonly string[] }>();
  const queues = new Map<string, Queue>();

  function leave(id: string): void {
    const waiter = places.get(id);
    if (!waiter) return;
    places.delete(id);
    for (const tag of waiter.tags) {
      const queue = queues.get(tag);
      queue?.delete(waiter.place);
      if (queue?.size === 0) queues.delete(tag);
    }
  }

  return {
    leave,
    join(id, tags, sinceMs) {
      leave(id);
      const place = placeOf(sinceMs, id);
      places.set(id, { place, tags });
      for (const tag of tags) {
        const queue = queues.get(tag) ?? new BTree<string, undefined>();
        queue.set(place, undefined);
        queues.set(tag, queue);
      }
    },
    hasAny: (tags) => places.size > 0 && tags.some((tag) => queues.has(tag)),
    list(tags, after, limit) {
      const mine = [...new Set(tags)].flatMap((tag) => queues.get(tag) ?? []);
      const found: Waiter[] = [];
      let place = nextPlace(mine, after);
      while (place !== undefined && found.length < limit) {
        found.push({ request_id: lastPart(place), place });
        place = nextPlace(mine, place);
      }
      return found;
    },
  };
}

/** The smallest place behind this one in any of the queues. */
function nextPlace(queues: readonly Queue[], after: string | undefined): string | undefined {
  let next: string | undefined;
  for (const queue of queues) {
    const place = queue.nextHigherKey(after);
    if (place !== undefined && (next === undefined || place < next)) next = place;
  }
  return next;
}

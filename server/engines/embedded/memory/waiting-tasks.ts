/** The tasks that wait for an agent: by tag, oldest first. */
import BTreeModule from 'sorted-btree';
import type { TagDemand } from '../../../ports/store.ts';
import { lastPart, positionOf } from '../sqlite/row-keys.ts';
import type { PositionRange } from './open-positions.ts';

const BTree = BTreeModule.default;
type Queue = InstanceType<typeof BTree<string, undefined>>;

type WaitingTask = { readonly request_id: string; readonly position: string };

export type WaitingTasks = {
  /** Idempotent: joining again replaces tags and time. */
  join(request_id: string, tags: readonly string[], sinceMs: number): void;
  /** Idempotent. */
  leave(request_id: string): void;
  count(): number;
  /** When the oldest of them was submitted; null when none waits. */
  oldestMs(): number | null;
  countTags(): number;
  /** At most so many of the tags that they ask for, each once, with what waits for it. */
  tags(limit: number): readonly TagDemand[];
  /** Whether a task waits for an agent with one of the tags. */
  hasAny(tags: readonly string[]): boolean;
  /**
   * At most `limit` tasks that share a tag, oldest first, each once, beginning after the given position;
   * without tags all of them.
   */
  list(tags: readonly string[] | undefined, after: string | undefined, limit: number): readonly WaitingTask[];
  /** At most `limit` of all tasks in the range, newest first. */
  listNewest(range: PositionRange, limit: number): readonly WaitingTask[];
};

/** Creates an empty set of waiting tasks. */
export function createWaitingTasks(): WaitingTasks {
  const waiting = new Map<string, { readonly position: string; readonly tags: readonly string[] }>();
  const queues = new Map<string, Queue>();
  const all: Queue = new BTree<string, undefined>();

  function leave(request_id: string): void {
    const task = waiting.get(request_id);
    if (!task) return;
    waiting.delete(request_id);
    all.delete(task.position);
    for (const tag of task.tags) {
      const queue = queues.get(tag);
      queue?.delete(task.position);
      if (queue?.size === 0) queues.delete(tag);
    }
  }

  return {
    leave,
    join(request_id, tags, sinceMs) {
      leave(request_id);
      const position = positionOf(sinceMs, request_id);
      waiting.set(request_id, { position, tags });
      all.set(position, undefined);
      for (const tag of tags) {
        const queue = queues.get(tag) ?? new BTree<string, undefined>();
        queue.set(position, undefined);
        queues.set(tag, queue);
      }
    },
    count: () => waiting.size,
    oldestMs() {
      const position = all.minKey();
      return position === undefined ? null : sinceMsOf(position);
    },
    countTags: () => queues.size,
    tags(limit) {
      const found: TagDemand[] = [];
      for (const [tag, queue] of queues) {
        if (found.length === limit) break;
        found.push({ tag, waiting: queue.size, oldestMs: sinceMsOf(queue.minKey() ?? '') });
      }
      return found;
    },
    hasAny: (tags) => waiting.size > 0 && tags.some((tag) => queues.has(tag)),
    list(tags, after, limit) {
      const sharing = tags ? [...new Set(tags)].flatMap((tag) => queues.get(tag) ?? []) : [all];
      const found: WaitingTask[] = [];
      let position = findNextPosition(sharing, after);
      while (position !== undefined && found.length < limit) {
        found.push({ request_id: lastPart(position), position });
        position = findNextPosition(sharing, position);
      }
      return found;
    },
    listNewest({ from, below }, limit) {
      const found: WaitingTask[] = [];
      let position = all.nextLowerKey(below);
      while (position !== undefined && position >= from && found.length < limit) {
        found.push({ request_id: lastPart(position), position });
        position = all.nextLowerKey(position);
      }
      return found;
    },
  };
}

function sinceMsOf(position: string): number {
  return Number(position.slice(0, position.indexOf('/')));
}

/** The smallest position after the given one in any of the queues. */
function findNextPosition(queues: readonly Queue[], after: string | undefined): string | undefined {
  let next: string | undefined;
  for (const queue of queues) {
    const position = queue.nextHigherKey(after);
    if (position !== undefined && (next === undefined || position < next)) next = position;
  }
  return next;
}

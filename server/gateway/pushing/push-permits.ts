/**
 * Permits to send. A push holds a permit from before its task is read until its request is written. Waiting
 * for the agent's response takes no permit. How many pushes may have a connection is another bound
 * (`pushes.ts`). Small and large pushes have separate permits, so large pushes to a slow agent never stop
 * small ones:
 *
 *   small   payload up to 64 KiB    counted: 512 at once, so at most 32 MiB
 *   large   longer                  by bytes: 48 MiB at once, read and encoded one at a time
 *
 * One origin may take a quarter of each kind, one agent an eighth. For example, when one agent does not read,
 * at most 64 small pushes to it are being sent, and 448 to others go on. Waiting pushes take turns by origin,
 * and within each origin by agent.
 *
 *   waiting ── agent, origin and all are below their share ──▶ sending ── written ──▶ released
 *      ╰── the signal fires ──▶ released
 *
 * A push starts while its share is not used up, so a share is exceeded by at most one push. Each waiting push
 * costs about 300 bytes of memory.
 */
import { createAmounts } from '../../async/amounts.ts';

export type PushPermits = {
  /** Takes a permit now and returns the function that gives it back; null if the push must wait. */
  takeAtOnce(push: PushSize): (() => void) | null;
  /**
   * Waits for a permit. Resolves with the function that gives it back, which may be called more than once.
   * Resolves with null if the signal fires first.
   */
  take(push: PushSize, signal: AbortSignal): Promise<(() => void) | null>;
};

type PushSize = {
  readonly agent_id: string;
  readonly origin: string;
  /** How much of the total this push takes. */
  readonly size: number;
};

/** How many small pushes, and how many bytes of large ones, may be sent at once. */
export const SMALL_PUSHES_MAX = 512;
export const LARGE_PUSH_BYTES_MAX = 48 * 2 ** 20;

const ORIGIN_SHARE = 1 / 4;
const AGENT_SHARE = 1 / 8;

type Waiting = PushSize & {
  /** Null once the signal has fired. */
  start: ((end: () => void) => void) | null;
};

/** Creates the permits of one kind; `max` is what all pushes together may take. */
export function createPushPermits(max: number): PushPermits {
  /** The waiting pushes by origin and agent. In each map the first entry has the next turn. */
  const waiting = new Map<string, Map<string, Waiting[]>>();
  const used = { all: 0, origins: createAmounts<string>(), agents: createAmounts<string>() };

  function add({ agent_id, origin }: PushSize, size: number): void {
    used.all += size;
    used.origins.add(origin, size);
    used.agents.add(agent_id, size);
  }

  const isOriginBelow = (origin: string) => used.origins.of(origin) < max * ORIGIN_SHARE;
  const isAgentBelow = (agent_id: string) => used.agents.of(agent_id) < max * AGENT_SHARE;

  /** Skips origins and agents that have used up their share; there are at most eight. */
  function findNext(): Waiting | undefined {
    if (used.all >= max) return undefined;
    for (const [origin, agents] of waiting) {
      if (!isOriginBelow(origin)) continue;
      for (const [agent_id, queue] of agents) {
        if (!isAgentBelow(agent_id)) continue;
        const next = queue.shift();
        moveToEnd(agents, agent_id, queue, queue.length);
        moveToEnd(waiting, origin, agents, agents.size);
        return next;
      }
    }
    return undefined;
  }

  function startNext(): void {
    for (let next = findNext(); next; next = findNext()) {
      if (next.start === null) continue;
      add(next, next.size);
      next.start(createEnd(next));
    }
  }

  function createEnd({ agent_id, origin, size }: PushSize): () => void {
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      add({ agent_id, origin, size }, -size);
      startNext();
    };
  }

  return {
    takeAtOnce(push) {
      // All waiting pushes are at a limit, so this push overtakes none that could start.
      if (used.all >= max || !isOriginBelow(push.origin) || !isAgentBelow(push.agent_id)) return null;
      add(push, push.size);
      return createEnd(push);
    },

    take(push, signal) {
      if (signal.aborted) return Promise.resolve(null);
      return new Promise((resolve) => {
        const one: Waiting = { ...push, start };
        function start(end: () => void): void {
          signal.removeEventListener('abort', leave);
          resolve(end);
        }
        function leave(): void {
          one.start = null;
          resolve(null);
        }
        signal.addEventListener('abort', leave, { once: true });
        const agents = waiting.get(push.origin) ?? new Map<string, Waiting[]>();
        const queue = agents.get(push.agent_id) ?? [];
        queue.push(one);
        waiting.set(push.origin, agents.set(push.agent_id, queue));
        startNext();
      });
    },
  };
}

/** Moves an entry to the end of the rotation, or removes it when nothing waits there any more. */
function moveToEnd<T>(entries: Map<string, T>, key: string, value: T, left: number): void {
  entries.delete(key);
  if (left > 0) entries.set(key, value);
}

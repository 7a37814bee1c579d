/**
 * The claims that wait for a task: one queue for each agent, oldest claim first. One loop for each queue
 * looks for tasks. So a new assignment costs one look and wakes one claim, however many claims wait.
 *
 *   claim ──▶ waiting ── a task is handed out ────────────────▶ resolved with it
 *               │ ├───── its wait is over, after a last look ──▶ resolved without one
 *               │ └───── its caller leaves, or the gateway drains ──▶ resolved with null, at once
 *               └─────── the store is out ────────────────────▶ rejected
 *
 * A queue exists while a claim waits in it. It costs a watch of the store, and a timer for each claim.
 */
import type { AgentState } from '../../domain/agent.ts';
import type { TaskInfo } from '../../domain/task.ts';
import type { TraceContext } from '../../domain/trace-context.ts';
import type { Clock } from '../../ports/clock.ts';
import { agentRef, type Store } from '../../ports/store.ts';

/** A task, with the trace it was submitted in. */
export type ClaimedTask = { readonly task: TaskInfo; readonly trace: TraceContext | undefined };

/** What a claim resolves with: a task, if there was one, and the agent's state at that time. */
export type Claimed = { readonly task: ClaimedTask | null; readonly state: AgentState };

export type HandedOut = {
  readonly state: AgentState;
  /** At most as many tasks as were asked for. */
  readonly tasks: readonly ClaimedTask[];
  /** Store time of the next look; null: only when something of the agent changes. */
  readonly nextLookMs: number | null;
};

export type ClaimQueues = {
  /** Resolves with a task, without one when the wait is over, or with null when the signal fires. */
  claim(agent_id: string, waitMs: number, signal: AbortSignal): Promise<Claimed | null>;
};

type Deps = {
  readonly store: Pick<Store, 'nowMs' | 'watch'>;
  readonly clock: Clock;
  /** Hands out at most `count` tasks of the agent. */
  handOut(agent_id: string, count: number): Promise<HandedOut>;
};

type Claim = {
  resolve(claimed: Claimed | null): void;
  reject(error: unknown): void;
};

type Queue = {
  readonly agent_id: string;
  /** Oldest first. */
  readonly claims: Set<Claim>;
  /** Claims whose wait is over: the next look is their last. */
  over: Claim[];
  /** Resolved when the next look is due. Each look replaces it. */
  woken: PromiseWithResolvers<void>;
};

export function createClaimQueues(deps: Deps): ClaimQueues {
  const queues = new Map<string, Queue>();

  function openQueue(agent_id: string): Queue {
    const queue: Queue = { agent_id, claims: new Set(), over: [], woken: Promise.withResolvers() };
    queues.set(agent_id, queue);
    return queue;
  }

  return {
    claim(agent_id, waitMs, signal) {
      if (signal.aborted) return Promise.resolve(null);
      const existing = queues.get(agent_id);
      const queue = existing ?? openQueue(agent_id);
      const task = joinQueue(deps, queue, waitMs, signal);
      if (existing) queue.woken.resolve();
      else
        void serveQueue(deps, queue, () => {
          if (queues.get(agent_id) === queue) queues.delete(agent_id);
        });
      return task;
    },
  };
}

function joinQueue(
  { clock }: Deps,
  queue: Queue,
  waitMs: number,
  signal: AbortSignal,
): Promise<Claimed | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Claimed | null>();
  const done = new AbortController();
  const leave = (): void => {
    queue.claims.delete(claim);
    done.abort('done');
    signal.removeEventListener('abort', onAbort);
  };
  const claim: Claim = {
    resolve(claimed) {
      leave();
      resolve(claimed);
    },
    reject(error) {
      leave();
      reject(error);
    },
  };
  const onAbort = (): void => {
    claim.resolve(null);
    queue.woken.resolve();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  queue.claims.add(claim);
  if (waitMs <= 0) queue.over.push(claim);
  else
    void clock.sleep(waitMs, done.signal).then(() => {
      if (done.signal.aborted) return;
      queue.over.push(claim);
      queue.woken.resolve();
    });
  return promise;
}

/** Looks for tasks when the agent changes, a claim joins or ends, or a task may be handed out again. */
async function serveQueue(deps: Deps, queue: Queue, close: () => void): Promise<void> {
  const ending = new AbortController();
  void watchAgent(deps, queue, close, ending.signal);
  let nextLookMs: number | null = null;
  while (queue.claims.size > 0) {
    await whenDue(deps, queue, nextLookMs);
    queue.woken = Promise.withResolvers();
    nextLookMs = await lookOnce(deps, queue);
  }
  // Nothing runs between the end of the last claim and this line. A later claim opens a new queue.
  close();
  ending.abort('empty');
}

/** Wakes the queue after each change of the agent. The watch notifies at once too, for the first look. */
async function watchAgent(
  { store }: Deps,
  queue: Queue,
  close: () => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const _ of store.watch(agentRef(queue.agent_id), signal)) queue.woken.resolve();
  } catch (error) {
    // The watch has ended, so a later claim must open a new queue.
    close();
    rejectAll(queue, error);
  }
}

async function whenDue({ store, clock }: Deps, queue: Queue, nextLookMs: number | null): Promise<void> {
  if (nextLookMs === null) return await queue.woken.promise;
  const woken = new AbortController();
  await Promise.race([
    queue.woken.promise,
    clock.sleep(Math.max(0, nextLookMs - store.nowMs()), woken.signal),
  ]);
  woken.abort('woken');
}

/**
 * Hands out tasks to the oldest claims. Returns when to look again if nothing wakes the queue; null: never.
 */
async function lookOnce(deps: Deps, queue: Queue): Promise<number | null> {
  const { claims } = queue;
  if (claims.size === 0) return null;
  const { over } = queue;
  queue.over = [];
  try {
    const { tasks, state, nextLookMs } = await deps.handOut(queue.agent_id, claims.size);
    for (const task of tasks) {
      const [oldest] = claims;
      oldest?.resolve({ task, state });
    }
    for (const claim of over) if (claims.has(claim)) claim.resolve({ task: null, state });
    return nextLookMs;
  } catch (error) {
    rejectAll(queue, error);
    return null;
  }
}

function rejectAll(queue: Queue, error: unknown): void {
  for (const claim of [...queue.claims]) claim.reject(error);
  queue.woken.resolve();
}

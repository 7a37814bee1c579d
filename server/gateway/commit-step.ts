/**
 * From a step of the state table to one commit, in one place: `batchFor()` adds to the task's new state the slots it
 * frees or takes, its due entry, its place among the waiters and, exactly when the step settles, the event.
 */

import { type Refusal, step, type Trigger } from '../domain/step.ts';
import { dueMs, isSettled, type TaskState } from '../domain/task.ts';
import type { Clock, Random } from '../ports/clock.ts';
import { GatewayError } from '../ports/gateway.ts';
import type {
  Batch,
  CommitResult,
  DueChange,
  Lease,
  Ref,
  SlotChange,
  Store,
  Stored,
} from '../ports/store.ts';

/** Names a task's due entry and watchers. */
export function taskRef(request_id: string): Ref {
  return `task:${request_id}`;
}

/** Names an agent's due entry and watchers. */
export function agentRef(agent_id: string): Ref {
  return `agent:${agent_id}`;
}

/** A move of a task from a stored state to the next. */
export type Transition = {
  readonly request_id: string;
  readonly before: Stored<TaskState>;
  readonly after: TaskState;
  readonly trigger: Trigger;
};

/** What a dispatcher's commit names beside the move. */
export type CommitOptions = {
  /** The lease under which the dispatcher acts; the commit fails if the entry was re-timed since. */
  readonly lease?: Lease;
  /** When the entry comes due again instead of when the new state says; `held`: it stays with the lease's holder. */
  readonly dueAt?: number | 'held';
  /** The entry stays as it is while somebody holds it: its push under way keeps its lease. */
  readonly unlessHeld?: boolean;
  /** The registration of the agent that was matched: an assignment is granted its slot only under it. */
  readonly registration?: string;
  readonly noneFree?: readonly string[];
};

/** The batch that makes the move, whole. */
export function batchFor(move: Transition, terms: CommitOptions = {}): Batch {
  const { request_id, before, after } = move;
  const settles = isSettled(after);
  const owner = before.value.agent_id;
  const unreported = settles && owner !== null && !reportsItself(move.trigger, owner);
  const leavesWaiters = before.value.waiting && !after.waiting;
  const joinsWaiters = after.waiting && !before.value.waiting;
  const slots = slotChanges(move, terms.registration);
  return {
    writes: [{ kind: 'task', id: request_id, expect: before.revision, value: after }],
    due: dueChange(move, terms),
    ...(slots.length > 0 && { slots }),
    ...((leavesWaiters || joinsWaiters) && {
      wait: {
        op: joinsWaiters ? ('join' as const) : ('leave' as const),
        request_id,
        tags: after.task_tags,
        sinceMs: after.createdMs,
      },
    }),
    ...(terms.noneFree && { noneFree: terms.noneFree }),
    ...(settles && after.cli_session_id !== '' && { event: { session: after.cli_session_id, request_id } }),
    ...(unreported && { unreported: { agent_id: owner, request_id } }),
  };
}

function dueChange(move: Transition, terms: CommitOptions): readonly DueChange[] {
  const ref = taskRef(move.request_id);
  if (terms.lease !== undefined) {
    if (terms.dueAt === 'held') return [{ ref, atMs: 'held', lease: terms.lease }];
    return [{ ref, atMs: terms.dueAt ?? dueMs(move.after), lease: terms.lease }];
  }
  if (terms.unlessHeld) return [{ ref, atMs: dueMs(move.after) ?? move.after.deadlineMs, unlessHeld: true }];
  const atMs = terms.dueAt === undefined || terms.dueAt === 'held' ? dueMs(move.after) : terms.dueAt;
  // An entry that stays where it is keeps its lease: progress must not end the push that is under way.
  return atMs === dueMs(move.before.value) && terms.dueAt === undefined ? [] : [{ ref, atMs }];
}

/** A settled or moved task gives back the slot of the agent that had it; an assignment takes one. */
function slotChanges(move: Transition, registration: string | undefined): SlotChange[] {
  const { request_id, before, after } = move;
  const from = before.value.status === 'running' ? before.value.agent_id : null;
  const to = after.status === 'running' ? after.agent_id : null;
  if (from === to) return [];
  const changes: SlotChange[] = [];
  if (from !== null) changes.push({ op: 'release', agent_id: from, request_id });
  if (to !== null) changes.push({ op: 'grant', agent_id: to, request_id, registration: registration ?? '' });
  return changes;
}

function reportsItself(trigger: Trigger, agent_id: string): boolean {
  return (trigger.type === 'succeed' || trigger.type === 'fail') && trigger.agent_id === agent_id;
}

/** What `advance()` came to. `unchanged`: the step was allowed and made no difference. */
export type Advance =
  | { readonly kind: 'moved'; readonly state: TaskState }
  | { readonly kind: 'unchanged'; readonly state: TaskState }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly state: TaskState }
  | { readonly kind: 'absent' };

export type Transitions = {
  /**
   * Reads, steps and commits until the store takes it: at most 8 tries, then `busy` (503). Conflict means that
   * somebody else was faster, so the step is decided anew on what is stored now. `known` is what the caller saw last:
   * a step that it allows is committed without reading, and refused if it was not the last word.
   */
  advance(
    request_id: string,
    trigger: (state: TaskState) => Trigger,
    terms?: CommitOptions,
    known?: Stored<TaskState>,
  ): Promise<Advance>;
  /**
   * Runs a decision again and again until its commit is taken: at most 8 tries, then `busy` (503). Every try is given
   * the store time after which its commit must not be applied.
   */
  retry<T>(attempt: (notAfterMs: number) => Promise<T | undefined>): Promise<T>;
};

const TRIES_MAX = 8;
/** A commit held up for longer is not applied: its caller is told 503 soon after. */
const COMMIT_WITHIN_MS = 4_000;

/** Until when a commit that is begun now may be applied, by the store's clock. */
export function commitDeadlineMs(store: Pick<Store, 'nowMs'>): number {
  return store.nowMs() + COMMIT_WITHIN_MS;
}

/** Creates the shared read-decide-commit loop. */
export function createTransitions(deps: { store: Store; clock: Clock; random: Random }): Transitions {
  const { store, clock, random } = deps;

  async function retry<T>(attempt: (notAfterMs: number) => Promise<T | undefined>): Promise<T> {
    const notAfterMs = commitDeadlineMs(store);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const done = await attempt(notAfterMs);
      if (done !== undefined) return done;
      await clock.sleep(Math.floor(random() * 2 ** tries));
    }
    throw new GatewayError('busy', 'Too many changes at once to the same record. Send the request again.');
  }

  /** One try; undefined when somebody else was faster. */
  async function move(
    request_id: string,
    before: Stored<TaskState>,
    toTrigger: (state: TaskState) => Trigger,
    { notAfterMs, ...terms }: CommitOptions & { readonly notAfterMs: number },
  ): Promise<Advance | undefined> {
    const trigger = toTrigger(before.value);
    const decided = step(before.value, trigger, store.nowMs());
    if (!decided.ok) return { kind: 'refused', refusal: decided.refusal, state: before.value };
    const after = decided.state;
    if (after === before.value) return { kind: 'unchanged', state: after };
    const batch = batchFor({ request_id, before, after, trigger }, terms);
    const outcome: CommitResult = await store.commit({ ...batch, notAfterMs });
    return outcome.ok ? { kind: 'moved', state: after } : undefined;
  }

  return {
    retry,
    async advance(request_id, trigger, terms, known) {
      let guess = known;
      return await retry(async (notAfterMs): Promise<Advance | undefined> => {
        const guessed = guess && (await move(request_id, guess, trigger, { ...terms, notAfterMs }));
        guess = undefined;
        if (guessed?.kind === 'moved') return guessed;
        const before = await store.get('task', request_id);
        return before
          ? await move(request_id, before, trigger, { ...terms, notAfterMs })
          : { kind: 'absent' };
      });
    },
  };
}

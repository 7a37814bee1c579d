/**
 * Decides and commits the steps of tasks. `commitStep()` decides a step of the state table on a stored state,
 * commits it, and returns what it wrote. All changes of tasks go through it, even a submission that assigns
 * its task at once. Other submissions go through `submitPending()`; `reschedule()` only re-times due entries.
 */
import { runInSlices } from '../../async/slices.ts';
import type { AwaitedAcknowledgement } from '../../domain/history.ts';
import type { TaskDetails, TaskInput, TaskState } from '../../domain/task.ts';
import { needsDetails, type Refusal, type Trigger } from '../../domain/triggers.ts';
import type { Clock, Random } from '../../ports/clock.ts';
import { GatewayError } from '../../ports/gateway.ts';
import { TIME_BUDGETS } from '../../ports/limits.ts';
import type { OutputHead } from '../../ports/output.ts';
import {
  type CommitConflict,
  type CommitResult,
  type DueChange,
  type Store,
  type Stored,
  StoreUnavailable,
} from '../../ports/store.ts';
import { readDetails } from './read-task.ts';
import {
  batchFor,
  batchOfPending,
  type CommitOptions,
  decideTransition,
  type SubmissionRest,
  type Transition,
} from './task-batch.ts';

/**
 * The result of one step. `unchanged`: the step is allowed but makes no difference, so nothing was written.
 */
type StepResult =
  | {
      readonly kind: 'committed';
      readonly written: Stored<TaskState>;
      /** The head of the output, if the commit added to it. */
      readonly output?: OutputHead;
    }
  | { readonly kind: 'unchanged'; readonly state: TaskState }
  | {
      readonly kind: 'refused';
      readonly refusal: Refusal;
      readonly state: TaskState;
      /** The task's details, if the step rests on them. */
      readonly details?: TaskDetails;
    }
  | { readonly kind: 'conflict'; readonly conflict: CommitConflict };

/** The result of a step after its retries, so never a conflict. `absent`: there is no such task. */
export type AdvanceResult = Exclude<StepResult, { kind: 'conflict' }> | { readonly kind: 'absent' };

export type TaskCommits = {
  /** Decides one step on `before` and commits it. A conflict is returned, never retried. */
  commitStep(
    request_id: string,
    before: Stored<TaskState>,
    trigger: Trigger,
    options?: CommitOptions,
  ): Promise<StepResult>;
  /** Commits a submission whose task stays pending, and is due at once. */
  submitPending(
    state: TaskState,
    submission: SubmissionRest,
    options: Pick<CommitOptions, 'notAfterMs'>,
  ): Promise<CommitResult>;
  /**
   * Reads the task and commits a step, again after each conflict: at most 8 tries, then `busy` (503). The
   * first try uses what this process knows of the task, which may be old. If that try commits nothing, the
   * step is decided again on a new read.
   */
  advanceTask(request_id: string, trigger: Trigger, options?: CommitOptions): Promise<AdvanceResult>;
  /**
   * Re-times due entries and changes nothing else. With `noneFree` it fails while an agent that has one of
   * these tags has a free slot.
   */
  reschedule(due: readonly DueChange[], noneFree?: readonly string[]): Promise<CommitResult>;
  /**
   * Runs an attempt until it returns something: at most 8 tries with growing random pauses, then `busy`
   * (503). Each attempt gets the store time after which its commit must not be applied.
   */
  retryCommit<T>(attempt: (notAfterMs: number) => Promise<T | undefined>): Promise<T>;
};

export const TRIES_MAX = 8;

/** The store time until which a commit that begins now may be applied. */
export function commitDeadlineMs(store: Pick<Store, 'nowMs'>): number {
  return store.nowMs() + TIME_BUDGETS.commitWithinMs;
}

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** Finds the acknowledgement of a task that waits to be committed, if there is one. */
  readonly findAwaited: (request_id: string) => AwaitedAcknowledgement | null;
  /** Called for each submission once its commit is durable, and before its step if it has one. */
  readonly noteSubmitted: (input: TaskInput, state: TaskState) => void;
  /** Called for each step once its commit is durable. */
  readonly noteWritten: (transition: Transition) => void;
};

/**
 * Commits many items of one call, in slices. Rejects with `StoreUnavailable` where a commit is `busy`: `busy`
 * promises that nothing was changed, but other commits of the call may have been made.
 */
export async function commitEach<T>(
  items: readonly T[],
  commit: (item: T) => Promise<unknown>,
): Promise<void> {
  await runInSlices(items, commit).catch((error: unknown) => {
    const isBusy = error instanceof GatewayError && error.code === 'busy';
    throw isBusy ? new StoreUnavailable('Some of the changes may be made.', { cause: error }) : error;
  });
}

export function createTaskCommits(deps: Deps): TaskCommits {
  const { store, clock, random, findAwaited, noteSubmitted, noteWritten } = deps;

  const commitStep: TaskCommits['commitStep'] = async (request_id, before, trigger, options = {}) => {
    const { seenMatch, submission } = options;
    // If the details are missing because the task has changed, the commit becomes a conflict.
    const details = needsDetails(before.value, trigger)
      ? await readDetails(store, request_id, before.revision)
      : undefined;
    const notes = { awaited: findAwaited(request_id), ...(seenMatch && { seenMatch }) };
    const complete = details ? ({ ...trigger, details } as Trigger) : trigger;
    const decided = decideTransition(request_id, before, complete, store.nowMs(), notes);
    if (decided.kind !== 'transition')
      return { ...decided, state: before.value, ...(details && { details }) };
    const { transition } = decided;
    const result = await store.commit(batchFor(transition, options));
    if (!result.ok) return { kind: 'conflict', conflict: result };
    if (submission) noteSubmitted(submission.input, before.value);
    noteWritten(transition);
    const written = { value: transition.after, revision: result.revision };
    return { kind: 'committed', written, ...(result.output && { output: result.output }) };
  };

  const retryCommit: TaskCommits['retryCommit'] = async (attempt) => {
    const notAfterMs = commitDeadlineMs(store);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const done = await attempt(notAfterMs);
      if (done !== undefined) return done;
      await clock.sleep(Math.floor(random() * 2 ** tries));
    }
    throw new GatewayError('busy', 'Too many changes at once to the same record. Send the request again.');
  };

  return {
    commitStep,
    retryCommit,
    async submitPending(state, submission, options) {
      const result = await store.commit({ ...batchOfPending(state, submission), ...options });
      if (result.ok) noteSubmitted(submission.input, state);
      return result;
    },
    reschedule: (due, noneFree) => store.commit({ writes: [], due, ...(noneFree && { noneFree }) }),
    advanceTask(request_id, trigger, options) {
      let isFirst = true;
      return retryCommit<AdvanceResult>(async (notAfterMs) => {
        const known = isFirst ? await store.getForCommit(request_id) : undefined;
        isFirst = false;
        if (known) {
          const result = await commitStep(request_id, known, trigger, { ...options, notAfterMs });
          if (result.kind === 'committed') return result;
        }
        const before = await store.get('task', request_id);
        if (!before) return { kind: 'absent' };
        const result = await commitStep(request_id, before, trigger, { ...options, notAfterMs });
        return result.kind === 'conflict' ? undefined : result;
      });
    },
  };
}

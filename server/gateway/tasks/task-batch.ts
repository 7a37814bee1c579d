/**
 * From a trigger to the batch of one commit. `decideTransition()` is the only place that decides a step of
 * the state table and adds it to the task's history. `taskWrite()` is the only place that builds a task's
 * write, with what changes in the indexes and how the task ends. `batchFor()` is the only place that adds to
 * it what must commit with it: the slots it takes or releases, its due entry, the output and who writes it,
 * the rest of its submission and, exactly when the step settles the task, the event.
 */
import { dueMs } from '../../domain/delivery.ts';
import { type AwaitedAcknowledgement, addHistory } from '../../domain/history.ts';
import type { MatchRecord } from '../../domain/match-record.ts';
import { endingOf, type IndexChange, indexChanges } from '../../domain/projection.ts';
import { step } from '../../domain/step.ts';
import { isSettled, type TaskDetails, type TaskInput, type TaskState } from '../../domain/task.ts';
import type { Refusal, Trigger } from '../../domain/triggers.ts';
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { OutputChange } from '../../ports/output.ts';
import {
  type Batch,
  type DueChange,
  type Lease,
  type SlotChange,
  type Stored,
  type TaskWrite,
  taskRef,
  type Write,
} from '../../ports/store.ts';

/** A step of a task: the stored state it was decided on, the state it leads to, and its cause. */
export type Transition = {
  readonly request_id: string;
  readonly before: Stored<TaskState>;
  readonly after: TaskState;
  readonly trigger: Trigger;
  /** The details where they change; null removes them. */
  readonly details?: TaskDetails | null;
};

/** Additions to the new state. */
export type TransitionNotes = {
  /** The acknowledgement that this commit makes needless, if it does. */
  readonly awaited?: AwaitedAcknowledgement | null;
  /** The agents the decision saw, if the task is abandoned. */
  readonly seenMatch?: MatchRecord;
};

/** The decision on a step: refused, without a difference, or a transition to commit. */
export type Decision =
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'transition'; readonly transition: Transition };

/** Decides a step at this store time and adds it to the history of the new state. */
export function decideTransition(
  request_id: string,
  before: Stored<TaskState>,
  trigger: Trigger,
  nowMs: number,
  { awaited, seenMatch }: TransitionNotes = {},
): Decision {
  const decided = step(before.value, trigger, nowMs);
  if (!decided.ok) return { kind: 'refused', refusal: decided.refusal };
  if (decided.state === before.value) return { kind: 'unchanged' };
  const recorded = addHistory(before.value, decided.state, trigger, nowMs, awaited);
  const after = seenMatch ? { ...recorded, seenMatch } : recorded;
  const { details } = decided;
  const transition = { request_id, before, after, trigger, ...(details !== undefined && { details }) };
  return { kind: 'transition', transition };
}

/** The conditions under which alone a commit is applied, and when it is too late for it. */
type Guards = Pick<Batch, 'noneFree' | 'noneWaiting' | 'noContactAfter' | 'notAfterMs'>;

/** Additions of a commit to its transition. */
export type CommitOptions = Guards & {
  /** The lease under which the dispatcher acts. The commit fails if the due entry was re-timed since. */
  readonly lease?: Lease;
  /**
   * When the entry is due next; default: when the new state says. `held`: it stays leased to the same
   * dispatcher. The entry of a task that this commit submits is new: only if held it has the lease.
   */
  readonly dueAt?: number | 'held';
  /** Leaves the due entry alone while it is held, so that a push under way keeps its lease. */
  readonly unlessHeld?: boolean;
  /**
   * The registration that the step was decided on. Conflict `slot` when the agent that has the task behind
   * the step has another one.
   */
  readonly registration?: string;
  /** The agents the decision saw, if the task is abandoned. */
  readonly seenMatch?: MatchRecord;
  /** The pieces that the commit adds to the output, and who writes from now on. */
  readonly output?: Omit<OutputChange, 'request_id'>;
  /** The rest of its submission, if the commit submits the task. */
  readonly submission?: SubmissionRest;
};

/** The parts of a submission beside the state of its task. */
export type SubmissionRest = {
  readonly input: TaskInput;
  /** Other writes that belong to it. */
  readonly writes: readonly Write[];
  readonly openTasksMax: number;
};

/**
 * The write that takes a task from the stored state to another one. Before a new task there is none, or any
 * state under the revision `absent`. `unreported` is the agent that did not report the task's end.
 */
export function taskWrite(
  request_id: string,
  before: Stored<TaskState> | undefined,
  after: TaskState,
  unreported: string | null = null,
): TaskWrite {
  const expect = before?.revision ?? 'absent';
  const stored = expect === 'absent' ? undefined : before?.value;
  const changes = indexChanges(stored, after);
  const index = unreported === null ? changes : [...changes, addUnreported(unreported, after)];
  const ending = endingOf(request_id, stored, after);
  return { kind: 'task', id: request_id, expect, value: after, index, ...(ending && { ending }) };
}

function addUnreported(agent_id: string, { settledMs }: TaskState): IndexChange {
  const entry = { index: 'unreported', of: agent_id, fromMs: 0, atMs: settledMs ?? 0 } as const;
  return { op: 'add', ...entry, keepMs: STORE_LIMITS.unreportedMs };
}

/** Builds the whole batch of a transition. */
export function batchFor(transition: Transition, options: CommitOptions = {}): Batch {
  const { request_id, before, after, trigger, details } = transition;
  const settles = isSettled(after);
  const owner = before.value.agent_id;
  const unreported = settles && owner !== null && !isOwnReport(trigger, owner) ? owner : null;
  const slots = slotChanges(transition, options.registration);
  const output = options.output ?? endWriter(transition);
  const write = {
    ...taskWrite(request_id, before, after, unreported),
    ...(details !== undefined && { details }),
  };
  return {
    ...(options.submission ? joinSubmission(write, options.submission) : { writes: [write] }),
    due: dueChanges(transition, options),
    ...(slots.length > 0 && { slots }),
    ...(output && { output: { request_id, ...output } }),
    ...pickGuards(options),
    ...(settles && after.cli_session_id !== '' && { event: { session: after.cli_session_id, request_id } }),
  };
}

/** The conditions among the options. */
function pickGuards({ noneFree, noneWaiting, noContactAfter, notAfterMs }: Guards): Guards {
  return {
    ...(noneFree && { noneFree }),
    ...(noneWaiting && { noneWaiting }),
    ...(noContactAfter && { noContactAfter }),
    ...(notAfterMs !== undefined && { notAfterMs }),
  };
}

/** Builds the batch of a submission whose task stays pending, and is due at once. */
export function batchOfPending(state: TaskState, submission: SubmissionRest): Batch {
  const { request_id } = submission.input;
  const due = [{ ref: taskRef(request_id), atMs: state.createdMs }];
  return { ...joinSubmission(taskWrite(request_id, undefined, state), submission), due };
}

function joinSubmission(write: TaskWrite, { input, writes, openTasksMax }: SubmissionRest): Batch {
  const first: Write = { kind: 'input', id: input.request_id, expect: 'absent', value: input };
  return { writes: [first, write, ...writes], atMost: { openTasks: openTasksMax } };
}

function dueChanges({ request_id, before, after }: Transition, options: CommitOptions): readonly DueChange[] {
  const ref = taskRef(request_id);
  const { lease, dueAt, unlessHeld } = options;
  const isNew = before.revision === 'absent';
  if (isNew && dueAt !== 'held') return [{ ref, atMs: dueMs(after) }];
  if (lease !== undefined) {
    if (dueAt === 'held') return [{ ref, atMs: 'held', lease, ...(isNew && { isNew }) }];
    return [{ ref, atMs: dueAt ?? dueMs(after), lease }];
  }
  if (unlessHeld) return [{ ref, atMs: dueMs(after) ?? after.deadlineMs, unlessHeld: true }];
  const atMs = dueAt === undefined || dueAt === 'held' ? dueMs(after) : dueAt;
  // If its time does not change, the entry keeps its lease: progress must not end a push under way.
  return atMs === dueMs(before.value) && dueAt === undefined ? [] : [{ ref, atMs }];
}

/**
 * A settled or moved task releases the slot of the agent it had; an assignment takes one. A step that names a
 * registration takes the slot that its task holds once more, which the agent's next registration refuses.
 */
function slotChanges(
  { request_id, before, after }: Transition,
  registration?: string,
): readonly SlotChange[] {
  const from = before.value.status === 'running' ? before.value.agent_id : null;
  const to = after.status === 'running' ? after.agent_id : null;
  if (from === to && registration === undefined) return [];
  const changes: SlotChange[] = [];
  if (from !== null && from !== to) changes.push({ op: 'release', agent_id: from, request_id });
  if (to !== null) changes.push({ op: 'grant', agent_id: to, request_id, registration: registration ?? '' });
  return changes;
}

/** The writer of an agent that has the task no more, or does not know it, is out at once. */
function endWriter({ before, trigger }: Transition): CommitOptions['output'] {
  const isOut = trigger.type === 'reassign' || trigger.type === 'disown';
  return before.value.hasOutput && isOut ? { begins: { writer: null } } : undefined;
}

function isOwnReport(trigger: Trigger, agent_id: string): boolean {
  return (trigger.type === 'succeed' || trigger.type === 'fail') && trigger.agent_id === agent_id;
}

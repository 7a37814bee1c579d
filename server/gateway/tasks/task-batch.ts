/**
 * Builds the batch of one commit from a trigger. `decideTransition()` is the only place that decides a step
 * of the state table and adds it to the task's history. `taskWrite()` alone builds the write of a task, with
 * its changes of the indexes and its ending. `batchFor()` alone adds what must commit with the write: slots,
 * the due entry, output and its writer, the rest of a submission and, if the step settles the task, the
 * event.
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
  /** The new details, if they change; null removes them. */
  readonly details?: TaskDetails | null;
};

export type TransitionNotes = {
  /** The acknowledgement that this commit makes needless. */
  readonly awaited?: AwaitedAcknowledgement | null;
  /** The agents that the decision saw, if the task is abandoned. */
  readonly seenMatch?: MatchRecord;
};

/** The decision on a step. `unchanged`: the step is allowed but makes no difference. */
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

/** The conditions of a commit, and the time after which it must not be applied. */
type Guards = Pick<Batch, 'noneFree' | 'noneWaiting' | 'noContactAfter' | 'notAfterMs'>;

/** What a commit adds to its transition. */
export type CommitOptions = Guards & {
  /** The lease under which the dispatcher acts. The commit fails if the due entry was re-timed since. */
  readonly lease?: Lease;
  /**
   * When the entry is due next; default: when the new state says. `held`: the entry stays leased to this
   * dispatcher. The due entry of a new task is leased only if `held`.
   */
  readonly dueAt?: number | 'held';
  /** Leaves the due entry alone while it is held, so that a push under way keeps its lease. */
  readonly unlessHeld?: boolean;
  /**
   * The registration on which the step was decided. The commit is a conflict (`slot`) if the task's agent has
   * another one.
   */
  readonly registration?: string;
  /** The agents that the decision saw, if the task is abandoned. */
  readonly seenMatch?: MatchRecord;
  /** The pieces that the commit adds to the output, and who writes from now on. */
  readonly output?: Omit<OutputChange, 'request_id'>;
  /** The rest of the submission, if the commit submits the task. */
  readonly submission?: SubmissionRest;
};

/** The parts of a submission beside the state of its task. */
export type SubmissionRest = {
  readonly input: TaskInput;
  /** Other writes of the submission, such as its idempotency key. */
  readonly writes: readonly Write[];
  readonly openTasksMax: number;
};

/**
 * Builds the write that takes a task to another state. For a new task, `before` is undefined or has the
 * revision `absent`. `unreported` is the agent that did not report the task's end.
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
  // If the time does not change, the entry keeps its lease: progress must not end a push under way.
  return atMs === dueMs(before.value) && dueAt === undefined ? [] : [{ ref, atMs }];
}

/**
 * A task that settles or moves releases its agent's slot; an assignment takes one. A step that names a
 * registration takes its slot once more: the store refuses that if the agent has registered again.
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

/** Ends the writer at once when a task moves, or when its agent does not know the task any more. */
function endWriter({ before, trigger }: Transition): CommitOptions['output'] {
  const isOut = trigger.type === 'reassign' || trigger.type === 'disown';
  return before.value.hasOutput && isOut ? { begins: { writer: null } } : undefined;
}

function isOwnReport(trigger: Trigger, agent_id: string): boolean {
  return (trigger.type === 'succeed' || trigger.type === 'fail') && trigger.agent_id === agent_id;
}

/** The client's operations on tasks: submit, get, cancel. */
import { createHash } from 'node:crypto';
import { isKeptAsText, JsonText } from '../domain/json-text.ts';
import {
  createTaskState,
  describeFreshTask,
  describeTask,
  isSettled,
  type TaskInfo,
  type TaskInput,
} from '../domain/task.ts';
import { isLargeText } from '../domain/value-size.ts';
import { type Caller, UNNAMED_CALLER } from '../ports/caller.ts';
import type { Clock, Ids } from '../ports/clock.ts';
import { type Gateway, GatewayError, type Submission } from '../ports/gateway.ts';
import { type Batch, type Store, StoreUnavailable, taskRef, type Write } from '../ports/store.ts';
import { commitDeadlineMs, type TaskCommits } from './commit-step.ts';
import type { LargeTasks } from './large-tasks.ts';

export type TaskLimits = {
  /** Longest time a task may stay open, whatever its `timeout` says. */
  readonly timeoutMaxMs: number;
  readonly openTasksMax: number;
  /** How long an idempotency key is kept, from its first use. */
  readonly keepKeysMs: number;
};

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly commits: TaskCommits;
  readonly limits: TaskLimits;
  readonly largeTasks: LargeTasks;
};

/** Creates the client's operations on tasks. */
export function createTasks(deps: Deps): Pick<Gateway, 'submitTask' | 'getTask' | 'cancelTask'> {
  const { store, commits, largeTasks } = deps;
  return {
    submitTask: (submission, idempotencyKey, caller = UNNAMED_CALLER) =>
      idempotencyKey === undefined
        ? submitOnce(deps, submission, caller)
        : submitUnderKey(deps, submission, idempotencyKey, caller),

    async getTask(request_id, waitMs, signal, caller = UNNAMED_CALLER) {
      const read = () => largeTasks.read(request_id, { caller }, () => readTask(store, request_id, caller));
      const task = await read();
      if (!task) throw taskNotFound();
      if (waitMs === 0 || isSettled(task)) return task;
      await awaitTerminal(deps, request_id, waitMs, signal);
      return (await read()) ?? task;
    },

    async cancelTask(request_id) {
      const result = await commits.advanceTask(request_id, { type: 'cancel' });
      if (result.kind === 'absent') throw taskNotFound();
      if (result.kind === 'refused') {
        throw new GatewayError(
          'task_terminal',
          `The task has already ended as ${result.state.status}; only a pending or running task can be cancelled.`,
        );
      }
      return { ok: true, request_id };
    },
  };
}

/** The error for an unknown `request_id`. */
export function taskNotFound(): GatewayError {
  return new GatewayError(
    'task_not_found',
    'No task has this request_id. It was never submitted here, or it ended so long ago that it is no longer kept.',
  );
}

/**
 * Reads input and state of a task; undefined when it is not kept. One without the other is damage, and
 * throws.
 */
export async function readTask(
  store: Store,
  request_id: string,
  caller?: Caller,
): Promise<TaskInfo | undefined> {
  const readHalves = () =>
    Promise.all([store.get('input', request_id, caller), store.get('task', request_id, caller)]);
  let [input, state] = await readHalves();
  // Both are written and removed together, but read separately: only one of them shows a change in between.
  if (!input !== !state) [input, state] = await readHalves();
  if (input && state) return describeTask(input.value, state.value);
  if (!input && !state) return undefined;
  const [present, missing] = input ? ['input', 'state'] : ['state', 'input'];
  throw new StoreUnavailable(
    `The store is damaged: it has the ${present} of task ${request_id} but not its ${missing}.`,
  );
}

/** Resolves when the task is terminal, the wait is over or the caller leaves. */
async function awaitTerminal(
  deps: Deps,
  request_id: string,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  void deps.clock.sleep(waitMs, either).then(() => over.abort('over'));
  try {
    for await (const _ of deps.store.watch(taskRef(request_id), either)) {
      const state = await deps.store.get('task', request_id);
      if (!state || isSettled(state.value)) break;
    }
  } finally {
    over.abort('over');
  }
}

/**
 * Accepts a submission: input, state and due entry in one commit. Returns the task as it was submitted:
 * pending.
 */
async function submitOnce(deps: Deps, submission: Submission, caller: Caller): Promise<TaskInfo> {
  const { input, payloadBytes } = acceptInput(deps, submission);
  const result = await deps.store.commit({
    ...submitBatch(deps, input, payloadBytes, submission),
    caller,
    notAfterMs: commitDeadlineMs(deps.store),
  });
  if (!result.ok) throw tooManyOpen(deps.limits.openTasksMax);
  noteSize(deps, input);
  return describeFreshTask(input);
}

/**
 * A repeat under the same key returns the first response again; a different submission under it is refused.
 */
async function submitUnderKey(
  deps: Deps,
  submission: Submission,
  key: string,
  caller: Caller,
): Promise<TaskInfo> {
  const { store, limits } = deps;
  const fingerprint = fingerprintOf(submission);
  return await deps.commits.retryCommit(async (notAfterMs) => {
    const first = await store.get('key', key);
    if (first && first.value.fingerprint !== fingerprint) {
      throw new GatewayError(
        'idempotency_conflict',
        'This Idempotency-Key was used for another submission. Use a new key, or repeat the first submission unchanged.',
      );
    }
    // The repeat has the first one's content, so this works also when the task itself is kept no more.
    if (first) return describeFreshTask(nameInput(submission, first.value));
    const { input, payloadBytes } = acceptInput(deps, submission);
    const { request_id, create_time } = input;
    const write: Write = {
      kind: 'key',
      id: key,
      expect: 'absent',
      value: { request_id, fingerprint, create_time },
      keepMs: limits.keepKeysMs,
    };
    const batch = submitBatch(deps, input, payloadBytes, submission);
    const writes = [...batch.writes, write];
    const result = await store.commit({ ...batch, writes, caller, notAfterMs });
    if (result.ok) {
      noteSize(deps, input);
      return describeFreshTask(input);
    }
    if (result.conflict === 'full') throw tooManyOpen(limits.openTasksMax);
    return undefined;
  });
}

/** A large task is read in turns from the first time on. */
function noteSize({ largeTasks }: Deps, { request_id, payload }: TaskInput): void {
  if (payload instanceof JsonText && isLargeText(payload.text)) largeTasks.note(request_id);
}

/** Names the submission and renders its payload, for the last time unless it is short. */
function acceptInput(deps: Deps, submission: Submission): { input: TaskInput; payloadBytes: number } {
  const names = { request_id: deps.ids.newRequestId(), create_time: deps.store.nowMs() / 1_000 };
  const text = JSON.stringify(submission.payload);
  const payload = isKeptAsText(text) ? new JsonText(text) : submission.payload;
  return { input: nameInput({ ...submission, payload }, names), payloadBytes: Buffer.byteLength(text) };
}

/** The submitted fields with their id and time, in the wire's order of fields. */
function nameInput(
  submission: Submission,
  { request_id, create_time }: { readonly request_id: string; readonly create_time: number },
): TaskInput {
  const { task_type, task_tags, payload, cli_session_id, timeout } = submission;
  return { request_id, task_type, task_tags, payload, cli_session_id, create_time, timeout };
}

function submitBatch(deps: Deps, input: TaskInput, payloadBytes: number, submission: Submission): Batch {
  const createdMs = Math.round(input.create_time * 1_000);
  const deadlineMs = createdMs + Math.ceil(Math.min(input.timeout * 1_000, deps.limits.timeoutMaxMs));
  const queueEndMs =
    submission.queue_timeout === undefined
      ? null
      : Math.min(deadlineMs, createdMs + Math.ceil(submission.queue_timeout * 1_000));
  const state = { ...createTaskState(input, { createdMs, deadlineMs, queueEndMs }), payloadBytes };
  const id = input.request_id;
  return {
    writes: [
      { kind: 'input', id, expect: 'absent', value: input },
      { kind: 'task', id, expect: 'absent', value: state },
    ],
    due: [{ ref: taskRef(id), atMs: createdMs }],
    atMost: { openTasks: deps.limits.openTasksMax },
  };
}

function tooManyOpen(openTasksMax: number): GatewayError {
  return new GatewayError(
    'busy',
    `${openTasksMax} tasks are open already. Wait for some to end, then send again.`,
  );
}

/** A hash of the accepted fields as canonical JSON. Two submissions under one key must have the same. */
function fingerprintOf(submission: Submission): string {
  return createHash('sha256')
    .update(JSON.stringify(sortKeys(submission)))
    .digest('base64url');
}

/**
 * Turns an object into its sorted entries under one empty key. So no array looks like an object, and no key
 * of the payload, such as `__proto__`, has an effect. The limit on bodies bounds the depth, so recursion is
 * safe.
 */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { '': entries.map(([key, inner]) => [key, sortKeys(inner)]) };
}

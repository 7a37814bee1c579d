/** The client's side of a task: submit, get, cancel (§4.1, §4.3, §4.4). */
import { createHash } from 'node:crypto';
import {
  createTaskState,
  describeFreshTask,
  describeTask,
  isSettled,
  type TaskInfo,
  type TaskInput,
} from '../domain/task.ts';
import type { Clock, Ids } from '../ports/clock.ts';
import { type Gateway, GatewayError, type Submission } from '../ports/gateway.ts';
import { type Batch, type Store, StoreUnavailable, type Write } from '../ports/store.ts';
import { commitDeadlineMs, type Transitions, taskRef } from './commit-step.ts';

export type TaskLimits = {
  /** Longest time a task may stay open, whatever its `timeout` says. */
  readonly timeoutMaxMs: number;
  readonly openTasksMax: number;
  /** How long an idempotency key answers repeats, from its first use. */
  readonly keepKeysMs: number;
};

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly transitions: Transitions;
  readonly limits: TaskLimits;
};

/** Creates the client's operations on tasks. */
export function createTasks(deps: Deps): Pick<Gateway, 'submitTask' | 'getTask' | 'cancelTask'> {
  const { store, transitions } = deps;
  return {
    submitTask: (submission, idempotencyKey) =>
      idempotencyKey === undefined
        ? submitOnce(deps, submission)
        : submitUnderKey(deps, submission, idempotencyKey),

    async getTask(request_id, waitMs, signal) {
      const task = await readTask(store, request_id);
      if (!task) throw taskNotFound();
      return waitMs > 0 && !isTerminal(task) ? await awaitTerminal(deps, task, waitMs, signal) : task;
    },

    async cancelTask(request_id) {
      const done = await transitions.advance(request_id, () => ({ type: 'cancel' }));
      if (done.kind === 'absent') throw taskNotFound();
      if (done.kind === 'refused') {
        throw new GatewayError(
          'task_terminal',
          `The task has already ended as ${done.state.status}; only a pending or running task can be cancelled.`,
        );
      }
      return { ok: true, request_id };
    },
  };
}

/** The refusal for a `request_id` nobody knows (§7). */
export function taskNotFound(): GatewayError {
  return new GatewayError(
    'task_not_found',
    'No task has this request_id. It was never submitted here, or it ended so long ago that it is no longer kept.',
  );
}

/** Reads a task whole; undefined when it is not kept. Half a task is damage, and no answer: not "never submitted". */
export async function readTask(store: Store, request_id: string): Promise<TaskInfo | undefined> {
  const readHalves = () => Promise.all([store.get('input', request_id), store.get('task', request_id)]);
  let [input, state] = await readHalves();
  // Both come and go together, but are read one after the other: a change in between shows only once.
  if (!input !== !state) [input, state] = await readHalves();
  if (input && state) return describeTask(input.value, state.value);
  if (!input && !state) return undefined;
  const [there, missing] = input ? ['input', 'state'] : ['state', 'input'];
  throw new StoreUnavailable(
    `The store is damaged: it has the ${there} of task ${request_id} and not its ${missing}.`,
  );
}

function isTerminal(task: TaskInfo): boolean {
  return task.status === 'success' || task.status === 'failed';
}

/** Looks again whenever the task changes, until it has ended, the wait is over or the caller leaves. */
async function awaitTerminal(
  deps: Deps,
  first: TaskInfo,
  waitMs: number,
  signal: AbortSignal,
): Promise<TaskInfo> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  void deps.clock.sleep(waitMs, either).then(() => over.abort('over'));
  try {
    for await (const _hint of deps.store.watch(taskRef(first.request_id), either)) {
      const state = await deps.store.get('task', first.request_id);
      if (!state || isSettled(state.value)) break;
    }
  } finally {
    over.abort('over');
  }
  return (await readTask(deps.store, first.request_id)) ?? first;
}

/** Accepts a submission: input, state and due entry in one commit. The answer is the fresh snapshot of §2.1. */
async function submitOnce(deps: Deps, submission: Submission): Promise<TaskInfo> {
  const input = acceptInput(deps, submission);
  const outcome = await deps.store.commit({
    ...submitBatch(deps, input, submission, []),
    notAfterMs: commitDeadlineMs(deps.store),
  });
  if (!outcome.ok) throw tooManyOpen(deps.limits.openTasksMax);
  return describeFreshTask(input);
}

/** A repeat under the same key is answered with the first answer again; another content under it is refused. */
async function submitUnderKey(deps: Deps, submission: Submission, key: string): Promise<TaskInfo> {
  const { store, limits } = deps;
  const fingerprint = fingerprintOf(submission);
  return await deps.transitions.retry(async (notAfterMs) => {
    const known = await store.get('key', key);
    if (known && known.value.fingerprint !== fingerprint) {
      throw new GatewayError(
        'idempotency_conflict',
        'This Idempotency-Key was used for another submission. Use a new key, or repeat the first submission unchanged.',
      );
    }
    // The repeat has the first one's content, so the first answer needs nothing else, also when the task is kept no more.
    if (known) return describeFreshTask(nameInput(submission, known.value));
    const input = acceptInput(deps, submission);
    const { request_id, create_time } = input;
    const write: Write = {
      kind: 'key',
      id: key,
      expect: 'absent',
      value: { request_id, fingerprint, create_time },
      keepMs: limits.keepKeysMs,
    };
    const outcome = await store.commit({ ...submitBatch(deps, input, submission, [write]), notAfterMs });
    if (outcome.ok) return describeFreshTask(input);
    if (outcome.conflict === 'full') throw tooManyOpen(limits.openTasksMax);
    return undefined;
  });
}

function acceptInput(deps: Deps, submission: Submission): TaskInput {
  const names = { request_id: deps.ids.newRequestId(), create_time: deps.store.nowMs() / 1_000 };
  return nameInput(submission, names);
}

/** What was submitted, with the name and time it was given: the wire's order of fields (§2.1). */
function nameInput(
  submission: Submission,
  { request_id, create_time }: { readonly request_id: string; readonly create_time: number },
): TaskInput {
  const { task_type, task_tags, payload, cli_session_id, timeout } = submission;
  return { request_id, task_type, task_tags, payload, cli_session_id, create_time, timeout };
}

function submitBatch(deps: Deps, input: TaskInput, submission: Submission, more: readonly Write[]): Batch {
  const createdMs = Math.round(input.create_time * 1_000);
  const deadlineMs = createdMs + Math.ceil(Math.min(input.timeout * 1_000, deps.limits.timeoutMaxMs));
  const queueEndMs =
    submission.queue_timeout === undefined
      ? null
      : Math.min(deadlineMs, createdMs + Math.ceil(submission.queue_timeout * 1_000));
  const state = createTaskState(input, { createdMs, deadlineMs, queueEndMs });
  const id = input.request_id;
  return {
    writes: [
      { kind: 'input', id, expect: 'absent', value: input },
      { kind: 'task', id, expect: 'absent', value: state },
      ...more,
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

/** The accepted fields as canonical JSON, hashed: what two submissions under one key must agree in. */
function fingerprintOf(submission: Submission): string {
  return createHash('sha256')
    .update(JSON.stringify(sortKeys(submission)))
    .digest('base64url');
}

/**
 * An object becomes its sorted entries under one empty key, so that no array looks like it and no key of the
 * payload (`__proto__` for one) means anything. Depth is bounded by the limit on bodies, so recursion is safe.
 */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { '': entries.map(([key, inner]) => [key, sortKeys(inner)]) };
}

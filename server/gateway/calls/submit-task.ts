/**
 * `submitTask`: stores input, state and due entry in one commit. If this process knows a free agent, the same
 * commit assigns the task to it, and the push starts once that commit is durable:
 *
 *   an agent is free, as far as this process knows ── assigned ─▶ pushed to it, or claimed by it
 *        ╰── the store refuses: it is full after all, or an earlier task waits ──╮
 *   none is free, or too many pushes are under way ──────────────────────────────┴▶ pending, and due at once
 *
 * The response is the same in every case: the task as it was submitted, pending.
 */
import { createHash } from 'node:crypto';
import { type LargeWork, passOver } from '../../async/large-work.ts';
import { count } from '../../domain/advice-words.ts';
import { writeCanonical } from '../../domain/canonical-json.ts';
import { isKeptAsText, JsonText } from '../../domain/json-text.ts';
import { copyBeginning } from '../../domain/payload-preview.ts';
import {
  createTaskState,
  describeFreshTask,
  type TaskInfo,
  type TaskInput,
  type TaskState,
} from '../../domain/task.ts';
import type { TraceContext } from '../../domain/trace-context.ts';
import type { Ids } from '../../ports/clock.ts';
import { type Gateway, GatewayError, type Submission } from '../../ports/gateway.ts';
import type { Retention, Write } from '../../ports/store.ts';
import { type AssignDeps, commitAssignment, grantSlot, pickAgent } from '../dispatch/assign.ts';
import { commitDeadlineMs } from '../tasks/commit-step.ts';
import type { LeasedResult } from '../tasks/leased-task.ts';
import type { CommitOptions, SubmissionRest } from '../tasks/task-batch.ts';
import { runInSpan } from '../tasks/task-traces.ts';

export type TaskLimits = {
  /** The longest time that a task may stay open, whatever its `timeout` says. */
  readonly timeoutMaxMs: number;
  readonly openTasksMax: number;
  /** The longest time that an idempotency key is kept, from its first use. */
  readonly keepKeysMs: number;
};

type Deps = AssignDeps & {
  readonly ids: Ids;
  readonly limits: TaskLimits;
  readonly retention: Pick<Retention, 'keepTasksMs'>;
  readonly largeWork: LargeWork;
};

/** A submission with its rendered payload. A large payload is not rendered again. */
type RenderedSubmission = Submission & { readonly payloadBytes: number; readonly payloadPreview?: string };

/** A submission with its id and time, and the state that is stored if no agent is free. */
type AcceptedTask = { readonly input: TaskInput; readonly state: TaskState };

/** The trace in which a task is submitted. */
type Origin = { readonly trace: TraceContext | undefined };

/** Until when the commit may be applied, and what is written beside the task. */
type SubmissionCommit = Required<Pick<CommitOptions, 'notAfterMs'>> & Pick<SubmissionRest, 'writes'>;

export function createSubmitTask(deps: Deps): Pick<Gateway, 'submitTask'> {
  return {
    submitTask(submission, idempotencyKey, trace) {
      const span = deps.tracing.startSpan('submit', trace);
      const origin = { trace: span?.trace ?? trace };
      const submit = (): Promise<TaskInfo> =>
        idempotencyKey === undefined
          ? submitOnce(deps, submission, origin)
          : submitUnderKey(deps, submission, idempotencyKey, origin);
      return runInSpan(span, submit, ({ request_id }) => ({ request_id }));
    },
  };
}

async function submitOnce(deps: Deps, submission: Submission, origin: Origin): Promise<TaskInfo> {
  const notAfterMs = commitDeadlineMs(deps.store);
  const passed = renderPayload(deps, submission);
  const rendered = passed instanceof Promise ? await passed : passed;
  const accepted = acceptTask(deps, rendered, origin);
  const result = await commitSubmission(deps, accepted, { writes: [], notAfterMs });
  if (!result.ok) throw refuseTask(deps);
  return describeFreshTask(accepted.input);
}

/** A repeated submission under the same key gets the first response again; a different one is refused. */
async function submitUnderKey(
  deps: Deps,
  submission: Submission,
  key: string,
  origin: Origin,
): Promise<TaskInfo> {
  const { store, limits, retention, largeWork } = deps;
  let fingerprint: string | undefined;
  let rendered: RenderedSubmission | undefined;
  return await deps.commits.retryCommit(async (notAfterMs) => {
    fingerprint ??= await passOver(largeWork, submission.payload, () => fingerprintOf(submission));
    const first = await store.get('key', key);
    if (first && first.value.fingerprint !== fingerprint) {
      throw new GatewayError(
        'idempotency_conflict',
        'This Idempotency-Key was used for another submission. Use a new key, or repeat the first submission unchanged.',
      );
    }
    if (first) return describeFreshTask(nameInput(submission, first.value));
    rendered ??= await renderPayload(deps, submission);
    const accepted = acceptTask(deps, rendered, origin);
    const { request_id, create_time } = accepted.input;
    const write: Write = {
      kind: 'key',
      id: key,
      expect: 'absent',
      value: { request_id, fingerprint, create_time },
      // A key must not outlive its task, which is kept for `keepTasksMs` after its end.
      keepMs: Math.min(limits.keepKeysMs, retention.keepTasksMs),
    };
    const result = await commitSubmission(deps, accepted, { writes: [write], notAfterMs });
    if (result.ok) return describeFreshTask(accepted.input);
    if (result.conflict === 'full') throw refuseTask(deps);
    return undefined;
  });
}

/** Commits the submission: assigned if an agent is free, else pending. */
async function commitSubmission(
  deps: Deps,
  { input, state }: AcceptedTask,
  { writes, ...options }: SubmissionCommit,
): Promise<LeasedResult> {
  const submission = { input, writes, openTasksMax: deps.limits.openTasksMax };
  let result = await commitAssigned(deps, state, { ...options, submission });
  if (!result || (!result.ok && (result.conflict === 'slot' || result.conflict === 'waiting'))) {
    result = await deps.commits.submitPending(state, submission, options);
  }
  return result;
}

/** Resolves with undefined if no agent is free. */
async function commitAssigned(
  deps: Deps,
  state: TaskState,
  options: CommitOptions & { readonly submission: SubmissionRest },
): Promise<LeasedResult | undefined> {
  const { request_id, task_tags, trace } = options.submission.input;
  const span = deps.tracing.startSpan('match', trace, { request_id });
  deps.agentIndex.keepFresh();
  const record = pickAgent(deps, task_tags)?.record;
  // The name of the lease is unique, because this due entry is new.
  const lease = `submission of ${request_id}`;
  const task = { request_id, lease, before: { value: state, revision: 'absent' } };
  const assign = async () =>
    record &&
    (await grantSlot(deps, record, (to) =>
      commitAssignment(deps, task, { type: 'assign', ...to }, record, {
        ...options,
        noneWaiting: record.agent_tags,
      }),
    ));
  return await runInSpan(span, assign, (tried) => (tried?.ok && record ? { agent_id: record.agent_id } : {}));
}

function renderPayload(
  { largeWork }: Deps,
  submission: Submission,
): RenderedSubmission | Promise<RenderedSubmission> {
  return passOver(largeWork, submission.payload, () => {
    const text = JSON.stringify(submission.payload);
    if (!isKeptAsText(text)) return { ...submission, payloadBytes: Buffer.byteLength(text) };
    const payload = new JsonText(text);
    return { ...submission, payload, payloadBytes: payload.byteLength, payloadPreview: copyBeginning(text) };
  });
}

/** Gives the submission an id and a time, and creates its state. */
function acceptTask(deps: Deps, submission: RenderedSubmission, { trace }: Origin): AcceptedTask {
  const createdMs = deps.store.nowMs();
  const names = { request_id: deps.ids.newRequestId(createdMs), create_time: createdMs / 1_000 };
  const named = nameInput(submission, names);
  const input = trace ? { ...named, trace } : named;
  const deadlineMs = createdMs + Math.ceil(Math.min(input.timeout * 1_000, deps.limits.timeoutMaxMs));
  const queueEndMs =
    submission.queue_timeout === undefined
      ? null
      : Math.min(deadlineMs, createdMs + Math.ceil(submission.queue_timeout * 1_000));
  const { payloadBytes, payloadPreview } = submission;
  const state = createTaskState(input, { createdMs, deadlineMs, queueEndMs }, payloadBytes);
  return { input, state: payloadPreview === undefined ? state : { ...state, payloadPreview } };
}

/** Adds id and time to the submitted fields, in the order of the wire. */
function nameInput(
  submission: Submission,
  { request_id, create_time }: { readonly request_id: string; readonly create_time: number },
): TaskInput {
  const { task_type, task_tags, payload, cli_session_id, timeout } = submission;
  return { request_id, task_type, task_tags, payload, cli_session_id, create_time, timeout };
}

function refuseTask({ limits: { openTasksMax } }: Deps): GatewayError {
  const open = `${count(openTasksMax, 'task')} ${openTasksMax === 1 ? 'is' : 'are'} open already.`;
  return new GatewayError('busy', `${open} Wait for some to end, then send again.`);
}

/** Hashes the fields as canonical JSON. Two submissions under one key must have the same hash. */
function fingerprintOf(submission: Submission): string {
  return createHash('sha256').update(writeCanonical(submission)).digest('base64url');
}

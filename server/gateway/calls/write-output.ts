/**
 * `writeOutput`: an agent adds to the output of its task. If the store knows the writer, it appends without a
 * look at the task: a task that moves ends its writer. The first call of a writer is a step of the task,
 * which acknowledges it:
 *
 *   from = 0: read the task ─╮
 *                            ├─► append ──► stored, or skipped as a repeat
 *   from > 0 ────────────────╯     ├── gap ──► 422 with the right number
 *                                  ╰── another writer's, or settled: look at the task ──► its response, or
 *                                        from = 0 ──► one commit: acknowledged, the writer begins, its pieces
 *
 * A writer that was replaced does not begin again while another writes: its first call may come very late.
 *
 * A call with new questions is always a step of the task. First an append without pieces tells how many
 * pieces of this writer are stored. Then one commit stores questions and pieces. A question is skipped if its
 * place is among the stored pieces, or if it already waits for its answer. If a client has answered the
 * question before, the agent gets the answer again, in a piece behind its own. For example, an agent restarts
 * and asks `ok?` again: the same commit stores the question and, behind it, the answer.
 */
import { hash } from 'node:crypto';
import { type BoundedMap, createBoundedMap } from '../../async/bounded-map.ts';
import { findRefused, listAnsweredAgain, listOpenAgain } from '../../domain/asking.ts';
import type { WrittenQuestion } from '../../domain/question.ts';
import { hasDetails, isSettled, mayWrite, type TaskState } from '../../domain/task.ts';
import { type Gateway, GatewayError, type OutputWrite } from '../../ports/gateway.ts';
import type { OutputAppend } from '../../ports/output.ts';
import type { Store, Stored } from '../../ports/store.ts';
import { type RegisteredAgents, refuseStranger } from '../agents/registered-agents.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import { readDetails, taskNotFound } from '../tasks/read-task.ts';
import { renderAnswer } from './answer-task.ts';

type Deps = {
  readonly store: Store;
  readonly commits: TaskCommits;
  readonly agents: RegisteredAgents;
};

type Receipt = Awaited<ReturnType<Gateway['writeOutput']>>;

type Call = {
  readonly write: OutputWrite;
  readonly by: OutputAppend['by'];
  readonly notAfterMs: number;
};

/** How many names of writers are remembered, because computing a name costs a hash. */
const NAMES_MAX = 1_000;

export function createWriteOutput(deps: Deps): Pick<Gateway, 'writeOutput'> {
  const { agents, commits } = deps;
  const names = createBoundedMap<string, string>(NAMES_MAX);
  return {
    async writeOutput(write) {
      const by = { writer: nameWriter(names, write), from: write.from };
      const [, receipt] = await Promise.all([
        agents.noteContactIfRegistered(write.agent_id, { by: 'call', mayBeLate: true }),
        commits.retryCommit((notAfterMs) => tryWrite(deps, { write, by, notAfterMs })),
      ]);
      return receipt;
    },
  };
}

/** Resolves with undefined after a conflict: another call may just have stored the same. */
async function tryWrite(deps: Deps, call: Call): Promise<Receipt | undefined> {
  const { write, by } = call;
  const { request_id, from, pieces, questions = [] } = write;
  const asks = questions.length > 0;
  const readTask = () => deps.store.get('task', request_id);
  // Read before the append. If another call begins a writer in between, the commit below is a conflict.
  const seen = from === 0 || asks ? await readTask() : undefined;
  const append = (some: readonly string[]) => deps.store.appendOutput({ request_id, pieces: some, by });
  let appended = await append(asks ? [] : pieces);
  const stored = appended.ok ? appended.next : null;
  const fresh = questions.filter(({ at }) => at >= (stored ?? 0));
  if (asks && fresh.length === 0) appended = await append(pieces);
  if (appended.ok && fresh.length === 0) {
    const isStored = appended.next >= from + pieces.length;
    return describeReceipt(request_id, 'running', isStored || !appended.isFull, appended.next);
  }
  if (!appended.ok && appended.conflict === 'gap') throw describeGap(appended.next);
  // After a conflict the task is read again to explain it, because the first read may be too old. A writer
  // that begins keeps the first read.
  const isSeen = from === 0 || appended.ok;
  const before = isSeen && seen ? seen : await readTask();
  if (!before) throw taskNotFound();
  if (!mayWrite(before.value, write.agent_id)) return await refuseStranger(deps, write.agent_id);
  if (isSettled(before.value)) return describeReceipt(request_id, before.value.status, false, from);
  if (!appended.ok && from > 0) throw describeGap(0);
  return await commitWrite(deps, call, { questions: fresh, before, stored });
}

/** Shortens the writer's name to a hash, because the store keeps it with each write. */
function nameWriter(names: BoundedMap<string, string>, { agent_id, writer }: OutputWrite): string {
  const whole = JSON.stringify([agent_id, writer]);
  const name = names.get(whole) ?? hash('sha256', whole, 'base64url').slice(0, 16);
  names.set(whole, name);
  return name;
}

type WriteCommit = {
  /** Questions that are not stored yet. */
  readonly questions: readonly WrittenQuestion[];
  readonly before: Stored<TaskState>;
  /** How many pieces of this writer are stored; null if the writer begins. */
  readonly stored: number | null;
};

/** Resolves with undefined after a conflict for which there is no response. Then the call is tried again. */
async function commitWrite(
  deps: Deps,
  { write, by, notAfterMs }: Call,
  { questions, before, stored }: WriteCommit,
): Promise<Receipt | undefined> {
  const { request_id, agent_id } = write;
  const asks = questions.length > 0;
  const isSameWriter = stored !== null;
  const details =
    asks && hasDetails(before.value) ? await readDetails(deps.store, request_id, before.revision) : undefined;
  const trigger = {
    type: 'write',
    agent_id,
    ...(isSameWriter && { isSameWriter }),
    ...(asks && { questions }),
    ...(details && { details }),
  } as const;
  const open = new Set(listOpenAgain(before.value, trigger).map(({ at }) => at - write.from));
  const pieces = write.pieces.map((piece, index) => (open.has(index) ? '' : piece));
  const again = listAnsweredAgain(before.value, trigger);
  const behind = again.map(({ key, answer }) => renderAnswer(key, answer));
  const reset = JSON.stringify({ reset: true, agent_id });
  const output = {
    ...(!isSameWriter && { begins: { writer: by.writer, reset } }),
    append: { pieces, by, ...(asks && { ...needOf(write), behind }) },
  };
  const options = { notAfterMs, output };
  const result = await deps.commits.commitStep(request_id, before, trigger, options);
  if (result.kind === 'conflict') {
    if (result.conflict.conflict === 'gap') throw describeGap(result.conflict.next);
    if (result.conflict.conflict === 'replaced') throw describeReplaced();
    if (result.conflict.conflict === 'full') {
      return describeReceipt(request_id, before.value.status, false, stored ?? 0);
    }
    return undefined;
  }
  if (result.kind === 'refused' && result.refusal === 'wrong_question')
    throw describeRefused(write, findRefused(before.value, trigger));
  if (result.kind !== 'committed') return undefined;
  const { isFull = false, next = pieces.length } = result.output ?? {};
  return describeReceipt(request_id, result.written.value.status, asks || !isFull, next);
}

/**
 * A full output still takes a call of questions alone. With text, the call is stored as a whole or not at
 * all.
 */
function needOf({ pieces, questions = [] }: OutputWrite) {
  return questions.length === pieces.length ? { isNeeded: true } : { isWhole: true };
}

function describeReceipt(
  request_id: string,
  status: Receipt['status'],
  accepted: boolean,
  next: number,
): Receipt {
  return { ok: true, request_id, status, accepted, next };
}

function describeRefused({ from }: OutputWrite, refused: ReturnType<typeof findRefused>): GatewayError {
  const at = refused?.at ?? from;
  const detail =
    refused?.why === 'too many'
      ? 'is of one question too many: a task may have 16'
      : 'was asked with another prompt or schema before; take another key, or ask the same';
  return new GatewayError('validation_failed', detail, `/pieces/${at - from}/question/key`);
}

function describeReplaced(): GatewayError {
  const detail = 'is of a writer that another one has replaced: 0 of its pieces count, and it writes no more';
  return new GatewayError('validation_failed', detail, '/from');
}

function describeGap(next: number): GatewayError {
  const detail = `must be at most ${next}, the number of pieces that are stored of this writer`;
  return new GatewayError('validation_failed', detail, '/from');
}

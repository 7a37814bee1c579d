/**
 * Records the end of a push: the agent's contact and statistics, and the commit of the outcome. An unknown
 * outcome is committed under the lease of the task; other outcomes are guarded by the number of the attempt.
 * An acknowledgement is committed late, and only if it is still needed then.
 */
import { BUSY_REST_MS, retryPauseMs } from '../../domain/delivery.ts';
import type { TaskState } from '../../domain/task.ts';
import type { PushNote } from '../../domain/triggers.ts';
import type { Clock, Random } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import type { PushOutcome } from '../../ports/pusher.ts';
import { type Store, type Stored, taskRef } from '../../ports/store.ts';
import { makeUnacknowledgedDue } from '../agents/assignments.ts';
import type { PushRecords } from '../agents/push-records.ts';
import type { RegisteredAgents } from '../agents/registered-agents.ts';
import type { UntakenTasks } from '../agents/untaken-tasks.ts';
import { type TaskCommits, TRIES_MAX } from '../tasks/commit-step.ts';
import type { Acknowledgements } from './acknowledgements.ts';
import { isNotSent, type RunningPush } from './push-sending.ts';

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly agents: RegisteredAgents;
  readonly commits: TaskCommits;
  readonly acknowledgements: Acknowledgements;
  readonly observer: Pick<Observer, 'noteAgent'>;
  readonly pushRecords: Pick<PushRecords, 'note'>;
  readonly untakenTasks: Pick<UntakenTasks, 'noteTaken' | 'noteRetry'>;
};

/** Notes the contact and commits the outcome of an attempt. Throws what the store throws. */
export async function recordPush(deps: Deps, push: RunningPush, outcome: PushOutcome): Promise<void> {
  // If nothing was sent, the outcome says nothing about the agent.
  if (isNotSent(outcome)) return await recordOutcome(deps, push, outcome);
  keepRecord(deps, push, outcome);
  // The index learns of an untaken push before the next agent is picked.
  const noted = notePushContact(deps, push, outcome);
  if (outcome.kind !== 'acknowledged') await noted.catch(() => undefined);
  // The outcome is stored even if the agent's statistics cannot be.
  for (const done of await Promise.allSettled([recordOutcome(deps, push, outcome), noted])) {
    if (done.status === 'rejected') throw done.reason;
  }
}

/** Notes the push for administrators. */
function keepRecord(
  { store, clock, pushRecords, untakenTasks }: Deps,
  { attempt: { agent_id, request_id }, sentMs }: RunningPush,
  outcome: PushOutcome,
): void {
  const tookMs = sentMs === null ? 0 : clock.monotonicMs() - sentMs;
  pushRecords.note(agent_id, { request_id, outcome, nowMs: store.nowMs(), tookMs });
  if (outcome.kind === 'acknowledged') untakenTasks.noteTaken(request_id);
}

async function notePushContact(
  { store, agents, commits, observer }: Deps,
  { attempt: { agent_id, registration } }: RunningPush,
  outcome: PushOutcome,
): Promise<void> {
  const { status } = outcome;
  if (outcome.kind === 'acknowledged') {
    const touch = { by: 'push', taken: true, status, error: null, mayBeLate: true } as const;
    await agents.noteContactIfRegistered(agent_id, touch);
    return;
  }
  const agentStatus = await agents.findIfRegistered(agent_id);
  // A failure under an earlier registration says nothing about the agent's present process.
  if (agentStatus && agentStatus.record.registration !== registration) return;
  const touch = { by: 'push', taken: false, status, error: outcome.error } as const;
  // A busy agent has responded, so that is a contact.
  if (outcome.kind === 'untaken' && outcome.busy) {
    await agents.noteContactIfRegistered(agent_id, { ...touch, busy: true });
    return;
  }
  await store.touch(agent_id, touch);
  if (!agentStatus) return;
  const { left: answered410, offlineMs } = agentStatus.record;
  if (outcome.kind === 'untaken' && outcome.leave && !answered410) {
    const offline = { left: true, offlineMs: offlineMs ?? store.nowMs() };
    const { record } = await agents.changeRecord(agentStatus.record, (before) => ({ ...before, ...offline }));
    if (record.registration !== registration) return;
    observer.noteAgent('offline', record);
    await makeUnacknowledgedDue({ store, commits }, agent_id);
  }
}

/** Commits the outcome of an attempt. The step itself decides whether it still matters. */
async function recordOutcome(deps: Deps, push: RunningPush, outcome: PushOutcome): Promise<void> {
  const { store, commits } = deps;
  const { request_id, agent_id, written } = push.attempt;
  const attempt = written.value.delivery?.attempts ?? 0;
  const nowMs = store.nowMs();
  const note = describePushNote(deps, push, outcome, nowMs);
  switch (outcome.kind) {
    case 'acknowledged':
      push.isAcknowledged = true;
      if (await deps.acknowledgements.wait(request_id, { agent_id, attempt, ...note })) {
        await recordAcknowledged(deps, push, attempt, note);
      }
      return;
    case 'untaken': {
      const nextMs = nowMs + retryPauseMs(attempt, deps.random(), outcome.retryAfterMs);
      const busyUntilMs = outcome.busy ? nowMs + BUSY_REST_MS : null;
      // After "busy" or 410 the task is looked at again at once, because another agent may be free. A waiting
      // task is, too: it was offered to no agent during the attempt.
      const isDueNow = outcome.busy || outcome.leave || written.value.waiting;
      const options = isDueNow ? { dueAt: nowMs } : {};
      const trigger = { type: 'untaken', agent_id, attempt, nextMs, busyUntilMs, push: note } as const;
      const result = await commits.advanceTask(request_id, trigger, options);
      if (result.kind === 'unchanged') await pushDisownedAgain(deps, push, result.state);
      deps.untakenTasks.noteRetry(request_id, nextMs);
      return;
    }
    case 'unknown':
      await recordUnknown(deps, push, note, retryPauseMs(attempt, deps.random(), outcome.retryAfterMs));
  }
}

/** Describes the push for the task's history. */
function describePushNote(
  { clock }: Deps,
  { sentMs }: RunningPush,
  outcome: PushOutcome,
  ms: number,
): PushNote {
  const what = outcome.kind === 'acknowledged' ? String(outcome.status) : outcome.error;
  return sentMs === null ? { ms, what } : { ms, what, tookMs: Math.round(clock.monotonicMs() - sentMs) };
}

/**
 * Commits that the agent may have the task, and when it is pushed again. If the lease is lost, nothing is
 * committed, because another dispatcher has the task.
 */
async function recordUnknown(
  { store, commits, untakenTasks }: Deps,
  { attempt: { request_id, agent_id, written }, lease }: RunningPush,
  note: PushNote,
  pauseMs: number,
): Promise<void> {
  if (lease === null) return;
  const attempt = written.value.delivery?.attempts ?? 0;
  const nextMs = Math.min(written.value.deadlineMs, note.ms + pauseMs);
  const trigger = { type: 'unknown', agent_id, attempt, nextMs, push: note } as const;
  let before: Stored<TaskState> | undefined = written;
  for (let tries = 0; before && tries < TRIES_MAX; tries += 1) {
    const result = await commits.commitStep(request_id, before, trigger, { lease });
    if (result.kind === 'committed') {
      untakenTasks.noteRetry(request_id, nextMs);
      return;
    }
    if (result.kind !== 'conflict') break;
    if (result.conflict.conflict === 'lease') return;
    before = await store.get('task', request_id);
  }
  await commits.reschedule([{ ref: taskRef(request_id), atMs: nextMs, lease }]);
}

async function recordAcknowledged(
  deps: Deps,
  push: RunningPush,
  attempt: number,
  note: PushNote,
): Promise<void> {
  const { request_id, agent_id } = push.attempt;
  const trigger = { type: 'acknowledge', agent_id, attempt, push: note } as const;
  // Decides on the latest state, because another replica may have settled the task during the wait.
  const result = await deps.commits.advanceTask(request_id, trigger);
  if (result.kind === 'unchanged') await pushDisownedAgain(deps, push, result.state);
}

/**
 * Handles an outcome that changed nothing. If the task is still unacknowledged, its agent has registered
 * again without it: the earlier process took the push, so the task is due at once for the present process.
 */
async function pushDisownedAgain(
  { store, commits }: Pick<Deps, 'store' | 'commits'>,
  push: RunningPush,
  { delivery }: TaskState,
): Promise<void> {
  const { lease } = push;
  if (delivery?.acknowledged !== false || lease === null) return;
  // The lease is cleared first: while a push has a lease, the push counts as under way.
  push.lease = null;
  await commits.reschedule([{ ref: taskRef(push.attempt.request_id), atMs: store.nowMs(), lease }]);
}

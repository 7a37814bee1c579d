/**
 * The end of a push: the agent's contact and statistics, and the commit of the outcome. An unknown outcome is
 * committed under the lease of the task; the others are guarded by the number of the attempt. An
 * acknowledgement is committed late, and only if it is still needed then.
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
  // If nothing was sent to an agent, this says nothing of whether it is reachable.
  if (isNotSent(outcome)) return await recordOutcome(deps, push, outcome);
  keepRecord(deps, push, outcome);
  // When an agent did not take a task, the index learns it before the next agent is picked.
  const noted = notePushContact(deps, push, outcome);
  if (outcome.kind !== 'acknowledged') await noted.catch(() => undefined);
  // The task's outcome matters more than the agent's statistics: it is stored even where those cannot be.
  for (const done of await Promise.allSettled([recordOutcome(deps, push, outcome), noted])) {
    if (done.status === 'rejected') throw done.reason;
  }
}

/** The pushes of this process, as administrators see them. */
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
  // The failure of an attempt under an earlier registration says nothing about the agent as it is registered
  // now.
  if (agentStatus && agentStatus.record.registration !== registration) return;
  const touch = { by: 'push', taken: false, status, error: outcome.error } as const;
  // A busy agent responded: it is there.
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
      // After "busy" or 410 the task is looked at again at once: another agent may be free. A waiting task
      // too: it was not offered while the attempt was under way.
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

/** The push as the history has it. */
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
 * Commits that the agent may have the task, and when it is pushed again. If the lease is lost, another
 * dispatcher has the task, and its findings count.
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
  // Decided on what is known of the task now: another replica may have settled it while this waited.
  const result = await deps.commits.advanceTask(request_id, trigger);
  if (result.kind === 'unchanged') await pushDisownedAgain(deps, push, result.state);
}

/**
 * The outcome made no difference. Unless the task is acknowledged, its agent has registered again since and
 * does not have it: the earlier process answered, and the present one is pushed to at once.
 */
async function pushDisownedAgain(
  { store, commits }: Pick<Deps, 'store' | 'commits'>,
  push: RunningPush,
  { delivery }: TaskState,
): Promise<void> {
  const { lease } = push;
  if (delivery?.acknowledged !== false || lease === null) return;
  // Given back before the entry is due: while the lease is held, it says that a push is still under way.
  push.lease = null;
  await commits.reschedule([{ ref: taskRef(push.attempt.request_id), atMs: store.nowMs(), lease }]);
}

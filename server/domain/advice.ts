/**
 * The advice on a task: one hint for a person to act on, and the same as remedies for programs. Pure.
 *
 *   ended    no agent, deadline over, agent lost     why, and what helps the next task
 *   pending  no agent is free                        why, and how long it waits
 *   running  not acknowledged                        what became of the pushes or claims
 *            its agent is silent or offline          what becomes of the agent and of the task
 *            a question is open                      how to answer it
 *   else     no advice: success, cancelled, and a failure, which `error_info` explains
 */
import {
  type Advice,
  advise,
  adviseOnPushError,
  count,
  describeMs,
  NO_ADVICE,
  quote,
  remedy,
} from './advice-words.ts';
import { assignedAtMs, describeHistory } from './history.ts';
import type { HistoryRecord, TaskOutcome } from './history-record.ts';
import { adviseOnMatch } from './match-advice.ts';
import { isOpen } from './question.ts';
import { type Delivery, mayBeTaken, type TaskState } from './task.ts';
import type { TaskMatch } from './task-match.ts';

export type PresentAgent = {
  readonly agent_id: string;
  readonly pull: boolean;
  /** Also true when the agent is unregistered or its record is removed. */
  readonly isOffline: boolean;
  /** The agent's last contact; null when its record is removed. */
  readonly contactMs: number | null;
  /** From when on the agent's silence counts as a sign of trouble; null: never. */
  readonly silentMs: number | null;
  /** When the agent goes offline unless it has a contact before, or since when it is offline; null: never. */
  readonly offlineMs: number | null;
  /** When the task fails as lost unless the agent has a contact before; null: never. */
  readonly lostMs: number | null;
};

/** Everything that the advice rests on. `match` is set when the explanation of the task shows a match. */
export type Situation = {
  readonly state: TaskState;
  readonly outcome: TaskOutcome | null;
  readonly match: TaskMatch | null;
  readonly agent: PresentAgent | null;
  readonly nowMs: number;
};

/** After this long without a response or a claim, the advice says that the agent may have a problem. */
const SLOW_MS = 5_000;

export function adviseOnTask(situation: Situation): Advice {
  const { state, outcome } = situation;
  if (outcome !== null) return adviseOnEnded(situation, outcome);
  if (state.delivery === null) return adviseOnPending(situation);
  return adviseOnRunning(situation, state.delivery);
}

function adviseOnEnded({ state, match }: Situation, outcome: TaskOutcome): Advice {
  switch (outcome) {
    case 'no_agent': {
      const waited = describeWaited(state);
      const { hint, remedies } = match ? adviseOnMatch(match, null, waited !== '') : NO_ADVICE;
      return advise([waited, hint ?? '', SUBMIT_AGAIN], [...remedies, remedy('submit_again')]);
    }
    case 'timeout':
      return adviseOnTimeout(state);
    case 'agent_lost': {
      const agent_id = state.agent_id ?? '';
      const what = describeHistory(state).at(-1)?.detail ?? 'no contact';
      const assignedMs = assignedAtMs(state);
      const hadMs = assignedMs === null || state.settledMs === null ? null : state.settledMs - assignedMs;
      const had = hadMs === null ? '' : ` It had the task for ${describeMs(hadMs)}.`;
      const text = `Agent ${quote(agent_id)} was lost: ${what}, which is beyond the \`lost_after\` it registered with.${had} It may have done a part of the task, and may still be at it: look before you submit the task again.`;
      const action = 'Start the agent again, or if it runs, make sure that its heartbeats reach the gateway.';
      return advise([text, action], [remedy('start_agent', { agent_id }), remedy('submit_again')]);
    }
    default:
      return NO_ADVICE;
  }
}

const SUBMIT_AGAIN = 'That was so when the task failed. It does not start by itself: submit it again.';

function describeWaited({ queueEndMs, createdMs }: TaskState): string {
  if (queueEndMs === null || queueEndMs === createdMs) return '';
  return `The task waited ${describeMs(queueEndMs - createdMs)} for an agent, its whole \`queue_timeout\`.`;
}

function adviseOnTimeout({ agent_id, createdMs, deadlineMs, progress, history = [] }: TaskState): Advice {
  const timeout = describeMs(deadlineMs - createdMs);
  const longer = remedy('raise_timeout', { seconds: ((deadlineMs - createdMs) / 1_000) * 2 });
  if (agent_id === null) {
    const text = `The task's \`timeout\` of ${timeout} ended while it waited for an agent.`;
    const action =
      'Ask which agents could get it now with `POST /api/cli/match`, or submit it again with a longer `timeout`.';
    return advise([text, action], [longer]);
  }
  const failure = findFailure(history, agent_id);
  const wasTaken = history.some(
    ([event]) => event === 'push_taken' || event === 'acknowledged' || event === 'progress',
  );
  if (failure && !wasTaken) {
    const text = `The task's \`timeout\` of ${timeout} ended before agent ${quote(agent_id)} took it: ${describeFailure(failure)}.`;
    return advise([text, chooseCheck(failure)], [remedy('check_agent', { agent_id }), longer]);
  }
  const text = `The task's \`timeout\` of ${timeout} ended while agent ${quote(agent_id)} had it${progress > 0 ? `, at ${progress} %` : ''}.`;
  const action = 'Submit it with a longer `timeout`, or find out from the agent’s log what took so long.';
  return advise([text, action], [longer, remedy('check_agent', { agent_id })]);
}

function adviseOnPending({ state, match, nowMs }: Situation): Advice {
  if (!match || match.sharing.eligible > 0) return NO_ADVICE;
  const waitMs = state.queueEndMs === null ? null : Math.max(0, state.queueEndMs - nowMs);
  return adviseOnMatch(match, waitMs);
}

function adviseOnRunning(situation: Situation, delivery: Delivery): Advice {
  const { state, agent, nowMs } = situation;
  if (!agent) return NO_ADVICE;
  if (delivery.acknowledged) {
    const advice = adviseOnSilence(agent, state, nowMs);
    return advice === NO_ADVICE ? adviseOnQuestions(agent, state, nowMs) : advice;
  }
  const failure = findFailure(state.history ?? [], agent.agent_id, delivery.assignedMs);
  if (agent.isOffline) return adviseOnUnreached(situation, delivery, agent);
  if (agent.pull) return adviseOnUnclaimed(delivery, agent, nowMs);
  if (failure) return adviseOnPushes(situation, delivery, agent, failure);
  const openMs = nowMs - (delivery.attemptMs ?? nowMs);
  if (openMs < SLOW_MS) return NO_ADVICE;
  const text = `Agent ${quote(agent.agent_id)} has not responded to the push for ${describeMs(openMs)}; the connection stays open.`;
  const action = 'Look at its log: it should respond at once and work afterwards.';
  return advise([text, action], [remedy('check_agent', { agent_id: agent.agent_id })]);
}

const CHECK_ENDPOINT =
  'Check that the agent runs, and that the gateway can reach the endpoint it registered.';

function chooseCheck([, , , error]: HistoryRecord): string {
  return adviseOnPushError(error, CHECK_ENDPOINT);
}

function adviseOnPushes(
  { state, match, nowMs }: Situation,
  delivery: Delivery,
  { agent_id }: PresentAgent,
  failure: HistoryRecord,
): Advice {
  const nextMs = delivery.nextMs === null ? 0 : delivery.nextMs - nowMs;
  const next = nextMs > 0 ? ` The next attempt is in ${describeMs(nextMs)}.` : '';
  const isBusy = delivery.busy.some((busy) => busy.agent_id === agent_id);
  const others = state.waiting && match ? describeOthers(match, state.task_tags) : '';
  const check = remedy('check_agent', { agent_id });
  const start = remedy('start_agent', { tag: state.task_tags[0] ?? null });
  if (isBusy) {
    const text = `Agent ${quote(agent_id)} is too busy for the task: ${describeFailure(failure)}.${next}`;
    const action = `If that happens often, start another agent with ${describeOwnTags(state.task_tags)}, or let ${quote(agent_id)} register with a lower \`max_concurrent\`.`;
    return advise([text, others, KEEPS_TRYING, action], [start, check]);
  }
  if (mayBeTaken(delivery)) {
    const text = `Agent ${quote(agent_id)} may have the task, but gives no clear response: ${describeFailure(failure)}.${next}`;
    const action =
      'So the task stays with it. Look at its log: to take a task it should respond 2xx at once.';
    return advise([text, action], [check]);
  }
  const text = `Pushes to agent ${quote(agent_id)} fail: ${describeFailure(failure)}.${next}`;
  const action = chooseCheck(failure);
  return advise([text, action, others, KEEPS_TRYING], others === '' ? [check] : [check, start]);
}

const KEEPS_TRYING = 'The gateway keeps trying until the `timeout` of the task is over.';

/**
 * Says which other agents have a tag of a task that waits for another agent, and why it does not go to them.
 */
function describeOthers({ sharing, agents }: TaskMatch, task_tags: readonly string[]): string {
  const others = sharing.agents - agents.filter(({ reason }) => reason === 'has_this_task').length;
  const tags = describeOwnTags(task_tags);
  if (others === 0) return `No other agent has ${tags}.`;
  return `The ${count(others, 'other agent')} with ${tags} ${others === 1 ? 'gets' : 'get'} no task now.`;
}

function describeOwnTags([first = '', ...more]: readonly string[]): string {
  return more.length === 0 ? `the tag ${quote(first)}` : 'one of its tags';
}

function adviseOnUnclaimed(delivery: Delivery, { agent_id, contactMs }: PresentAgent, nowMs: number): Advice {
  const sinceMs = nowMs - delivery.assignedMs;
  if (sinceMs < SLOW_MS) return NO_ADVICE;
  const contact = contactMs === null ? '' : ` Its last contact was ${describeMs(nowMs - contactMs)} ago.`;
  const what =
    delivery.attempts === 0
      ? 'has not claimed the task'
      : `claimed the task ${count(delivery.attempts, 'time')} and has not acknowledged it`;
  const text = `Agent ${quote(agent_id)} ${what} since it was assigned ${describeMs(sinceMs)} ago.${contact}`;
  return advise([text, 'Check that it runs and claims tasks.'], [remedy('check_agent', { agent_id })]);
}

/** For an agent that is offline and has not acknowledged the task. */
function adviseOnUnreached({ state, nowMs }: Situation, delivery: Delivery, agent: PresentAgent): Advice {
  const { agent_id } = agent;
  const text = `Agent ${quote(agent_id)}, to which the task is assigned, is offline${describeContact(agent, nowMs)}.`;
  const moves = mayBeTaken(delivery)
    ? 'It may have the task, so the task moves to another agent only when it has been offline for 90 s.'
    : 'The task moves to another agent as soon as one with its tags has a free slot.';
  const remedies = [
    remedy('start_agent', { agent_id }),
    remedy('start_agent', { tag: state.task_tags[0] ?? null }),
  ];
  return advise([text, moves, 'Start the agent again, or another one with one of the tags.'], remedies);
}

/** For an agent that has acknowledged the task: speaks of its silence once that is a sign of trouble. */
function adviseOnSilence(agent: PresentAgent, { deadlineMs }: TaskState, nowMs: number): Advice {
  const { agent_id, isOffline, contactMs, silentMs, offlineMs, lostMs } = agent;
  if (!isOffline) {
    if (contactMs === null || silentMs === null || offlineMs === null || nowMs < silentMs) return NO_ADVICE;
    const text = `Agent ${quote(agent_id)} has taken the task and has been silent for ${describeMs(nowMs - contactMs)}.`;
    const next = `If it stays silent, it is offline in ${describeMs(offlineMs - nowMs)}`;
    const then = lostMs === null ? '.' : `, and the task fails as lost in ${describeMs(lostMs - nowMs)}.`;
    const action = 'Look at its log, and whether its heartbeats reach the gateway.';
    return advise([text, next + then, action], [remedy('check_agent', { agent_id })]);
  }
  const text = `Agent ${quote(agent_id)} has taken the task and is offline${describeContact(agent, nowMs)}.`;
  const remedies = [remedy('start_agent', { agent_id }), remedy('submit_again')];
  if (lostMs !== null) {
    const fails = `The task fails as lost in ${describeMs(lostMs - nowMs)}, unless the agent has a contact before.`;
    return advise([text, fails, 'Start the agent again under the same id.'], remedies);
  }
  const stays = `The task stays with it until it reports, at most for ${describeMs(deadlineMs - nowMs)} more.`;
  const action =
    'If the agent is gone, cancel the task and submit it again; an agent that registers with `lost_after` fails such tasks sooner.';
  return advise([text, stays, action], remedies);
}

function adviseOnQuestions({ agent_id }: PresentAgent, state: TaskState, nowMs: number): Advice {
  const open = state.questions?.filter(isOpen) ?? [];
  const [first] = open;
  if (!first) return NO_ADVICE;
  const waits = `Agent ${quote(agent_id)} has waited ${describeMs(nowMs - first.askedMs)} for an answer (${count(open.length, 'open question')}).`;
  const ends = `The task's \`timeout\` ends in ${describeMs(state.deadlineMs - nowMs)}.`;
  const action = 'Answer with `POST /api/cli/tasks/{request_id}/answer`, or cancel the task.';
  return advise([waits, ends, action], [remedy('answer', { agent_id })]);
}

function describeContact({ contactMs }: PresentAgent, nowMs: number): string {
  return contactMs === null ? '' : `: its last contact was ${describeMs(nowMs - contactMs)} ago`;
}

/** Finds the last failed push to the agent, unless the agent took a later one. */
function findFailure(
  history: readonly HistoryRecord[],
  agent_id: string,
  sinceMs = 0,
): HistoryRecord | undefined {
  const last = history.findLast(([event, , agent]) => event.startsWith('push_') && agent === agent_id);
  const isFailure = last !== undefined && last[0] !== 'push_taken' && (last[6] ?? last[1]) >= sinceMs;
  return isFailure ? last : undefined;
}

function describeFailure([, , , what, , times = 1]: HistoryRecord): string {
  return `${what ?? 'no response'} (${count(times, 'attempt')})`;
}

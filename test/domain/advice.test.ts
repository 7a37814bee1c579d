/**
 * The advice on tasks: for each situation the hint, word for word, and the remedies. Some are brought about
 * on a whole gateway in `test/gateway/explanations.test.ts`.
 */
import { describe, expect, test } from 'vitest';
import { adviseOnTask, type PresentAgent, type Situation } from '../../server/domain/advice.ts';
import { describeMs } from '../../server/domain/advice-words.ts';
import { addHistory, outcomeOf } from '../../server/domain/history.ts';
import { step } from '../../server/domain/step.ts';
import { createTaskState, type TaskState } from '../../server/domain/task.ts';
import type { Trigger } from '../../server/domain/triggers.ts';
import { remediesOf } from './remedies.ts';

const T0 = 1_000_000;

const input = {
  request_id: 'r1',
  task_type: 't',
  task_tags: ['gpu'],
  payload: {},
  cli_session_id: 's',
  create_time: T0 / 1_000,
  timeout: 60,
};
const fresh = createTaskState(input, { createdMs: T0, deadlineMs: T0 + 60_000, queueEndMs: null }, 16);

function run(triggers: readonly Trigger[], atMs = T0): TaskState {
  return triggers.reduce((state, trigger) => {
    const decided = step(state, trigger, atMs);
    if (!decided.ok) throw new Error(`${trigger.type}: ${decided.refusal}`);
    return addHistory(state, decided.state, trigger, atMs);
  }, fresh);
}

const ASSIGN: Trigger = { type: 'assign', agent_id: 'A', attempted: true, nextMs: T0 };
const CLAIMABLE: Trigger = { ...ASSIGN, attempted: false };
const ACKNOWLEDGE: Trigger = { type: 'acknowledge', agent_id: 'A', attempt: 1 };
const UNKNOWN: Trigger = {
  type: 'unknown',
  agent_id: 'A',
  attempt: 1,
  nextMs: T0 + 90_000,
  push: { ms: T0, what: 'answered 500' },
};
const UNTAKEN: Trigger = {
  type: 'untaken',
  agent_id: 'A',
  attempt: 1,
  nextMs: T0 + 90_000,
  busyUntilMs: null,
  push: { ms: T0, what: 'connection refused' },
};
const REFUSED: Trigger = { ...UNTAKEN, push: { ms: T0, what: 'answered 401: signature refused' } };
const online: PresentAgent = {
  agent_id: 'A',
  pull: false,
  isOffline: false,
  contactMs: T0,
  silentMs: null,
  offlineMs: null,
  lostMs: null,
};
const silent: PresentAgent = { ...online, silentMs: T0 + 40_000, offlineMs: T0 + 90_000 };
const offline: PresentAgent = { ...online, isOffline: true };
const pull: PresentAgent = { ...online, pull: true };

const TASKS: readonly (readonly [
  name: string,
  state: TaskState,
  agent: PresentAgent | null,
  hint: string | null,
  remedies: string,
])[] = [
  ['success', run([ASSIGN, { type: 'succeed', agent_id: 'A', result: null }]), null, null, ''],
  ['cancelled', run([{ type: 'cancel' }]), null, null, ''],
  [
    'an agent’s own failure',
    run([ASSIGN, { type: 'fail', agent_id: 'A', error_info: 'x', progress: null }]),
    null,
    null,
    '',
  ],
  ['just assigned', run([ASSIGN]), { ...online, contactMs: T0 + 30_000 }, null, ''],
  ['acknowledged', run([ASSIGN, ACKNOWLEDGE]), online, null, ''],
  [
    'acknowledged by an agent whose silence does not count yet',
    run([ASSIGN, ACKNOWLEDGE]),
    { ...silent, silentMs: T0 + 40_001 },
    null,
    '',
  ],
  [
    ...(['acknowledged by an agent that is silent', run([ASSIGN, ACKNOWLEDGE]), silent] as const),
    'Agent `A` has taken the task and has been silent for 40 s. If it stays silent, it is offline in 50 s. Look at its log, and whether its heartbeats reach the gateway.',
    'check_agent A',
  ],
  [
    ...([
      'acknowledged by a silent agent that has a lost_after',
      run([ASSIGN, ACKNOWLEDGE]),
      { ...silent, lostMs: T0 + 300_000 },
    ] as const),
    'Agent `A` has taken the task and has been silent for 40 s. If it stays silent, it is offline in 50 s, and the task fails as lost in 4 min. Look at its log, and whether its heartbeats reach the gateway.',
    'check_agent A',
  ],
  [
    ...([
      'acknowledged by an offline agent that has a lost_after',
      run([ASSIGN, ACKNOWLEDGE]),
      { ...offline, lostMs: T0 + 60_000 },
    ] as const),
    'Agent `A` has taken the task and is offline: its last contact was 40 s ago. The task fails as lost in 20 s, unless the agent has a contact before. Start the agent again under the same id.',
    'start_agent A, submit_again',
  ],
  [
    ...(['acknowledged by an agent that is offline', run([ASSIGN, ACKNOWLEDGE]), offline] as const),
    'Agent `A` has taken the task and is offline: its last contact was 40 s ago. The task stays with it until it reports, at most for 20 s more. If the agent is gone, cancel the task and submit it again; an agent that registers with `lost_after` fails such tasks sooner.',
    'start_agent A, submit_again',
  ],
  [
    ...(['not taken by an agent that is offline', run([ASSIGN, UNTAKEN]), offline] as const),
    'Agent `A`, to which the task is assigned, is offline: its last contact was 40 s ago. The task moves to another agent as soon as one with its tags has a free slot. Start the agent again, or another one with one of the tags.',
    'start_agent A, start_agent gpu',
  ],
  [
    ...([
      'perhaps taken by an agent whose record is removed',
      run([ASSIGN, UNKNOWN]),
      { ...offline, contactMs: null },
    ] as const),
    'Agent `A`, to which the task is assigned, is offline. It may have the task, so the task moves to another agent only when it has been offline for 90 s. Start the agent again, or another one with one of the tags.',
    'start_agent A, start_agent gpu',
  ],
  [
    ...(['an unclear response', run([ASSIGN, UNKNOWN]), online] as const),
    'Agent `A` may have the task, but gives no clear response: answered 500 (1 attempt). The next attempt is in 50 s. So the task stays with it. Look at its log: to take a task it should respond 2xx at once.',
    'check_agent A',
  ],
  [
    ...(['not claimed', run([CLAIMABLE]), pull] as const),
    'Agent `A` has not claimed the task since it was assigned 40 s ago. Its last contact was 40 s ago. Check that it runs and claims tasks.',
    'check_agent A',
  ],
  [
    ...([
      'claimed and not acknowledged',
      run([CLAIMABLE, { type: 'attempt', pull: true, nextMs: T0 }]),
      pull,
    ] as const),
    'Agent `A` claimed the task 1 time and has not acknowledged it since it was assigned 40 s ago. Its last contact was 40 s ago. Check that it runs and claims tasks.',
    'check_agent A',
  ],
  [
    ...(['no response to the push', run([ASSIGN]), online] as const),
    'Agent `A` has not responded to the push for 40 s; the connection stays open. Look at its log: it should respond at once and work afterwards.',
    'check_agent A',
  ],
  [
    ...(['a deadline while it waited', run([{ type: 'wait' }, { type: 'expire' }]), null] as const),
    "The task's `timeout` of 60 s ended while it waited for an agent. Ask which agents could get it now with `POST /api/cli/match`, or submit it again with a longer `timeout`.",
    'raise_timeout 120',
  ],
  [
    ...(['a deadline before its agent took it', run([ASSIGN, UNTAKEN, { type: 'expire' }]), null] as const),
    "The task's `timeout` of 60 s ended before agent `A` took it: connection refused (1 attempt). Check that the agent runs, and that the gateway can reach the endpoint it registered.",
    'check_agent A, raise_timeout 120',
  ],
  [
    ...([
      'a deadline before its agent took it, whose signature it refused',
      run([ASSIGN, REFUSED, { type: 'expire' }]),
      null,
    ] as const),
    "The task's `timeout` of 60 s ended before agent `A` took it: answered 401: signature refused (1 attempt). Compare its push secret with `PUSH_SECRET` of the gateway, and its clock with that of the gateway: they may be 5 minutes apart. The log of an agent that is built on the kit says which it is.",
    'check_agent A, raise_timeout 120',
  ],
  [
    ...([
      'a deadline while its agent worked',
      run([ASSIGN, { type: 'progress', agent_id: 'A', progress: 40, reply: null }, { type: 'expire' }]),
      null,
    ] as const),
    "The task's `timeout` of 60 s ended while agent `A` had it, at 40 %. Submit it with a longer `timeout`, or find out from the agent’s log what took so long.",
    'raise_timeout 120, check_agent A',
  ],
];

describe('the advice on a task with', () => {
  test.each(TASKS)('%s', (_name, state, present, hint, remedies) => {
    const situation: Situation = {
      state,
      outcome: outcomeOf(state),
      match: null,
      agent: present,
      nowMs: T0 + 40_000,
    };
    const nowMs = present?.contactMs === T0 + 30_000 ? T0 : T0 + 40_000;
    const advice = adviseOnTask({ ...situation, nowMs });
    expect(advice.hint).toBe(hint);
    expect(remediesOf(advice)).toBe(remedies);
  });
});

test('times are said in their natural units', () => {
  const rows = [400, 9_940, 61_000, 200_000, 3 * 3_600_000, 50 * 3_600_000];
  expect(rows.map(describeMs)).toEqual(['0.4 s', '9.9 s', '61 s', '3 min', '3 h', '2 days']);
});

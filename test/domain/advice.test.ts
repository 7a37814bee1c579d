/**
 * The advice on matches and tasks: for each situation the hint, word for word, and the remedies. The ten that
 * matter most are brought about on a whole gateway in `test/gateway/explanations.test.ts`.
 */
import { describe, expect, test } from 'vitest';
import { adviseOnTask, type PresentAgent, type Situation } from '../../server/domain/advice.ts';
import type { Advice } from '../../server/domain/advice-words.ts';
import { describeMs } from '../../server/domain/advice-words.ts';
import { addHistory, outcomeOf } from '../../server/domain/history.ts';
import { adviseOnMatch } from '../../server/domain/match-advice.ts';
import { decodeMatch, encodeMatch } from '../../server/domain/match-record.ts';
import { step } from '../../server/domain/step.ts';
import { createTaskState, type TaskState } from '../../server/domain/task.ts';
import type { MatchAgent, MatchTag, TaskMatch } from '../../server/domain/task-match.ts';
import type { Trigger } from '../../server/domain/triggers.ts';

const T0 = 1_000_000;

function agent(agent_id: string, more: Partial<MatchAgent> = {}): MatchAgent {
  return {
    ...{ agent_id, shared_tags: ['gpu'], state: 'ready', full: false, eligible: false, reason: 'eligible' },
    ...{ push_failing: false, max_concurrent: 4, current_load: 0, last_contact_time: 700, ...more },
  };
}

/** A match of these agents, all of which share the tag `gpu`. */
function match(
  agents: readonly MatchAgent[],
  tags: readonly MatchTag[] = [],
  total = agents.length,
): TaskMatch {
  const count = (reason: string): number => agents.filter((one) => one.reason === reason).length;
  return {
    ...{ time: 1_000, live: true, agents_total: total, agents },
    sharing: {
      ...{ agents: agents.length, eligible: count('eligible'), full: count('full') },
      ...{ draining: count('draining'), offline: count('offline') },
    },
    tags: tags.length > 0 ? tags : [{ tag: 'gpu', agents: agents.length, free: 0, similar: null }],
  };
}

const missing = (tag: string, similar: string | null = null): MatchTag => ({
  ...{ tag, agents: 0, free: 0, similar: similar === null ? null : { tag: similar, agents: 2, free: 0 } },
});
const full = (agent_id: string): MatchAgent =>
  agent(agent_id, { reason: 'full', full: true, current_load: 4 });
const START = 'Start another agent with the tag.';

const remediesOf = ({ remedies }: Advice): string =>
  remedies
    .map(({ kind, tag, agent_id, seconds }) =>
      [kind, tag, agent_id, seconds].filter((one) => one !== null).join(' '),
    )
    .join(', ');

const MATCHES: readonly (readonly [
  name: string,
  match: TaskMatch,
  waitMs: number | null,
  hint: string,
  remedies: string,
])[] = [
  [
    ...(['no tags', { ...match([]), tags: [] }, null] as const),
    'A task without tags finds no agent: an agent qualifies by a tag that both have. Submit it with a tag that an agent has.',
    '',
  ],
  ['no agents', match([]), null, 'No agent is registered. Start one with the tag `gpu`.', 'start_agent gpu'],
  [
    ...(['no agents, and the task waits', match([]), 5_000] as const),
    'No agent is registered. Start one with the tag `gpu`. The task waits for 5 s more, then it fails.',
    'start_agent gpu',
  ],
  [
    ...(['several tags that no agent has', match([], [missing('a'), missing('b')], 3), null] as const),
    'No agent has one of the tags `a`, `b`, and the 3 registered agents have no similar one. Start an agent with one of them, or submit the task with a tag that an agent has.',
    'start_agent a',
  ],
  [
    ...([
      'one like another, one like none',
      match([], [missing('gpu2', 'gpu'), missing('b')], 3),
      null,
    ] as const),
    'No agent has the tag `gpu2`; the nearest is `gpu` (2 agents, none of them free). Nor has one any of 1 other tag of the task. Submit the task with `gpu`, or start an agent with `gpu2`.',
    'use_tag gpu, start_agent gpu2',
  ],
  [
    ...(['an eligible one', match([agent('A', { eligible: true }), full('B')]), null] as const),
    'Agent `A` would get the task: it has a free slot.',
    '',
  ],
  [
    ...([
      'an eligible one whose pushes fail',
      match([agent('A', { eligible: true, push_failing: true })]),
      null,
    ] as const),
    'Agent `A` would get the task, but it did not take its last push. Check that it runs and that the gateway can reach its endpoint.',
    'check_agent A',
  ],
  [
    ...(['one full', match([full('A')]), null] as const),
    'The one agent with the tag `gpu` (`A`) is full (4 of 4 slots). Raise its `max_concurrent`, start another agent with the tag, or submit with a `queue_timeout` (say, 600 seconds), so that the task waits for a slot.',
    'wait 600, raise_max_concurrent A, start_agent gpu',
  ],
  [
    ...([
      'one of each, and a missing tag',
      match(
        [full('A'), agent('B', { reason: 'draining' }), agent('C', { reason: 'offline' })],
        [missing('gpu2', 'gpu3'), { tag: 'gpu', agents: 3, free: 0, similar: null }],
      ),
      null,
    ] as const),
    '3 agents have the tag `gpu`: 1 is full (4 of 4 slots), 1 is draining, 1 is offline. No agent has the tag `gpu2`; the nearest is `gpu3` (2 agents, none of them free). Raise their `max_concurrent`, start another agent with the tag, or submit with a `queue_timeout` (say, 600 seconds), so that the task waits for a slot.',
    'use_tag gpu3, wait 600, raise_max_concurrent A, end_draining B, start_agent gpu C',
  ],
  [
    ...([
      'draining and offline',
      match([agent('A', { reason: 'draining' }), agent('B', { reason: 'offline' })]),
      null,
    ] as const),
    `2 agents have the tag \`gpu\`: 1 is draining, 1 is offline. ${START}`,
    'end_draining A, start_agent gpu B, start_agent gpu',
  ],
  [
    ...([
      'two offline',
      match([agent('A', { reason: 'offline' }), agent('B', { reason: 'offline' })]),
      null,
    ] as const),
    'All 2 agents with the tag `gpu` are offline. Start one of them again, or if it runs, make sure that its heartbeats reach the gateway; or start another agent with the tag.',
    'start_agent gpu A, start_agent gpu',
  ],
  [
    ...([
      'one that was busy for the task',
      match([agent('A', { reason: 'refused_this_task' })]),
      null,
    ] as const),
    `The one agent with the tag \`gpu\` (\`A\`) was busy for this task, so it is offered to others for 30 s. ${START}`,
    'start_agent gpu',
  ],
];

describe('the advice on a match with', () => {
  test.each(MATCHES)('%s', (_name, one, waitMs, hint, remedies) => {
    const advice = adviseOnMatch(one, waitMs);
    expect(advice.hint).toBe(hint);
    expect(remediesOf(advice)).toBe(remedies);
  });

  test('more agents than are named says no slots', () => {
    const one = match([full('A')]);
    const many = { ...one, sharing: { ...one.sharing, agents: 30, full: 30 } };
    expect(adviseOnMatch(many, null).hint).toMatch(/^All 30 agents with the tag `gpu` are full\. /);
  });
});

const input = {
  ...{ request_id: 'r1', task_type: 't', task_tags: ['gpu'], payload: {}, cli_session_id: 's' },
  ...{ create_time: T0 / 1_000, timeout: 60 },
};
const fresh = createTaskState(input, { createdMs: T0, deadlineMs: T0 + 60_000, queueEndMs: null });

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
  ...{ type: 'unknown', agent_id: 'A', attempt: 1, push: { ms: T0, what: 'answered 500' } },
};
const UNTAKEN: Trigger = {
  ...{ type: 'untaken', agent_id: 'A', attempt: 1, nextMs: T0 + 90_000, busyUntilMs: null },
  push: { ms: T0, what: 'connection refused' },
};
const online: PresentAgent = { agent_id: 'A', pull: false, isOffline: false, contactMs: T0 };
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
    'Agent `A` may have the task, but gives no clear response: answered 500 (1 attempt). So the task stays with it. Look at its log: to take a task it should respond 2xx at once.',
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
      'a deadline while its agent worked',
      run([ASSIGN, { type: 'progress', agent_id: 'A', progress: 40, reply: null }, { type: 'expire' }]),
      null,
    ] as const),
    "The task's `timeout` of 60 s ended while agent `A` had it, at 40 %. Submit it with a longer `timeout`, or find out from the agent’s log what took so long.",
    'raise_timeout 120, check_agent A',
  ],
  [
    ...(['no agent, by an older gateway', run([{ type: 'abandon' }]), null] as const),
    'No agent with one of its tags had a free slot.',
    'submit_again',
  ],
];

describe('the advice on a task with', () => {
  test.each(TASKS)('%s', (_name, state, present, hint, remedies) => {
    const situation: Situation = {
      ...{ state, outcome: outcomeOf(state), match: null, agent: present, nowMs: T0 + 40_000 },
    };
    const nowMs = present?.contactMs === T0 + 30_000 ? T0 : T0 + 40_000;
    const advice = adviseOnTask({ ...situation, nowMs });
    expect(advice.hint).toBe(hint);
    expect(remediesOf(advice)).toBe(remedies);
  });
});

test('a stored match is the match that was seen', () => {
  const tags = ['gpu2', 'gpu', 'gpu'];
  const seen = match(
    [
      full('A'),
      agent('B', { reason: 'offline', state: 'offline', push_failing: true }),
      agent('C', { shared_tags: [] }),
    ],
    [missing('gpu2', 'gpu'), { tag: 'gpu', agents: 2, free: 0, similar: null }],
  );
  const named = seen.agents.map((one) => ({ ...one, eligible: one.reason === 'eligible' }));
  const stored = JSON.parse(JSON.stringify(encodeMatch({ ...seen, agents: named }, tags)));
  expect(decodeMatch(stored, tags)).toEqual({ ...seen, agents: named, live: false });
});

test('times are said in their natural units', () => {
  const rows = [400, 9_940, 61_000, 200_000, 3 * 3_600_000, 50 * 3_600_000];
  expect(rows.map(describeMs)).toEqual(['0.4 s', '9.9 s', '61 s', '3 min', '3 h', '2 days']);
});

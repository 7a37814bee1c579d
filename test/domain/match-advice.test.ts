/** The advice on matches: for each situation the hint, word for word, and the remedies. */
import { describe, expect, test } from 'vitest';
import { adviseOnMatch } from '../../server/domain/match-advice.ts';
import { decodeMatch, encodeMatch } from '../../server/domain/match-record.ts';
import type { MatchAgent, MatchTag, TaskMatch } from '../../server/domain/task-match.ts';
import { remediesOf } from './remedies.ts';

function agent(agent_id: string, more: Partial<MatchAgent> = {}): MatchAgent {
  return {
    agent_id,
    shared_tags: ['gpu'],
    state: 'ready',
    drained_by_operator: false,
    full: false,
    eligible: false,
    reason: 'eligible',
    push_failing: false,
    max_concurrent: 4,
    current_load: 0,
    last_contact_time: 700,
    ...more,
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
    time: 1_000,
    live: true,
    agents_total: total,
    agents,
    sharing: {
      agents: agents.length,
      eligible: count('eligible'),
      full: count('full'),
      draining: count('draining'),
      offline: count('offline'),
    },
    tags: tags.length > 0 ? tags : [{ tag: 'gpu', agents: agents.length, free: 0, similar: null }],
  };
}

const missing = (tag: string, similar: string | null = null): MatchTag => ({
  tag,
  agents: 0,
  free: 0,
  similar: similar === null ? null : { tag: similar, agents: 2, free: 0 },
});
const full = (agent_id: string): MatchAgent =>
  agent(agent_id, { reason: 'full', full: true, current_load: 4 });
const START = 'Start another agent with the tag.';

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
    'Agent `A` would get the task, but it does not take its pushes. Check that it runs and that the gateway can reach its endpoint.',
    'check_agent A',
  ],
  [
    ...(['one full', match([full('A')]), null] as const),
    'The one agent with the tag `gpu` (`A`) is full (4 of 4 slots). Raise its `max_concurrent`, start another agent with the tag, or submit with a `queue_timeout` (say, 600 seconds), so that the task waits for a slot.',
    'wait 600, raise_max_concurrent A, start_agent gpu',
  ],
  [
    ...(['one full whose pushes fail', match([{ ...full('A'), push_failing: true }]), null] as const),
    'The one agent with the tag `gpu` (`A`) is full (4 of 4 slots) and does not take its pushes. Check that it runs and that the gateway can reach its endpoint, or start another agent with the tag.',
    'check_agent A, start_agent gpu',
  ],
  [
    ...([
      'two full, and pushes to one of them fail',
      match([{ ...full('A'), push_failing: true }, full('B')]),
      5_000,
    ] as const),
    'All 2 agents with the tag `gpu` are full (8 of 8 slots). Of the full ones 1 does not take its pushes: `A`. Raise their `max_concurrent` or start another agent with the tag to run the task sooner. The task waits for 5 s more, then it fails.',
    'raise_max_concurrent B, check_agent A, start_agent gpu',
  ],
  [
    ...([
      'two full whose pushes fail',
      match(['A', 'B'].map((agent_id) => ({ ...full(agent_id), push_failing: true }))),
      null,
    ] as const),
    'All 2 agents with the tag `gpu` are full (8 of 8 slots). Of the full ones 2 do not take their pushes: `A`, `B`. Check that the full ones run and that the gateway can reach their endpoints, or start another agent with the tag.',
    'check_agent A, start_agent gpu',
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

test('a stored match is the match that was seen, similar tags left out', () => {
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
  const unlike = seen.tags.map((tag) => ({ ...tag, similar: null }));
  expect(decodeMatch(stored, tags)).toEqual({ ...seen, tags: unlike, agents: named, live: false });
});

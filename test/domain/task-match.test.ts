/** The verdict on an agent, by its state and its slots. */
import { expect, test } from 'vitest';
import { completeAgent } from '../../server/domain/agent.ts';
import { ANY_TASK, describeMatchAgent } from '../../server/domain/task-match.ts';

const T0 = 1_000_000;

test.each([
  ['full', { current_load: 4 }, 4],
  ['draining', { draining: true }, 0],
  ['offline', { offlineMs: T0 }, 0],
  ['eligible', {}, 0],
] as const)('an agent is %s', (reason, more, slots) => {
  const fields = {
    agent_id: 'A',
    endpoint: 'pull',
    agent_tags: ['gpu'],
    max_concurrent: 4,
    external: 0,
    registration: 'r',
    registeredMs: T0,
    draining: false,
    offlineMs: null,
    left: false,
    unregisteredMs: null,
    lostAfterMs: null,
    ...more,
  };
  const contact = { contactMs: T0, beatMs: null, beatGapMs: null, push: null, unreachedSinceMs: null };
  const candidate = { record: completeAgent(fields), slots, lastGrantMs: 0, lastPushUntaken: false, contact };
  expect(describeMatchAgent(candidate, ['gpu'], ANY_TASK).reason).toBe(reason);
  expect(describeMatchAgent(candidate, ['cpu'], ANY_TASK).reason).toBe('no_shared_tag');
});

test('an agent that has the task, or was busy for it, says so', () => {
  const fields = {
    agent_id: 'A',
    endpoint: 'pull',
    agent_tags: ['gpu'],
    max_concurrent: 4,
    external: 0,
    registration: 'r',
    registeredMs: T0,
    draining: false,
    offlineMs: null,
    left: false,
    unregisteredMs: null,
    lostAfterMs: null,
  };
  const contact = { contactMs: T0, beatMs: null, beatGapMs: null, push: null, unreachedSinceMs: null };
  const record = completeAgent(fields);
  const busy = { record, slots: 0, lastGrantMs: 0, lastPushUntaken: true, contact };
  const failing = { ...busy, contact: { ...contact, unreachedSinceMs: T0 } };
  const refused = new Set(['A']);
  const verdicts = [
    describeMatchAgent(failing, ['gpu'], { present: 'A', refused }),
    describeMatchAgent({ ...failing, slots: 4 }, ['gpu'], { present: 'A', refused }),
    describeMatchAgent(busy, ['gpu'], { present: 'B', refused }),
    describeMatchAgent({ ...busy, slots: 4 }, ['gpu'], { present: 'B', refused }),
  ];
  expect(
    verdicts.map(({ reason, eligible, full, push_failing }) => [reason, eligible, full, push_failing]),
  ).toEqual([
    ['has_this_task', false, false, true],
    ['has_this_task', false, true, true],
    // A busy response is no failure.
    ['refused_this_task', false, false, false],
    ['full', false, true, false],
  ]);
});

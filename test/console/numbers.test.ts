/** The numbers that the console shows: durations, counters, slots, pushes. */
import type { ComponentChild, VNode } from 'preact';
import { describe, expect, test, vi } from 'vitest';
import type { AgentDetail, GatewayOverview } from '../../server/console/gateway/shapes.ts';
import { PushPanel } from '../../server/console/pages/agent/pushes.tsx';
import { Counters } from '../../server/console/pages/overview/counters.tsx';
import { TaskAbout } from '../../server/console/pages/task/task-head.tsx';
import {
  formatAge,
  formatAgo,
  formatBytes,
  formatCoarse,
  formatCount,
  formatDuration,
} from '../../server/console/parts/format.ts';
import { countSlots, Slots } from '../../server/console/parts/slots.tsx';
import { OVERVIEW, TASK } from '../http/fake-gateway.ts';

const NOW = TASK.create_time + 3_725.9;
vi.mock('../../server/console/gateway/console.ts', () => ({
  useConsole: () => ({ time: { shown: { value: NOW } } }),
}));

/** The texts that a part shows, one after the other; its components are called as they are drawn. */
function textsOf(child: ComponentChild): readonly string[] {
  if (typeof child === 'string' || typeof child === 'number') return [String(child)];
  if (Array.isArray(child)) return child.flatMap(textsOf);
  if (child === null || typeof child !== 'object' || !('type' in child)) return [];
  const { type, props } = child;
  if (typeof type === 'function') return textsOf((type as (given: object) => ComponentChild)(props));
  return textsOf(props.children as ComponentChild);
}
const textOf = (child: VNode): string => textsOf(child).join(' ').replace(/\s+/g, ' ');

/** The values of an attribute of all elements that a part shows. */
function valuesOf(child: ComponentChild, name: string): readonly unknown[] {
  if (Array.isArray(child)) return child.flatMap((one) => valuesOf(one, name));
  if (child === null || typeof child !== 'object' || !('type' in child)) return [];
  const { type, props } = child as VNode<Record<string, ComponentChild>>;
  if (typeof type === 'function') return valuesOf((type as (given: object) => ComponentChild)(props), name);
  return [...(name in props ? [props[name]] : []), ...valuesOf(props.children, name)];
}

describe('a duration', () => {
  test.each([
    [0, '< 1 ms'],
    [0.0009, '< 1 ms'],
    [0.001, '1 ms'],
    [0.4124, '412 ms'],
    [0.9994, '999 ms'],
    [0.9996, '1.0 s'],
    [4.24, '4.2 s'],
    [9.94, '9.9 s'],
    [9.96, '10 s'],
    [59.4, '59 s'],
    [59.6, '1 min'],
    [372, '6 min 12 s'],
    [3_599, '59 min 59 s'],
    [7_500, '2 h 5 min'],
    [86_399, '23 h 59 min'],
    [86_400, '1 day'],
    [273_600, '3 days 4 h'],
  ])('of %d s is written %s', (seconds, text) => {
    expect(formatDuration(seconds)).toBe(text);
  });

  test('so far is in whole seconds that have passed, or minutes at a glance', () => {
    expect([-1, 0, 0.9, 9.99, 59.9, 60, 372.9].map(formatAge)).toEqual([
      ...['0 s', '0 s', '0 s', '9 s', '59 s', '1 min', '6 min 12 s'],
    ]);
    expect([599, 600, 659, 3_599, 3_660].map((seconds) => formatCoarse(seconds))).toEqual([
      ...['9 min 59 s', '10 min', '10 min', '59 min', '1 h 1 min'],
    ]);
    expect(formatAgo(3_725)).toBe('1 h 2 min ago');
  });
});

test('Counts and bytes have their unit.', () => {
  expect([0, 1, 1_204].map((count) => formatCount(count, 'task'))).toEqual([
    '0 tasks',
    '1 task',
    '1,204 tasks',
  ]);
  expect([0, 999, 1_000, 2_149, 999_949, 999_950, 3_400_000].map(formatBytes)).toEqual([
    ...['0 B', '999 B', '1.0 KB', '2.1 KB', '999.9 KB', '1.0 MB', '3.4 MB'],
  ]);
});

describe('the counters', () => {
  const show = (more: object): string =>
    textOf(
      Counters({ overview: { ...OVERVIEW, ...more } as unknown as GatewayOverview, now: OVERVIEW.time }),
    );

  test('count what was reported failed, timed out or was lost as failed', () => {
    const ended = {
      ...OVERVIEW.ended,
      failed: 1_000,
      timeout: 200,
      agent_lost: 30,
      cancelled: 5,
      no_agent: 7,
    };
    const text = show({ ended, failures: { ...OVERVIEW.failures, ended: 1_500, failed: 1_230 } });
    expect(text).toContain('Failed in 15 min 1,230 1,000 reported, 200 timed out, 30 lost');
    const few = show({ ended, failures: { ...OVERVIEW.failures, ended: 500, failed: 70, since: 1 } });
    expect(few).toContain('Failed in 15 min 70 of the last 500 that ended');
    expect(text).toContain('Found no agent in 15 min 7 ');
  });

  test('lead to the tasks that ended in the window, where these are counted', () => {
    const counters = Counters({ overview: OVERVIEW as unknown as GatewayOverview, now: OVERVIEW.time });
    expect(valuesOf(counters, 'href')).toEqual(
      [
        ...['waiting=true', 'status=running&waiting=false', 'outcome=success&ended=15m'],
        ...['outcome=failed,timeout,agent_lost&ended=15m', 'outcome=no_agent&ended=15m'],
      ].map((search) => `/console/tasks?${search}`),
    );
  });

  test('say how many a minute succeeded, and how many in all where that is less than one', () => {
    const succeeded = (success: number): string =>
      show({ ended: { ...OVERVIEW.ended, success }, median_seconds: 0.42 });
    expect(succeeded(18_000)).toContain('Succeeded in 15 min 18,000 1,200 a minute, half within 420 ms');
    expect(succeeded(15)).toContain('15 1 a minute, half within');
    expect(succeeded(14)).toContain('14 14 in 15 min, half within');
    expect(succeeded(0)).toContain('Succeeded in 15 min 0 none');
  });

  test('have all slots as what is used and what is free', () => {
    const tasks = { waiting: 2, running: 3 };
    const oldest_waiting = [{ create_time: OVERVIEW.time - 75 }, { create_time: OVERVIEW.time - 5 }];
    const text = show({ tasks, oldest_waiting, slots: { used: 3, free: 1, unusable: 2, not_taken: 1 } });
    expect(text).toContain('Waiting for an agent 2 oldest 1 min 15 s');
    expect(text).toContain('Running 3 3 of 4 slots used, 2 unusable');
  });
});

describe('the slots of an agent', () => {
  const agent = { state: 'processing', full: false, max_concurrent: 4, running: 2, current_load: 3 };
  const count = (more: object): Readonly<Record<string, number>> =>
    Object.fromEntries(countSlots({ ...agent, ...more }).map(({ kind, count: boxes }) => [kind, boxes]));

  test('are its tasks, its load from elsewhere and what is free, and no more than it has', () => {
    expect(textOf(Slots({ agent }))).toBe('3 of 4');
    expect(count({})).toEqual({ risk: 0, busy: 2, ext: 1, free: 1 });
    expect(count({ state: 'draining' })).toEqual({ risk: 0, busy: 2, ext: 1, shut: 1 });
    expect(count({ isFailing: true, unacknowledged: 1 })).toEqual({ risk: 1, busy: 1, ext: 1, free: 1 });
    expect(count({ unacknowledged: 1 })).toEqual({ risk: 0, busy: 2, ext: 1, free: 1 });
    for (const more of [
      { current_load: 9 },
      { running: 6, current_load: 6 },
      { running: 6, current_load: 9 },
    ]) {
      const counts = count({ ...more, isFailing: true, unacknowledged: 9 });
      expect(Object.values(counts).reduce((sum, boxes) => sum + boxes, 0)).toBe(4);
      expect(counts.free).toBe(0);
    }
  });
});

describe('the pushes to an agent', () => {
  const push = { last_status: 202, last_error: null, last_ms: 3, failures: 0, failing_since: null };
  const draw = (more: object): VNode => {
    const agent = { endpoint: 'http://a', pushes: [], unacknowledged: 1 };
    const all = { ...agent, push: { ...push, next_attempt_time: null, ...more } };
    return PushPanel({ agent: all as unknown as AgentDetail, now: NOW });
  };

  test('are taken, fail so often, or find the agent busy, and the next attempt has a time', () => {
    expect(textOf(draw({}))).toContain('Pushes are taken.');
    expect(textOf(draw({ last_status: null }))).toContain('Nothing was pushed to it yet.');
    const failing = { last_error: 'connection refused', failures: 41, next_attempt_time: NOW + 8 };
    expect(textOf(draw(failing))).toMatch(/onnection refused , 41 times in a row .* Next attempt in 8 s\./);
    const busy = draw({ last_status: 503, last_error: 'answered 503: busy', next_attempt_time: NOW + 1 });
    expect(textOf(busy)).toContain(
      'nswered 503: busy . The endpoint takes no more tasks for now: it says that it is full. Next attempt in 1 s.',
    );
    expect(valuesOf(busy, 'class')).toContain('hint t-wait');
    expect(valuesOf(draw(failing), 'class')).not.toContain('hint t-wait');
  });
});

test('A task says how long it took from its submission to its end, and how long it runs so far.', () => {
  const explain = (more: object): object => ({
    assigned_time: null,
    match: null,
    queue_timeout: null,
    ...more,
  });
  const show = (task: object, explanation: object): string =>
    textOf(TaskAbout({ task: { ...TASK, ...task }, explanation: explain(explanation) } as never));
  const { create_time } = TASK;
  const ended = show(
    { status: 'success', agent_id: 'a' },
    { assigned_time: create_time + 10, ended_time: create_time + 72.4 },
  );
  expect(ended).toContain('Took 1 min 12 s');
  expect(ended).toContain('1 h 2 min ago');
  expect(ended).toContain('Timeout 10 min');
  expect(show({ status: 'failed' }, { ended_time: create_time + 0.412 })).toContain('Ended after 412 ms');
});

/**
 * The metrics: what is counted, what is read at a scrape, that no label grows with what callers send, and the
 * bounds of a scrape.
 */
import { describe, expect, test } from 'vitest';
import { addHistory } from '../../server/domain/history.ts';
import { createTaskState, type TaskState } from '../../server/domain/task.ts';
import type { Trigger } from '../../server/domain/triggers.ts';
import { createCounts } from '../../server/observability/counts.ts';
import { observeCommits, observePushes } from '../../server/observability/observers.ts';
import type { Figures } from '../../server/ports/figures.ts';
import type { TaskStep } from '../../server/ports/observer.ts';
import { type Store, StoreUnavailable } from '../../server/ports/store.ts';
import { countDescriptors } from '../../server/system/descriptors.ts';
import { createFakePusher, REFUSED } from '../harness/fake-pusher.ts';
import { UNOBSERVED } from '../harness/silent-log.ts';
import { createMetricsPage, FIGURES } from './given-metrics.ts';

const INPUT = {
  request_id: 'x',
  task_type: 't',
  task_tags: ['a'],
  payload: {},
  cli_session_id: 's',
  create_time: 1,
  timeout: 60,
};
const PENDING = createTaskState(INPUT, { createdMs: 1_000, deadlineMs: 61_000, queueEndMs: null }, 16);

function buildStep(trigger: Trigger, after: Partial<TaskState>): TaskStep {
  const before = { value: PENDING, revision: 'r' };
  const recorded = addHistory(PENDING, { ...PENDING, ...after }, trigger, 3_500);
  return { request_id: 'x', before, after: recorded, trigger };
}

const END = { status: 'failed', settledMs: 3_500 } as const;
const ASSIGN: Trigger = { type: 'assign', agent_id: 'A', attempted: true, nextMs: 0 };
const DELIVERY = {
  assignedMs: 1_020,
  attempts: 1,
  untaken: 0,
  attemptMs: 1_020,
  acknowledged: false,
  disowned: 0,
  nextMs: null,
  busy: [],
  pull: false,
};

/** The samples of a text, without those of Node and of the process. */
function readSamples(text: string): Readonly<Record<string, number>> {
  const found = [...text.matchAll(/^(task_gateway_\S+) (\S+)$/gm)];
  return Object.fromEntries(found.map(([, name = '', value]) => [name, Number(value)]));
}

describe('what is counted', () => {
  test('tasks by what ended them, and how long they waited and took', async () => {
    const { observer, render } = createMetricsPage();
    observer.noteSubmitted('x', PENDING);
    observer.noteStep(buildStep(ASSIGN, { status: 'running', delivery: DELIVERY }));
    const endings: readonly (readonly [Trigger, string])[] = [
      [{ type: 'succeed', agent_id: 'A', result: null }, 'success'],
      [{ type: 'fail', agent_id: 'A', error_info: null, progress: null }, 'failed'],
      [{ type: 'cancel' }, 'cancelled'],
      [{ type: 'expire' }, 'timeout'],
      [{ type: 'abandon' }, 'no_agent'],
      [{ type: 'lose', seconds: 9 }, 'agent_lost'],
    ];
    for (const [trigger] of endings) observer.noteStep(buildStep(trigger, END));
    observer.noteStep(buildStep({ type: 'wait' }, { waiting: true }));
    const samples = readSamples(await render());
    expect(samples.task_gateway_tasks_submitted_total).toBe(1);
    expect(samples['task_gateway_task_waiting_seconds_bucket{le="0.01"}']).toBe(0);
    expect(samples['task_gateway_task_waiting_seconds_bucket{le="0.05"}']).toBe(1);
    expect(samples.task_gateway_task_waiting_seconds_sum).toBeCloseTo(0.02);
    for (const [, outcome] of endings) {
      expect(samples[`task_gateway_tasks_ended_total{outcome="${outcome}"}`], outcome).toBe(1);
      const bucket = (le: string): string =>
        `task_gateway_task_duration_seconds_bucket{outcome="${outcome}",le="${le}"}`;
      expect([samples[bucket('1')], samples[bucket('5')], samples[bucket('+Inf')]]).toEqual([0, 1, 1]);
    }
  });

  test('commits by how they ended, pushes by outcome, requests by operation and status', async () => {
    const { observer, render, clock } = createMetricsPage();
    const results = [
      { ok: true, revision: 'r' },
      { ok: false, conflict: 'slot' },
      new StoreUnavailable('down'),
    ];
    const commit = async (): Promise<never> => {
      await clock.sleep(2);
      const result = results.shift();
      if (result instanceof Error) throw result;
      return result as never;
    };
    const store = observeCommits({ commit } as unknown as Store, { clock, observer });
    await clock.drive(store.commit({ writes: [] }));
    await clock.drive(store.commit({ writes: [] }));
    await expect(clock.drive(store.commit({ writes: [] }))).rejects.toThrow(StoreUnavailable);
    const pusher = createFakePusher();
    pusher.script('http://a', REFUSED);
    const observed = observePushes(pusher, { clock, observer });
    const task = {
      ...PENDING,
      ...INPUT,
      status: 'running',
      agent_id: 'A',
      progress: 0,
      result: null,
    } as const;
    const push = { endpoint: 'http://a', task, remainingSeconds: 1, nowMs: 0 };
    expect(await observed.push(push, new AbortController().signal)).toBe(REFUSED);
    await observed.push(push, AbortSignal.abort());
    const request = { operation: 'getTask', method: 'GET', path: '/x', status: 200, code: undefined, ms: 3 };
    observer.noteRequest({ ...request, peer: () => 'p' });
    observer.noteRequest({ ...request, operation: undefined, status: null, peer: () => 'p' });
    observer.noteRequest({ ...request, status: 401, code: 'unauthorized', peer: () => 'p' });
    const samples = readSamples(await render());
    for (const result of ['applied', 'conflict', 'unavailable']) {
      expect(samples[`task_gateway_commit_duration_seconds_count{result="${result}"}`], result).toBe(1);
    }
    const pushes = (outcome: string): number | undefined =>
      samples[`task_gateway_push_duration_seconds_count{outcome="${outcome}"}`];
    // What this process stopped says nothing of the agent.
    expect([pushes('untaken'), pushes('acknowledged'), pushes('unknown')]).toEqual([1, 0, 0]);
    const requests = (operation: string, status: string): number | undefined =>
      samples[`task_gateway_request_duration_seconds_count{operation="${operation}",status="${status}"}`];
    const counted = [requests('getTask', '200'), requests('other', 'none'), requests('getTask', '401')];
    expect(counted).toEqual([1, 1, 1]);
    expect(samples.task_gateway_secrets_refused_total).toBe(1);
  });

  test('nothing is missing before anything has happened: each outcome begins at 0', async () => {
    const samples = readSamples(await createMetricsPage().render());
    expect(samples['task_gateway_tasks_ended_total{outcome="agent_lost"}']).toBe(0);
    expect(samples['task_gateway_push_duration_seconds_count{outcome="unknown"}']).toBe(0);
  });
});

describe('what is read at a scrape', () => {
  const EXPECTED = {
    'task_gateway_info{version="1.2.3",store="memory"}': 1,
    'task_gateway_open_tasks{status="pending"}': 7,
    'task_gateway_open_tasks{status="running"}': 3,
    task_gateway_open_tasks_limit: 100,
    task_gateway_waiting_tasks: 6,
    task_gateway_oldest_waiting_task_age_seconds: 12.5,
    task_gateway_waiting_tags: 2,
    task_gateway_waiting_tags_without_agent: 1,
    'task_gateway_agents{state="offline"}': 4,
    task_gateway_slots_used: 3,
    task_gateway_slots_offline: 2,
    task_gateway_slots_free: 5,
    task_gateway_streams: 9,
    task_gateway_store_up: 1,
  };

  test('the figures of the gateway, and on Redis its round trip', async () => {
    const samples = readSamples(await createMetricsPage().render());
    expect(samples).toMatchObject(EXPECTED);
    expect(samples).not.toHaveProperty('task_gateway_redis_round_trip_seconds');
    const redis = readSamples(await createMetricsPage({}, 'redis').render());
    expect(redis.task_gateway_redis_round_trip_seconds).toBe(0.0005);
  });

  test.each([
    ['is out', () => Promise.reject(new StoreUnavailable('down'))],
    ['does not reply', () => new Promise<never>(() => undefined)],
  ])('while the store %s, what it holds is left out and the rest is there', async (_, readTasks) => {
    const page = createMetricsPage({ readTasks }, 'redis', false);
    const samples = readSamples(await page.clock.drive(page.render()));
    expect(samples).toMatchObject({ task_gateway_store_up: 0, task_gateway_slots_used: 3 });
    const names = Object.keys(samples).join();
    expect(names).not.toMatch(/open_tasks\{|waiting_tasks|waiting_tags|oldest|round_trip/);
    expect(page.clock.nowMs()).toBeLessThanOrEqual(2_000);
  });

  test('Node and the process, without what would be listed at each scrape', async () => {
    const text = await createMetricsPage().render();
    for (const name of [
      ...['process_cpu_seconds_total', 'process_start_time_seconds', 'process_resident_memory_bytes'],
      ...['nodejs_heap_size_used_bytes'],
    ]) {
      expect(text).toMatch(new RegExp(`^${name} [\\d.e+]+$`, 'm'));
    }
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
    expect(text).toMatch(/^process_open_fds 42$/m);
    expect(text).not.toMatch(/nodejs_active_/);
    expect(readSamples(text).task_gateway_event_loop_delay_seconds).toBeGreaterThanOrEqual(0);
    expect(await countDescriptors()).toBeGreaterThan(5);
  });
});

describe('the bounds of a scrape', () => {
  test('within a second it is rendered once, also for scrapes at the same time', async () => {
    let readings = 0;
    const readTasks = (): ReturnType<Figures['readTasks']> => {
      readings += 1;
      return FIGURES.readTasks();
    };
    const { render, clock, observer } = createMetricsPage({ readTasks });
    const [first, second] = await Promise.all([render(), render()]);
    observer.noteSubmitted('x', PENDING);
    await clock.advance(999);
    expect([await render(), second]).toEqual([first, first]);
    expect(readings).toBe(1);
    await clock.advance(1);
    expect(readSamples(await render()).task_gateway_tasks_submitted_total).toBe(1);
    expect(readings).toBe(2);
  });

  test('a rendering that takes longer than a second is shared as well', async () => {
    let readings = 0;
    const readTasks = (): Promise<never> => {
      readings += 1;
      return new Promise(() => undefined);
    };
    const { render, clock } = createMetricsPage({ readTasks });
    const first = render();
    await clock.advance(1_500);
    const second = render();
    await clock.drive(Promise.all([first, second]));
    expect(readings).toBe(1);
  });

  test('no label has a value that a caller chooses, so the text does not grow with what is sent', async () => {
    const { observer, render, clock } = createMetricsPage();
    const before = (await render()).length;
    for (let n = 0; n < 1_000; n += 1) {
      const canary = `canary-${n}`;
      const input = {
        ...INPUT,
        request_id: canary,
        task_type: canary,
        task_tags: [canary],
        cli_session_id: canary,
      };
      const state = createTaskState(input, { createdMs: 1, deadlineMs: 2, queueEndMs: null }, 16);
      observer.noteSubmitted(canary, state);
      const after: TaskState = { ...state, ...END, history: [['no_agent', 2]] };
      observer.noteStep({ ...buildStep({ type: 'abandon' }, {}), after });
      observer.notePush({ request_id: canary, agent_id: canary, outcome: REFUSED, ms: 1 });
      const path = `/${canary}`;
      observer.noteRequest({
        operation: undefined,
        method: 'GET',
        path,
        status: 404,
        code: 'route_not_found',
        ms: 1,
        peer: () => canary,
      });
    }
    await clock.advance(1_000);
    const text = await render();
    expect(text).not.toContain('canary');
    expect(text.length - before).toBeLessThan(3_000);
  });
});

test('counting costs nothing that grows: an observation is a few additions, and nothing is loaded for it', () => {
  const { observer, read } = createCounts();
  const step = buildStep({ type: 'cancel' }, END);
  for (let n = 0; n < 1_000; n += 1) observer.noteStep(step);
  expect(Object.keys({ ...UNOBSERVED })).toEqual(expect.arrayContaining(Object.keys(observer)));
  const durations = read().task_gateway_task_duration_seconds ?? [];
  expect(durations).toHaveLength(6);
  expect(durations.map(({ value }) => (typeof value === 'number' ? 0 : value.counts.length))).toEqual(
    Array.from({ length: 6 }, () => 15),
  );
});

/** The pure parts of the console's frame: addresses, where the field leads, orders, bars, lines, words. */
import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import type { TaskRow } from '../../server/console/gateway/shapes.ts';
import { describeWillingness } from '../../server/console/pages/agent/about.tsx';
import { adviseOnPush } from '../../server/console/pages/agent/push-text.ts';
import { listSessions } from '../../server/console/pages/events/recent-sessions.tsx';
import { readTypes } from '../../server/console/pages/events/task-type-lookup.ts';
import {
  chooseDemandScale,
  classifyDemand,
  measureDemand,
} from '../../server/console/pages/overview/demand-scale.ts';
import { writeCommands } from '../../server/console/pages/overview/first-steps.tsx';
import { plotPoints } from '../../server/console/pages/overview/sparkline.tsx';
import { describeReason } from '../../server/console/pages/tasks/payload-or-error.tsx';
import { patchCancelled, stateOfRow } from '../../server/console/pages/tasks/task-rows.ts';
import { agentStateOf, stateOf } from '../../server/console/parts/chip.tsx';
import { showRows } from '../../server/console/parts/frozen-list.ts';
import { keepOrder } from '../../server/console/parts/held-order.ts';
import { describeProblems } from '../../server/console/parts/problem-words.ts';
import { parsePath, writePath } from '../../server/console/routing/routes.ts';
import { findTarget, type Lookups, readTarget } from '../../server/console/shell/jump-target.ts';

describe('addresses', () => {
  test.each([
    ['', { page: 'overview' }],
    ['tasks', { page: 'tasks' }],
    ['tasks/0198-x', { page: 'task', request_id: '0198-x' }],
    ['agents/a%2Fb%3F%20%E4%B8%8A', { page: 'agent', agent_id: 'a/b? 上' }],
    ['events', { page: 'events' }],
    ['submit', { page: 'submit' }],
  ] as const)('%s is read and written', (path, route) => {
    expect(parsePath(path)).toEqual(route);
    expect(writePath(route)).toBe(path);
  });

  test.each(['nowhere', 'tasks/a/b', 'events/x', 'agents/%E0%A4%A', 'Tasks'])('%s is absent', (path) => {
    expect(parsePath(path)).toEqual({ page: 'none' });
  });
});

describe('the field leads', () => {
  test.each([
    ['01a200ed-85ec-77b2-ab8c-963655723c3c', 'tasks/01a200ed-85ec-77b2-ab8c-963655723c3c'],
    ['agent=gpu/1', 'agents/gpu%2F1'],
    ['tag=a&b', 'tasks?tag=a%26b'],
    ['session=nightly 构建', 'tasks?session=nightly%20%E6%9E%84%E5%BB%BA'],
  ])('at once from %s to %s', (text, path) => {
    expect(readTarget(text)).toBe(`/console/${path}`);
  });

  const page = (rows: readonly object[], next_cursor: string | null = null) =>
    Promise.resolve({ value: { agents: rows, tasks: rows, next_cursor }, etag: null });
  const lookups = {
    readAgents: () => () => page([{ agent_id: 'gpu-node-a' }, { agent_id: 'cafe0001' }]),
    readTasks:
      ({ id, session }: { readonly id?: string; readonly session?: string }) =>
      () => {
        const rows = [{ request_id: '01a2-55723c3c' }, { request_id: '02b3-55723c3c' }];
        if (id === '55723c3c') return page(rows);
        if (id === 'a2-55723c3c') return page(rows.slice(0, 1));
        return session === 'nightly' ? page(rows) : page([], session === 'rare' ? 'more' : null);
      },
  } as unknown as Lookups;

  test.each([
    ['gpu-node-a', 'agents/gpu-node-a'],
    // An agent may be called as the end of an id.
    ['cafe0001', 'agents/cafe0001'],
    [' …a2-55723c3c', 'tasks/01a2-55723c3c'],
    ['55723C3C', 'tasks?id=55723c3c'],
    ['nightly', 'tasks?session=nightly'],
    ['rare', 'tasks?session=rare'],
    ['gpu', 'tasks?tag=gpu'],
    ['gpu-node', 'agents?id=gpu-node'],
  ])('behind a look from %s to %s', async (text, path) => {
    expect(readTarget(text)).toBeNull();
    const found = await findTarget(text, lookups, new Set(['gpu']), new AbortController().signal);
    expect(found).toBe(`/console/${path}`);
  });

  test('nowhere where nothing has that name', async () => {
    const none = {
      readAgents: () => () => page([]),
      readTasks: () => () => page([]),
    } as unknown as Lookups;
    expect(await findTarget('absent', none, new Set(), new AbortController().signal)).toBeNull();
  });
});

test.each([
  [{ status: 'pending' }, 'pending'],
  [{ status: 'running', waiting: false, acknowledged: true }, 'running'],
  [{ status: 'running', waiting: false, acknowledged: false }, 'not_taken'],
  [{ status: 'running', waiting: true, acknowledged: false }, 'pending'],
  [{ status: 'failed', outcome: 'timeout', waiting: false, acknowledged: false }, 'timeout'],
])('A task that is %j shows %s.', (task, state) => {
  expect(stateOf(task)).toBe(state);
});

test('A task that waits for an answer asks.', () => {
  const row = { status: 'running', outcome: null, waiting: false, acknowledged: true } as TaskRow;
  const shown = [true, false].map((waiting_for_answer) => stateOfRow({ ...row, waiting_for_answer }));
  expect(shown).toEqual(['asking', 'running']);
});

test.each([
  ['processing', true, 'failing'],
  ['ready', true, 'failing'],
  ['offline', true, 'offline'],
  ['processing', false, 'processing'],
])('An agent that is %s (failing: %s) shows %s.', (state, failing, shown) => {
  expect(agentStateOf({ state, failing })).toBe(shown);
});

test('Problems and warnings are counted apart.', () => {
  const of = (...severities: readonly string[]) =>
    describeProblems(severities.map((severity) => ({ severity })));
  expect(of('problem', 'warning', 'problem')).toBe('2 problems, 1 warning');
  expect(of('warning', 'note')).toBe('1 warning');
  expect(of('note')).toBe('');
  expect(of()).toBe('');
});

test.each([
  ['failed', 'out of memory', 'out of memory'],
  ['timeout', 'timeout', 'not finished within its timeout of 2 min'],
  ['agent_lost', 'agent lost: no contact for 90 s', 'agent lost: no contact for 90 s'],
  ['cancelled', 'cancelled by user', null],
  ['no_agent', '无可用 Agent', null],
] as const)('A row that ended as %s with %s says %j.', (outcome, error_info, reason) => {
  expect(describeReason({ outcome, error_info, create_time: 100, deadline_time: 220 })).toBe(reason);
});

test('Rows that were cancelled here are shown so until a read says it.', () => {
  const row = { request_id: 'a', outcome: null, status: 'pending', waiting: true } as unknown as TaskRow;
  const list = showRows([row, { ...row, request_id: 'b' }], ({ request_id }) => request_id, 9);
  const [a, b] = patchCancelled(list, new Map([['a', 7]])).shown;
  expect(a?.row).toMatchObject({ status: 'failed', outcome: 'cancelled', ended_time: 7, waiting: false });
  expect(b?.row).toMatchObject({ outcome: null });
});

test('Types of tasks are looked for until all are found, in three calls at most.', async () => {
  let calls = 0;
  const client = {
    readTasks: () => () => {
      calls += 1;
      const tasks = [{ request_id: `id-${calls}`, task_type: `type-${calls}` }];
      return Promise.resolve({ value: { tasks, next_cursor: 'more' }, etag: null });
    },
  } as unknown as Parameters<typeof readTypes>[0];
  const { signal } = new AbortController();
  const found = await readTypes(client, 'session', new Set(['id-2']), signal);
  expect([calls, found.get('id-2')]).toEqual([2, 'type-2']);
  calls = 0;
  await readTypes(client, 'session', new Set(['absent']), signal);
  expect(calls).toBe(3);
});

test('Sessions are listed by their newest tasks, each once.', () => {
  const rows = [
    { cli_session_id: 'b', create_time: 9 },
    { cli_session_id: '', create_time: 8 },
    { cli_session_id: 'a', create_time: 7 },
    { cli_session_id: 'b', create_time: 6 },
  ] as unknown as Parameters<typeof listSessions>[0];
  expect(listSessions(rows)).toEqual([
    { session: 'b', count: 2, time: 9 },
    { session: 'a', count: 1, time: 7 },
  ]);
});

test('Rows keep their order; new ones come last, in their own.', () => {
  const order = keepOrder(['b', 'a', 'gone'], ['a', 'x', 'b', 'y'], (key) => key);
  expect(order).toEqual(['b', 'a', 'x', 'y']);
});

describe('bars of demand', () => {
  const demand = (used: number, free = 0, waiting = 0, unusable = 0) => ({ used, free, waiting, unusable });

  test('have one scale, which one long row does not press together', () => {
    expect(chooseDemandScale([demand(2), demand(4, 4), demand(0, 0, 6)])).toBe(8);
    expect(chooseDemandScale([demand(1), demand(2), demand(3), demand(900)])).toBe(3);
    expect(chooseDemandScale([])).toBe(1);
  });

  test('have parts that add up to the share of the row', () => {
    expect(measureDemand(demand(2, 1, 4, 1), 16)).toEqual({
      used: 0.125,
      unusable: 0.0625,
      free: 0.0625,
      waiting: 0.25,
      isCut: false,
    });
    const { isCut, ...parts } = measureDemand(demand(900, 0, 9), 10);
    expect(isCut).toBe(true);
    expect(Object.values(parts).reduce((sum, share) => sum + share, 0)).toBeLessThan(1);
  });

  test.each([
    [{ ...demand(0, 0, 3), eligible: 0, no_agent: 0 }, 'bad'],
    [{ ...demand(0), eligible: 0, no_agent: 11 }, 'bad'],
    [{ ...demand(4, 0, 2), eligible: 1, no_agent: 0 }, 'wait'],
    [{ ...demand(4, 1, 2), eligible: 1, no_agent: 3 }, 'ok'],
    [{ ...demand(0), eligible: 0, no_agent: 0 }, 'ok'],
  ] as const)('%o is %s', (tag, need) => {
    expect(classifyDemand(tag)).toBe(need);
  });
});

test('The command to begin with has the default secret where none is set, unless the reader has another one.', () => {
  const run = (gatewaySecret: string, env: Readonly<Record<string, string>>) => {
    const { submit } = writeCommands('http://g', gatewaySecret);
    const script = `curl() { while [ $# -gt 1 ]; do shift; done; printf %s "$1"; }; ${submit}`;
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script], { env, encoding: 'utf8' });
    return status === 0 ? JSON.parse(stdout).auth : stderr;
  };
  expect(run('', {})).toBe('task-gateway-default-secret');
  expect(run('task-gateway-default-secret', {})).toBe('task-gateway-default-secret');
  expect(run('', { GATEWAY_AUTH: 'my own' })).toBe('my own');
  expect(run('my own', { GATEWAY_AUTH: 'my own' })).toBe('my own');
  expect(run('my own', {})).toContain('GATEWAY_AUTH: must be set to the secret of the gateway');
});

test('A line begins at the left, ends at the right, and its highest value touches the top.', () => {
  expect(plotPoints([0, 5, 10])).toEqual(['0.0 26.0', '50.0 14.5', '100.0 3.0']);
  expect(plotPoints([0, 0])).toEqual(['0.0 26.0', '100.0 26.0']);
});

test.each([
  ['offline', false, false, 'no, it is offline'],
  ['draining', false, false, 'no, it is draining'],
  ['drained', false, false, 'no, it is drained by the administrator'],
  ['processing', true, false, 'no, it is full'],
  ['processing', true, true, 'no, it is full, and its pushes fail'],
  ['processing', false, true, 'yes, but ranks last while its pushes fail'],
  ['ready', false, false, 'yes'],
])('An agent that is %s (full: %s, failing: %s) takes new tasks: %s.', (...[state, full, failing, words]) => {
  const drained_by_operator = state === 'drained';
  const agent = { state: drained_by_operator ? 'draining' : state, drained_by_operator, full, failing };
  expect(describeWillingness(agent)).toBe(words);
});

test.each([
  ['connection refused', 'Nothing listens'],
  ['DNS: no response', 'no way to the endpoint'],
  ['host unreachable', 'no way to the endpoint'],
  ['answered 503: busy', 'it is full'],
  ['answered 502', 'does not take the task'],
  ['no connection in time', 'does not respond in time'],
  ['TLS: self-signed certificate', 'log may say more'],
])('the advice on the push error “%s”', (error, advice) => {
  expect(adviseOnPush(error)).toContain(advice);
});

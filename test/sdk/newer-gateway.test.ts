/**
 * A gateway newer than the SDK: states, codes, fields and kinds of events that this version does not know are
 * taken for the nearest general case. An unknown state is not terminal; in `task_done` it is a failure.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createClient, type TaskDone, type TaskGatewayClient } from '../../sdk/index.ts';
import { runCommand } from '../cli/command-run.ts';
import { TASK_PAGE, TASK_ROW } from '../harness/admin-values.ts';
import { gateway as agentGateway, assigned, clock, events, startPulling } from './agent-fixture.ts';
import { createGateway, submission } from './run-gateway.ts';
import { createScriptedFetch, json, someTask } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { elapse, pass } from './sdk-clock.ts';

const paused = someTask({ status: 'paused', agent_id: null, priority: 7, result: null });
const expired = someTask({ status: 'expired', error_info: null });
const frame = (id: string, event: object): string => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
const expiredEvent = {
  event: 'task_done',
  request_id: 'task-1',
  status: 'expired',
  result: null,
  error_info: null,
  priority: 7,
};

function clientOf(response: Response): TaskGatewayClient {
  const fetch = createScriptedFetch(response);
  const secrets = { auth: 'a-good-secret', adminAuth: 'another-secret' };
  return createClient({ baseUrl: 'http://gateway.test', ...secrets, fetch, maxRetries: 0 });
}

describe('a call', () => {
  test('returns a task in an unknown state as it is, with fields of a later version', async () => {
    expect(await clientOf(json(paused)).getTask('task-1')).toEqual(paused);
    expect(await clientOf(json(paused)).submitTask(submission)).toEqual(paused);
  });

  test('lists tasks although one is in an unknown state', async () => {
    const tasks = [...TASK_PAGE.tasks, { ...TASK_PAGE.tasks[0], status: 'paused', priority: 7 }];
    expect((await clientOf(json({ ...TASK_PAGE, tasks })).listTasks()).tasks).toEqual(tasks);
  });

  test.each([
    [409, 'conflict'],
    [400, 'not_asked'],
    [599, 'on_fire'],
  ])('throws an error with an unknown code as the error of its status: %d %s', async (status, code) => {
    const error = clientOf(json({ ...problem(status, code), more: 1 }, status)).getTask('task-1');
    await expect(error).rejects.toMatchObject({ code, status, attempts: 1 });
  });
});

describe('a run', () => {
  test('goes on while its task is in an unknown state', async () => {
    const gateway = createGateway();
    const seen: string[] = [];
    const run = gateway.client.runTask(submission, { onProgress: ({ status }) => seen.push(status) });
    await gateway.clock.advance(0);
    gateway.state.task = paused;
    await pass(gateway.clock, 3_000);
    gateway.succeed();
    expect(await elapse(gateway.clock, run)).toMatchObject({ status: 'success' });
    expect(seen).toEqual(['pending', 'paused', 'success']);
  });

  test('fails when an event says that its task has ended, in whatever state', async () => {
    const gateway = createGateway();
    const run = gateway.client.runTask(submission).catch((error: unknown) => error);
    await gateway.clock.advance(0);
    gateway.state.task = expired;
    gateway.streams[0]?.write(frame('1', { event: 'task_paused', request_id: 'task-1' }));
    await pass(gateway.clock, 500);
    expect(gateway.gets()).toBe(0);
    gateway.streams[0]?.write(frame('2', expiredEvent));
    expect(await elapse(gateway.clock, run)).toMatchObject({
      code: 'task_failed',
      task: { status: 'failed', error_info: 'expired', result: null },
    });
    expect(gateway.clock.nowMs()).toBeLessThan(1_000);
  });

  test('fails without an event when its task must have timed out', async () => {
    const gateway = createGateway();
    const run = gateway.client
      .runTask({ ...submission, timeout: 30, cli_session_id: '会话' })
      .catch((error: unknown) => error);
    await gateway.clock.advance(0);
    gateway.state.task = expired;
    expect(await elapse(gateway.clock, run)).toMatchObject({ code: 'task_failed' });
    expect(gateway.clock.nowMs()).toBeGreaterThanOrEqual(90_000);
    expect(gateway.clock.nowMs()).toBeLessThan(95_000);
  });
});

test('A subscription skips events of unknown kinds, and returns an unknown end as a failure.', async () => {
  const gateway = createGateway();
  const subscription = gateway.client.subscribeEvents('s');
  const first = (async (): Promise<TaskDone | undefined> => {
    for await (const event of subscription) return event;
    return undefined;
  })();
  await gateway.clock.advance(0);
  gateway.streams[0]?.write(frame('1', { event: 'task_paused', request_id: 'task-1' }));
  gateway.streams[0]?.write(frame('2', expiredEvent));
  expect(await elapse(gateway.clock, first)).toEqual({
    ...expiredEvent,
    status: 'failed',
    error_info: 'expired',
  });
});

test('An agent works on a task that the gateway hands to it in an unknown state.', async () => {
  await startPulling();
  agentGateway.claimable.push(assigned('task-1', { status: 'starting' }));
  agentGateway.wake();
  await pass(clock, 2_000);
  expect(events.map(({ kind }) => kind)).toContain('taken');
  expect(agentGateway.outcomes.get('task-1')).toMatchObject({ status: 'success' });
});

test('The command shows and lists tasks in unknown states.', async () => {
  const row = { ...TASK_ROW, request_id: 'task-1', status: 'paused', outcome: 'evaporated' };
  const server = createServer(({ url = '' }, response) => {
    const isList = url.startsWith('/api/admin/');
    const list = { time: 1, next_cursor: null, tasks: [row], counts: null };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(isList ? list : paused));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const env = {
    TASK_GATEWAY_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    TASK_GATEWAY_AUTH: 'a-good-secret',
    TASK_GATEWAY_ADMIN_AUTH: 'another-secret',
  };
  try {
    const lines = ['task get task-1', 'task list', 'task list --waiting'];
    const printed = await Promise.all(lines.map((line) => runCommand(line, { env })));
    for (const { code, stdout, stderr } of printed) {
      expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringContaining('paused') });
    }
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

/** The client’s calls: what each sends, where its secret is, and which options createClient rejects. */
import { describe, expect, test } from 'vitest';
import { createClient, type TaskGatewayClient, TaskGatewayError } from '../../sdk/index.ts';
import { AGENT_ROW, OVERVIEW, TASK_PAGE } from '../harness/admin-values.ts';
import { ADMIN, AUTH, connect, submission } from './calls-fixture.ts';
import { json, someTask } from './scripted-fetch.ts';

const AGENT_DETAIL = { ...AGENT_ROW, time: 1, activity: {}, slots: [], pushes: [] };

describe('each operation is sent as the contract says', () => {
  const agent = { agent_id: 'a' };
  const done = { ok: true, agent_id: 'a' };
  const report = { ...agent, request_id: 't', status: 'success', result: { output: '好' } } as const;
  const matching = { filter: { status: ['pending' as const] }, created_before: 2, dry_run: true };
  const detail = { ...AGENT_DETAIL, agent_id: 'a/b' };
  const agents = { time: 1, agents: [AGENT_ROW], total: 2, counts: {}, next_cursor: 'x' };
  const pending = { status: ['pending' as const, 'running' as const], tag: 'a,b', counts: true };

  /** What is called, where its secret is, what is sent beside the secret, and what is received. */
  test.each<
    [
      request: string,
      secretIn: 'body' | 'authorization' | 'x-admin-auth',
      call: (client: TaskGatewayClient) => Promise<unknown>,
      received: object,
      body?: object,
    ]
  >([
    ['POST /api/cli/tasks', 'body', (c) => c.submitTask(submission), someTask(), submission],
    ['GET /api/cli/tasks/a%2Fb%3Fc', 'authorization', (c) => c.getTask('a/b?c'), someTask()],
    ['GET /api/cli/tasks/t?wait=2.5', 'authorization', (c) => c.getTask('t', { wait: 2.5 }), someTask()],
    [
      ...(['POST /api/cli/tasks/t/cancel', 'authorization'] as const),
      (c) => c.cancelTask('t'),
      { ok: true, request_id: 't' },
    ],
    [
      ...(['POST /api/agent/register', 'body'] as const),
      (c) => c.registerAgent({ ...agent, endpoint: 'pull', agent_tags: [] }),
      { ...done, state: 'ready', heartbeat_interval: 15 },
      { ...agent, endpoint: 'pull', agent_tags: [] },
    ],
    ['POST /api/agent/heartbeat', 'body', (c) => c.heartbeatAgent(agent), done, agent],
    [
      ...(['POST /api/agent/claim', 'body'] as const),
      (c) => c.claimTask({ ...agent, wait: 1 }),
      someTask(),
      { ...agent, wait: 1 },
    ],
    [
      ...(['POST /api/agent/result', 'body'] as const),
      (c) => c.reportResult(report),
      { ok: true, request_id: 't', status: 'success', accepted: true },
      report,
    ],
    ['POST /api/agent/unregister', 'body', (c) => c.unregisterAgent(agent), done, agent],
    [
      ...(['GET /api/admin/agents?full=true&limit=5', 'x-admin-auth'] as const),
      (c) => c.listAgents({ full: true, limit: 5 }),
      agents,
    ],
    ['GET /api/admin/overview?tags=5', 'x-admin-auth', (c) => c.getOverview({ tags: 5 }), OVERVIEW],
    [
      ...(['GET /api/admin/tasks?status=pending,running&tag=a%2Cb&counts=true', 'x-admin-auth'] as const),
      (c) => c.listTasks(pending),
      TASK_PAGE,
    ],
    [
      ...(['POST /api/admin/tasks/cancel', 'x-admin-auth'] as const),
      (c) => c.cancelTasks(matching),
      { matched: 2, cancelled: 1, already_ended: 1, not_found: 0, next_cursor: null },
      matching,
    ],
    ['GET /api/admin/agents/a%2Fb', 'x-admin-auth', (c) => c.getAgent('a/b'), detail],
    [
      ...(['POST /api/admin/agents/a%2Fb/drain', 'x-admin-auth'] as const),
      (c) => c.drainAgent('a/b', { draining: true }),
      detail,
      { draining: true },
    ],
  ])('%s', async (request, secretIn, call, received, body) => {
    const { client, sent } = connect([json(received)]);
    expect(await call(client)).toEqual(received);
    const [one] = sent;
    expect(`${one?.method} ${one?.url.pathname}${one?.url.search}`).toBe(request);
    expect(one?.body).toEqual(secretIn === 'body' ? { ...body, auth: AUTH } : body);
    expect(one?.headers.get('authorization')).toBe(secretIn === 'authorization' ? `Bearer ${AUTH}` : null);
    expect(one?.headers.get('x-admin-auth')).toBe(secretIn === 'x-admin-auth' ? ADMIN : null);
    expect(one?.url.href).not.toContain('canary');
  });

  test('a claim without a task is null', async () => {
    const { client } = connect([new Response(null, { status: 204 })]);
    expect(await client.claimTask({ agent_id: 'a' })).toBeNull();
  });

  test('headers of the client and of the call are sent, and never replace the secret', async () => {
    const { client, sent } = connect([json(someTask())], { headers: { 'x-tenant': 'a', 'x-trace': '1' } });
    await client.getTask('t', { headers: { 'x-trace': '2', authorization: 'Basic x' } });
    expect(sent[0]?.headers.get('x-tenant')).toBe('a');
    expect(sent[0]?.headers.get('x-trace')).toBe('2');
    expect(sent[0]?.headers.get('authorization')).toBe(`Bearer ${AUTH}`);
  });

  test('a header of the caller’s in another spelling does not replace or join the secret', async () => {
    const { client, sent } = connect([json(someTask())], { headers: { Authorization: 'Basic x' } });
    await client.getTask('t', { headers: { AUTHORIZATION: 'Basic y' } });
    expect(sent[0]?.headers.get('authorization')).toBe(`Bearer ${AUTH}`);
  });

  test.each(['.', '..', '', '\ud800', 5 as unknown as string])(
    'an id that no path can carry is rejected before anything is sent: %j',
    async (request_id) => {
      const { client, sent } = connect([json(someTask())]);
      await expect(client.getTask(request_id)).rejects.toMatchObject({ code: 'invalid_option' });
      await expect(client.cancelTask(request_id)).rejects.toMatchObject({ code: 'invalid_option' });
      expect(sent).toHaveLength(0);
    },
  );

  test('a body and a header that can’t be sent are rejected by an error of the SDK', async () => {
    const { client, sent } = connect([json(someTask())]);
    const payload: Record<string, unknown> = {};
    payload.itself = payload;
    await expect(client.submitTask({ ...submission, payload })).rejects.toMatchObject({
      code: 'invalid_option',
    });
    const headers = { 'x-name': 'canary\n' };
    const error = await client.getTask('t', { headers: { ...headers, 'x y': 'canary' } }).catch(String);
    expect(error).toMatch(/^InvalidOptionError/);
    expect(error).not.toContain('canary');
    expect(sent).toHaveLength(0);
  });

  test('the largest task is read: a payload and a result of 1 MiB each', async () => {
    const text = 'x'.repeat(1_048_576 - 11);
    const task = someTask({ status: 'success', agent_id: 'a', payload: { text }, result: { output: text } });
    const { client } = connect([json(task)]);
    expect(await client.getTask('t')).toEqual(task);
  });

  test('a path in the address is kept in front of the operation’s path', async () => {
    const { client, sent } = connect([json(someTask())], { baseUrl: 'http://gateway.test/tasks/{v1}/' });
    await client.getTask('t');
    expect(sent[0]?.url.pathname).toBe('/tasks/%7Bv1%7D/api/cli/tasks/t');
  });
});

describe('createClient rejects options that can’t work', () => {
  test.each([
    ['no address', { baseUrl: 'gateway' }],
    ['another protocol', { baseUrl: 'ftp://gateway.test' }],
    ['a password in the address', { baseUrl: 'http://me:canary@gateway.test' }],
    ['a query in the address', { baseUrl: 'http://gateway.test/?auth=canary' }],
    ['no secret', { auth: '' }],
    ['a secret no header can carry', { auth: 'canary\nsecret' }],
    ['a secret with a space at its end', { auth: 'canary ' }],
    ['an administrator’s secret no header can carry', { adminAuth: '密' }],
  ])('%s', (_title, options) => {
    const create = () => createClient({ baseUrl: 'http://gateway.test', auth: AUTH, ...options });
    expect(create).toThrow(expect.objectContaining({ name: 'InvalidOptionError', code: 'invalid_option' }));
    expect(create).not.toThrow(/canary/);
  });

  test('lists are rejected without the administrator’s secret', async () => {
    const { client, sent } = connect([json({})], { adminAuth: undefined });
    await expect(client.listAgents()).rejects.toBeInstanceOf(TaskGatewayError);
    expect(sent).toHaveLength(0);
  });
});

test('A response about another agent than the one asked for is an error, which names the cause.', async () => {
  const { client, sent } = connect([json({ ...AGENT_DETAIL, agent_id: 'b' })]);
  await expect(client.getAgent('x/../b')).rejects.toMatchObject({
    name: 'ConnectionError',
    code: 'id_mismatch',
    message: expect.stringContaining('A proxy before the gateway changes paths'),
  });
  expect(sent).toHaveLength(1);
});

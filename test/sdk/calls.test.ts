/** The client’s calls: what each sends, where its secret is, and which options createClient rejects. */
import { describe, expect, test } from 'vitest';
import { createClient, type TaskGatewayClient, TaskGatewayError } from '../../sdk/index.ts';
import { AGENT_ROW, OVERVIEW, TASK_PAGE } from './admin-values.ts';
import { ADMIN, AUTH, connect, submission } from './calls-fixture.ts';
import { json, someTask } from './scripted-fetch.ts';

const AGENT_DETAIL = { ...AGENT_ROW, time: 1, activity: {}, slots: [], pushes: [] };

describe('each operation is sent as the contract says', () => {
  const rows: readonly {
    readonly name: string;
    readonly call: (client: TaskGatewayClient) => Promise<unknown>;
    readonly request: string;
    readonly body?: unknown;
    readonly secretIn: 'body' | 'authorization' | 'x-admin-auth';
    readonly received: Record<string, unknown>;
  }[] = [
    {
      name: 'submitTask',
      call: (c) => c.submitTask(submission),
      request: 'POST /api/cli/tasks',
      body: { ...submission, auth: AUTH },
      secretIn: 'body',
      received: someTask(),
    },
    {
      name: 'getTask',
      call: (c) => c.getTask('a/b?c'),
      request: 'GET /api/cli/tasks/a%2Fb%3Fc',
      secretIn: 'authorization',
      received: someTask(),
    },
    {
      name: 'getTask with wait',
      call: (c) => c.getTask('t', { wait: 2.5 }),
      request: 'GET /api/cli/tasks/t?wait=2.5',
      secretIn: 'authorization',
      received: someTask(),
    },
    {
      name: 'cancelTask',
      call: (c) => c.cancelTask('t'),
      request: 'POST /api/cli/tasks/t/cancel',
      secretIn: 'authorization',
      received: { ok: true, request_id: 't' },
    },
    {
      name: 'registerAgent',
      call: (c) => c.registerAgent({ agent_id: 'a', endpoint: 'pull', agent_tags: [] }),
      request: 'POST /api/agent/register',
      body: { agent_id: 'a', endpoint: 'pull', agent_tags: [], auth: AUTH },
      secretIn: 'body',
      received: { ok: true, agent_id: 'a', state: 'ready', heartbeat_interval: 15 },
    },
    {
      name: 'heartbeatAgent',
      call: (c) => c.heartbeatAgent({ agent_id: 'a' }),
      request: 'POST /api/agent/heartbeat',
      body: { agent_id: 'a', auth: AUTH },
      secretIn: 'body',
      received: { ok: true, agent_id: 'a' },
    },
    {
      name: 'claimTask',
      call: (c) => c.claimTask({ agent_id: 'a', wait: 1 }),
      request: 'POST /api/agent/claim',
      body: { agent_id: 'a', wait: 1, auth: AUTH },
      secretIn: 'body',
      received: someTask(),
    },
    {
      name: 'reportResult',
      call: (c) =>
        c.reportResult({ request_id: 't', agent_id: 'a', status: 'success', result: { output: '好' } }),
      request: 'POST /api/agent/result',
      body: { request_id: 't', agent_id: 'a', status: 'success', result: { output: '好' }, auth: AUTH },
      secretIn: 'body',
      received: { ok: true, request_id: 't', status: 'success', accepted: true },
    },
    {
      name: 'unregisterAgent',
      call: (c) => c.unregisterAgent({ agent_id: 'a' }),
      request: 'POST /api/agent/unregister',
      body: { agent_id: 'a', auth: AUTH },
      secretIn: 'body',
      received: { ok: true, agent_id: 'a' },
    },
    {
      name: 'listAgents',
      call: (c) => c.listAgents({ full: true, limit: 5 }),
      request: 'GET /api/admin/agents?full=true&limit=5',
      secretIn: 'x-admin-auth',
      received: { time: 1, agents: [AGENT_ROW], total: 2, counts: {}, next_cursor: 'x' },
    },
    {
      name: 'getOverview',
      call: (c) => c.getOverview({ tags: 5 }),
      request: 'GET /api/admin/overview?tags=5',
      secretIn: 'x-admin-auth',
      received: OVERVIEW,
    },
    {
      name: 'listTasks',
      call: (c) => c.listTasks({ status: ['pending', 'running'], tag: 'a,b', counts: true }),
      request: 'GET /api/admin/tasks?status=pending,running&tag=a%2Cb&counts=true',
      secretIn: 'x-admin-auth',
      received: TASK_PAGE,
    },
    {
      name: 'cancelTasks',
      call: (c) => c.cancelTasks({ filter: { status: ['pending'] }, created_before: 2, dry_run: true }),
      request: 'POST /api/admin/tasks/cancel',
      body: { filter: { status: ['pending'] }, created_before: 2, dry_run: true },
      secretIn: 'x-admin-auth',
      received: { matched: 2, cancelled: 1, already_ended: 1, not_found: 0, next_cursor: null },
    },
    {
      name: 'getAgent',
      call: (c) => c.getAgent('a/b'),
      request: 'GET /api/admin/agents/a%2Fb',
      secretIn: 'x-admin-auth',
      received: { ...AGENT_DETAIL, agent_id: 'a/b' },
    },
    {
      name: 'drainAgent',
      call: (c) => c.drainAgent('a/b', { draining: true }),
      request: 'POST /api/admin/agents/a%2Fb/drain',
      body: { draining: true },
      secretIn: 'x-admin-auth',
      received: { ...AGENT_DETAIL, agent_id: 'a/b' },
    },
  ];

  test.each(rows)('$name', async ({ call, request, body, secretIn, received }) => {
    const { client, sent } = connect([json(received)]);
    expect(await call(client)).toEqual(received);
    const [one] = sent;
    expect(`${one?.method} ${one?.url.pathname}${one?.url.search}`).toBe(request);
    expect(one?.body).toEqual(body);
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

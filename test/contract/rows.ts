/**
 * The rows of the contract suite: for each operation and each documented status, the request that gets this
 * status from the real server. The mock gets the usual request and the status to respond with.
 */

import type { RealServer } from './peers.ts';
import type { Call, OperationId } from './usual-calls.ts';
import { OPERATIONS } from './usual-calls.ts';

export type Row = {
  readonly operationId: OperationId;
  readonly status: number;
  /** When the operation responds with it. */
  readonly when: string;
  /** In a second row of the same status: why the mock can't distinguish it from the first. */
  readonly serverOnly?: 'needs state' | 'needs a real secret' | 'needs to tell bodies apart';
  /** What the body must hold beyond what the document requires. */
  readonly expect?: Readonly<Record<string, unknown>>;
  /** The server the request is sent to; default: the one that works. */
  readonly server?: 'outOfOrder' | 'faulty' | 'local' | 'misnamed';
  /** Brings the real server into the state and builds the request. */
  prepare(server: RealServer): Call | Promise<Call>;
};

type Prepare = Row['prepare'];
type More = Omit<Partial<Row>, 'prepare'>;

function row(operationId: OperationId, status: number, when: string, prepare: Prepare, more: More = {}): Row {
  return { operationId, status, when, prepare, ...more };
}

const usual =
  (operationId: OperationId): Prepare =>
  (server) =>
    server.build(operationId);

/** The request with a wrong secret in every position where it has one. */
function spoil(call: Call, { gateway, admin }: RealServer['secrets']): Call {
  const text = typeof call.body === 'string' ? call.body : undefined;
  return {
    ...call,
    path: call.path.replace(encodeURIComponent(gateway), 'wrong'),
    ...(call.headers && {
      headers: Object.fromEntries(
        Object.entries(call.headers).map(([name, value]) => [name, value === admin ? 'wrong' : value]),
      ),
    }),
    ...(text !== undefined && { body: text.replace(JSON.stringify(gateway), '"wrong"') }),
  };
}

const code = (name: string): More => ({ expect: { code: name } });

/** A task that waits for an agent, and its id. */
async function submitWaiting(server: RealServer): Promise<string> {
  const { text } = await server.arrange('submitTask', { queue_timeout: 60 });
  return JSON.parse(text).request_id;
}

/** A registered agent that has claimed a task. */
async function claimTask(server: RealServer): Promise<{ agent_id: string; request_id: string }> {
  const agent_id = server.fresh('agent');
  const task_tags = [server.fresh('tag')];
  await server.arrange('registerAgent', { agent_id, agent_tags: task_tags });
  await server.arrange('submitTask', { task_tags });
  const { text } = await server.arrange('claimTask', { agent_id, wait: 20 });
  return { agent_id, request_id: JSON.parse(text).request_id };
}

async function registerAgent(server: RealServer): Promise<string> {
  const agent_id = server.fresh('agent');
  await server.arrange('registerAgent', { agent_id });
  return agent_id;
}

const WITH_BODY = OPERATIONS.filter((one) =>
  ['submitTask', 'claimTask', 'heartbeatAgent', 'registerAgent', 'reportResult', 'unregisterAgent'].includes(
    one,
  ),
);
const WITH_AGENT_ID_FIRST: readonly OperationId[] = [
  'claimTask',
  'heartbeatAgent',
  'reportResult',
  'unregisterAgent',
];

/** What every operation, or every one with a body, has in common. */
const shared: readonly Row[] = [
  ...OPERATIONS.map((one) =>
    row(one, 401, 'the secret is wrong', (server) => {
      const inBody = ['heartbeatAgent', 'reportResult', 'unregisterAgent'].includes(one);
      return spoil(server.build(one, inBody ? { auth: server.secrets.gateway } : {}), server.secrets);
    }),
  ),
  ...OPERATIONS.map((one) =>
    row(
      one,
      403,
      'a web page of another origin calls',
      (server) => {
        const call = server.build(one);
        return { ...call, headers: { ...call.headers, origin: 'https://rebound.example' } };
      },
      { server: 'local', ...code('origin_not_allowed') },
    ),
  ),
  ...OPERATIONS.map((one) =>
    row(one, 421, 'the gateway is called by a name that is not its own', usual(one), {
      server: 'misnamed',
      ...code('misdirected'),
    }),
  ),
  ...OPERATIONS.map((one) =>
    row(one, 500, 'the store fails unexpectedly', usual(one), {
      server: 'faulty',
      ...code('internal'),
    }),
  ),
  ...OPERATIONS.map((one) =>
    row(one, 503, 'the store does not reply', usual(one), {
      server: 'outOfOrder',
      ...code('store_unavailable'),
    }),
  ),
  ...WITH_BODY.map((one) =>
    row(one, 400, 'the body is not JSON', (server) => ({ ...server.build(one), body: '{"auth":' }), {
      ...code('malformed_body'),
      ...(WITH_AGENT_ID_FIRST.includes(one) && { serverOnly: 'needs to tell bodies apart' }),
    }),
  ),
  ...WITH_AGENT_ID_FIRST.map((one) =>
    row(
      one,
      400,
      'the body has no agent_id',
      (server) => server.build(one, { agent_id: undefined }),
      code('agent_id_missing'),
    ),
  ),
  ...WITH_BODY.map((one) =>
    row(one, 413, 'the body is too large', (server) =>
      server.build(one, { more: 'x'.repeat(4 * 1024 * 1024) }),
    ),
  ),
  ...WITH_BODY.map((one) =>
    row(one, 415, 'the body is compressed', (server) => {
      const call = server.build(one);
      return { ...call, headers: { ...call.headers, 'content-encoding': 'gzip' } };
    }),
  ),
  ...WITH_BODY.map((one) =>
    row(
      one,
      422,
      'a field has a wrong type',
      (server) => server.build(one, { [one === 'submitTask' ? 'payload' : 'agent_id']: 1 }),
      code('validation_failed'),
    ),
  ),
];

/** What each operation has of its own. */
const own: readonly Row[] = [
  row('submitTask', 200, 'the task is accepted', usual('submitTask'), { expect: { status: 'pending' } }),
  row(
    'submitTask',
    422,
    'a key comes again with another content',
    async (server) => {
      const headers = { 'idempotency-key': server.fresh('key') };
      const first = server.build('submitTask', { task_type: 'one' });
      await fetch(server.url + first.path, { method: 'POST', headers, body: String(first.body) });
      return { ...server.build('submitTask', { task_type: 'another' }), headers };
    },
    { serverOnly: 'needs state', ...code('idempotency_conflict') },
  ),
  row(
    'submitTask',
    401,
    'the secret in the query is wrong though the body has it',
    (server) => ({ ...server.build('submitTask'), path: '/api/cli/tasks?auth=wrong' }),
    {
      serverOnly: 'needs a real secret',
    },
  ),
  row('getTask', 200, 'the task is known', async (server) =>
    server.build('getTask', {}, await submitWaiting(server)),
  ),
  row('getTask', 404, 'the task is unknown', usual('getTask'), code('task_not_found')),
  row('getTask', 422, 'the wait is no number', (server) => {
    const call = server.build('getTask');
    return { ...call, path: `${call.path}&wait=soon` };
  }),
  row(
    'cancelTask',
    200,
    'the task is open',
    async (server) => server.build('cancelTask', {}, await submitWaiting(server)),
    { expect: { ok: true } },
  ),
  row(
    'cancelTask',
    400,
    'the task has ended',
    async (server) => {
      const id = await submitWaiting(server);
      await server.arrange('cancelTask', {}, id);
      return server.build('cancelTask', {}, id);
    },
    code('task_terminal'),
  ),
  row('cancelTask', 404, 'the task is unknown', usual('cancelTask'), code('task_not_found')),
  row('subscribeEvents', 200, 'a task of the session has ended', async (server) => {
    const session = server.fresh('session');
    const { text } = await server.arrange('submitTask', { cli_session_id: session, queue_timeout: 60 });
    await server.arrange('cancelTask', {}, JSON.parse(text).request_id);
    return server.build('subscribeEvents', {}, session);
  }),
  row('subscribeEvents', 422, 'no session is named', (server) => server.build('subscribeEvents', {}, '')),
  row('subscribeEvents', 429, 'the session has as many streams as it may', async (server) => {
    const session = server.fresh('session');
    await server.holdStream(session);
    return server.build('subscribeEvents', {}, session);
  }),
  row(
    'registerAgent',
    200,
    'the agent may register',
    (server) => server.build('registerAgent', { agent_id: server.fresh('agent') }),
    { expect: { state: 'ready' } },
  ),
  row(
    'registerAgent',
    422,
    'the endpoint is no address',
    (server) => server.build('registerAgent', { endpoint: 'ftp://a' }),
    { serverOnly: 'needs to tell bodies apart' },
  ),
  row('heartbeatAgent', 200, 'the agent is registered', async (server) =>
    server.build('heartbeatAgent', { agent_id: await registerAgent(server) }),
  ),
  row('heartbeatAgent', 404, 'the agent is not registered', usual('heartbeatAgent'), code('agent_not_found')),
  row('claimTask', 200, 'a task is assigned to the agent', async (server) => {
    const agent_id = server.fresh('agent');
    const task_tags = [server.fresh('tag')];
    await server.arrange('registerAgent', { agent_id, agent_tags: task_tags });
    await server.arrange('submitTask', { task_tags });
    return server.build('claimTask', { agent_id, wait: 20 });
  }),
  row('claimTask', 204, 'there is no task for the agent', async (server) =>
    server.build('claimTask', { agent_id: await registerAgent(server) }),
  ),
  row('claimTask', 404, 'the agent is not registered', usual('claimTask'), code('agent_not_found')),
  row(
    'reportResult',
    200,
    'the agent has the task',
    async (server) => {
      const { agent_id, request_id } = await claimTask(server);
      return server.build('reportResult', { agent_id }, request_id);
    },
    { expect: { accepted: true, status: 'success' } },
  ),
  row(
    'reportResult',
    200,
    'the result was reported before',
    async (server) => {
      const { agent_id, request_id } = await claimTask(server);
      await server.arrange('reportResult', { agent_id }, request_id);
      return server.build('reportResult', { agent_id }, request_id);
    },
    { serverOnly: 'needs state', expect: { accepted: false, status: 'success' } },
  ),
  row(
    'reportResult',
    400,
    'another agent has the task',
    async (server) => {
      const { request_id } = await claimTask(server);
      return server.build('reportResult', { agent_id: await registerAgent(server) }, request_id);
    },
    { serverOnly: 'needs state', ...code('agent_mismatch') },
  ),
  row(
    'reportResult',
    404,
    'the task is unknown',
    async (server) => server.build('reportResult', { agent_id: await registerAgent(server) }),
    code('task_not_found'),
  ),
  row('unregisterAgent', 200, 'the agent is registered', async (server) =>
    server.build('unregisterAgent', { agent_id: await registerAgent(server) }),
  ),
  row('unregisterAgent', 200, 'the agent has registered again since', async (server) =>
    server.build('unregisterAgent', { agent_id: await registerAgent(server), registration: 'of-before' }),
  ),
  row(
    'unregisterAgent',
    404,
    'the agent is not registered',
    usual('unregisterAgent'),
    code('agent_not_found'),
  ),
  row('listAgents', 200, 'agents are registered', async (server) => {
    await claimTask(server);
    return server.build('listAgents');
  }),
  row(
    'listAgents',
    401,
    'the gateway secret is sent instead',
    (server) => ({ ...server.build('listAgents'), headers: { 'x-admin-auth': server.secrets.gateway } }),
    { serverOnly: 'needs a real secret' },
  ),
  row('listTasks', 200, 'there are more tasks than one page holds', async (server) => {
    for (let count = 0; count < 3; count += 1) await submitWaiting(server);
    return server.build('listTasks');
  }),
  row('listTasks', 422, 'the limit is out of its range', (server) => ({
    ...server.build('listTasks'),
    path: '/api/admin/tasks?limit=0',
  })),
];

export const rows: readonly Row[] = [...own, ...shared];

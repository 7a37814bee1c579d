/** The rows of the contract suite that one operation has for itself. */
import { askAsAdmin, claimTask, code, type Row, registerAgent, row, submitWaiting, usual } from './row.ts';

export const operationRows: readonly Row[] = [
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
      ...code('unauthorized'),
    },
  ),
  row('getTask', 200, 'the task is known', async (server) =>
    server.build('getTask', {}, await submitWaiting(server)),
  ),
  row('getTask', 404, 'the task is unknown', usual('getTask'), code('task_not_found')),
  row(
    'getTask',
    422,
    'the wait is no number',
    (server) => {
      const call = server.build('getTask');
      return { ...call, path: `${call.path}&wait=soon` };
    },
    code('validation_failed'),
  ),
  row('getTask', 200, 'the administrator asks', async (server) =>
    askAsAdmin(server, 'getTask', await submitWaiting(server)),
  ),
  row('explainTask', 200, 'the task waits', async (server) =>
    server.build('explainTask', {}, await submitWaiting(server)),
  ),
  row('explainTask', 200, 'the administrator asks', async (server) =>
    askAsAdmin(server, 'explainTask', await submitWaiting(server)),
  ),
  row('explainTask', 404, 'the task is unknown', usual('explainTask'), code('task_not_found')),
  row('previewMatch', 200, 'no agent has the tag', usual('previewMatch')),
  row('previewMatch', 200, 'the administrator asks', (server) => askAsAdmin(server, 'previewMatch')),
  row(
    'previewMatch',
    422,
    'no secret is sent',
    (server) => server.build('previewMatch', { auth: undefined }),
    { serverOnly: 'needs a real secret', ...code('validation_failed') },
  ),
  row(
    'previewMatch',
    401,
    'the secret in the body is wrong though that of the administrator is right',
    (server) => {
      const call = server.build('previewMatch', { auth: 'wrong' });
      return { ...call, headers: { ...call.headers, 'x-admin-auth': server.secrets.admin } };
    },
    { serverOnly: 'needs a real secret', ...code('unauthorized') },
  ),
  ...(['getTask', 'explainTask', 'readOutput'] as const).map((operationId) =>
    row(
      operationId,
      401,
      'the secret in the query is wrong though that of the administrator is right',
      (server) => ({
        ...askAsAdmin(server, operationId),
        path: server.build(operationId).path.replace(/auth=.*/, 'auth=wrong'),
      }),
      { serverOnly: 'needs a real secret', ...code('unauthorized') },
    ),
  ),
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
  row(
    'subscribeEvents',
    422,
    'no session is named',
    (server) => server.build('subscribeEvents', {}, ''),
    code('validation_failed'),
  ),
  row(
    'subscribeEvents',
    429,
    'the session has as many streams as it may',
    async (server) => {
      const session = server.fresh('session');
      const call = server.build('subscribeEvents', {}, session);
      await server.holdStream(call);
      return call;
    },
    code('too_many_streams'),
  ),
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
    { serverOnly: 'needs to tell bodies apart', ...code('validation_failed') },
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
  row(
    'reportResult',
    404,
    'the agent is not registered',
    async (server) => {
      const { request_id } = await claimTask(server);
      return server.build('reportResult', { agent_id: server.fresh('stranger') }, request_id);
    },
    { serverOnly: 'needs state', ...code('agent_not_found') },
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
    { serverOnly: 'needs a real secret', ...code('unauthorized') },
  ),
  row('listTasks', 200, 'there are more tasks than one page holds', async (server) => {
    for (let count = 0; count < 3; count += 1) await submitWaiting(server);
    return { ...server.build('listTasks'), path: '/api/admin/tasks?limit=2' };
  }),
  row(
    'listTasks',
    422,
    'the limit is out of its range',
    (server) => ({ ...server.build('listTasks'), path: '/api/admin/tasks?limit=0' }),
    code('validation_failed'),
  ),
];

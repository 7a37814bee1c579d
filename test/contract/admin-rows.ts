/** The rows of the contract suite that the administrator's operations have for themselves. */
import { code, type Prepare, type Row, registerAgent, row, submitWaiting, usual } from './row.ts';
import type { OperationId } from './usual-calls.ts';

/** The usual request with a query. */
const ask =
  (operationId: OperationId, query: string): Prepare =>
  (server) => {
    const call = server.build(operationId);
    return { ...call, path: `${call.path}?${query}` };
  };

/** The usual request with the `ETag` of the response before. */
const askAgain =
  (operationId: OperationId, findId: Prepare | null = null): Prepare =>
  async (server) => {
    const call = findId ? await findId(server) : server.build(operationId);
    const response = await fetch(server.url + call.path, { headers: call.headers ?? {} });
    await response.body?.cancel();
    const tag = response.headers.get('etag') ?? '';
    return { ...call, headers: { ...call.headers, 'if-none-match': tag } };
  };

const getAgent: Prepare = async (server) => server.build('getAgent', {}, await registerAgent(server));

export const adminRows: readonly Row[] = [
  row('getOverview', 200, 'the store responds', usual('getOverview'), { expect: { store: { ok: true } } }),
  row('getOverview', 200, 'the store does not respond', usual('getOverview'), {
    server: 'outOfOrder',
    serverOnly: 'needs state',
    expect: { store: { ok: false }, problems: [{ code: 'store_down' }] },
  }),
  row('getOverview', 304, 'nothing has changed', askAgain('getOverview')),
  row(
    'getOverview',
    422,
    'the number of tags is out of its range',
    ask('getOverview', 'tags=0'),
    code('validation_failed'),
  ),
  row('listTasks', 200, 'tasks wait, and are counted', async (server) => {
    await submitWaiting(server);
    return await ask('listTasks', 'status=pending,running&waiting=true&limit=1&counts=true')(server);
  }),
  row('listTasks', 304, 'nothing has changed', askAgain('listTasks')),
  row('listTasks', 422, 'an outcome is unknown', ask('listTasks', 'outcome=lost'), {
    ...code('validation_failed'),
  }),
  row(
    'listTasks',
    422,
    'a value is not true or false',
    ask('listTasks', 'waiting=1'),
    code('validation_failed'),
  ),
  row(
    'listTasks',
    422,
    'the end of an id is too short',
    ask('listTasks', 'id=1234567'),
    code('validation_failed'),
  ),
  row(
    'cancelTasks',
    200,
    'the task is open',
    async (server) => server.build('cancelTasks', {}, await submitWaiting(server)),
    { expect: { matched: 1, cancelled: 1, next_cursor: null } },
  ),
  row(
    'cancelTasks',
    200,
    'a filter matches',
    async (server) => {
      const task_type = server.fresh('type');
      await server.arrange('submitTask', { task_type, queue_timeout: 60 });
      const filter = { status: ['pending'], type: task_type };
      return server.build('cancelTasks', { request_ids: null, filter, dry_run: true });
    },
    { serverOnly: 'needs to tell bodies apart', expect: { matched: 1, cancelled: 1 } },
  ),
  row('cancelTasks', 403, 'the console is read-only', usual('cancelTasks'), {
    server: 'readOnly',
    serverOnly: 'needs state',
    ...code('read_only'),
  }),
  row(
    'cancelTasks',
    422,
    'a filter and ids are sent',
    (server) => server.build('cancelTasks', { filter: {} }),
    { serverOnly: 'needs to tell bodies apart', ...code('validation_failed') },
  ),
  row(
    'cancelTasks',
    422,
    'a filter is misspelt',
    (server) => server.build('cancelTasks', { request_ids: null, filter: { task_type: 't' } }),
    { serverOnly: 'needs to tell bodies apart', ...code('validation_failed') },
  ),
  row('listAgents', 200, 'a page is asked for', async (server) => {
    await registerAgent(server);
    return await ask('listAgents', 'full=false&limit=10')(server);
  }),
  row(
    'listAgents',
    304,
    'nothing has changed on a page',
    askAgain('listAgents', ask('listAgents', 'limit=9')),
  ),
  row(
    'listAgents',
    422,
    'a value is not true or false',
    ask('listAgents', 'full=yes'),
    code('validation_failed'),
  ),
  row('getAgent', 200, 'the agent is registered', getAgent),
  row('getAgent', 304, 'nothing has changed', askAgain('getAgent', getAgent)),
  row('getAgent', 404, 'the agent is not registered', usual('getAgent'), code('agent_not_found')),
  row(
    'drainAgent',
    200,
    'the agent is registered',
    async (server) => server.build('drainAgent', {}, await registerAgent(server)),
    { expect: { state: 'draining', drained_by_operator: true } },
  ),
  row('drainAgent', 403, 'the console is read-only', usual('drainAgent'), {
    server: 'readOnly',
    serverOnly: 'needs state',
    ...code('read_only'),
  }),
  row('drainAgent', 404, 'the agent is not registered', usual('drainAgent'), code('agent_not_found')),
];

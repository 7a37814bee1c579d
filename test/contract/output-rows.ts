/** The rows of the contract suite about the output of tasks. */
import type { RealServer } from './peers.ts';
import { askAsAdmin, claimTask, code, type Row, registerAgent, row, submitWaiting, usual } from './row.ts';
import type { Call } from './usual-calls.ts';

/** A task whose agent has written two pieces, and which has ended. */
async function writeToEnd(server: RealServer): Promise<{ agent_id: string; request_id: string }> {
  const { agent_id, request_id } = await claimTask(server);
  const pieces = [{ text: '一' }, { data: null }];
  await server.arrange('writeOutput', { agent_id, pieces }, request_id);
  await server.arrange('reportResult', { agent_id }, request_id);
  return { agent_id, request_id };
}

/** The stream instead of a page. */
function follow(server: RealServer, request_id: string, lastEventId = ''): Call {
  const headers = { accept: 'text/event-stream', 'last-event-id': lastEventId };
  return { ...server.build('readOutput', {}, request_id), headers };
}

export const outputRows: readonly Row[] = [
  row(
    'writeOutput',
    200,
    'the agent has the task',
    async (server) => {
      const { agent_id, request_id } = await claimTask(server);
      return server.build('writeOutput', { agent_id }, request_id);
    },
    { expect: { accepted: true, status: 'running' } },
  ),
  row(
    'writeOutput',
    200,
    'the task has ended',
    async (server) => {
      const { agent_id, request_id } = await writeToEnd(server);
      return server.build('writeOutput', { agent_id, from: 2 }, request_id);
    },
    { serverOnly: 'needs state', expect: { accepted: false, status: 'success', next: 2 } },
  ),
  row(
    'writeOutput',
    400,
    'another agent has the task',
    async (server) => {
      const { request_id } = await claimTask(server);
      return server.build('writeOutput', { agent_id: await registerAgent(server) }, request_id);
    },
    { serverOnly: 'needs state', ...code('agent_mismatch') },
  ),
  row(
    'writeOutput',
    404,
    'the task is unknown',
    async (server) => server.build('writeOutput', { agent_id: await registerAgent(server) }),
    code('task_not_found'),
  ),
  row(
    'writeOutput',
    404,
    'the agent is not registered',
    async (server) => {
      const { request_id } = await claimTask(server);
      return server.build('writeOutput', { agent_id: server.fresh('stranger') }, request_id);
    },
    { serverOnly: 'needs state', ...code('agent_not_found') },
  ),
  row(
    'writeOutput',
    422,
    'pieces are missing before these',
    async (server) => {
      const { agent_id, request_id } = await claimTask(server);
      return server.build('writeOutput', { agent_id, from: 1 }, request_id);
    },
    { serverOnly: 'needs state', ...code('validation_failed') },
  ),
  row(
    'writeOutput',
    413,
    'the body is larger than that of a write may be',
    (server) => server.build('writeOutput', { pieces: [{ text: 'x'.repeat(65_536) }] }),
    { serverOnly: 'needs to tell bodies apart', ...code('payload_too_large') },
  ),
  row(
    'readOutput',
    200,
    'the task has ended',
    async (server) => server.build('readOutput', {}, (await writeToEnd(server)).request_id),
    { expect: { complete: true, last: 2 } },
  ),
  row('readOutput', 200, 'a stream is asked for', async (server) =>
    follow(server, (await writeToEnd(server)).request_id),
  ),
  row('readOutput', 204, 'the reader has had the end', async (server) =>
    follow(server, (await writeToEnd(server)).request_id, '3'),
  ),
  row('readOutput', 200, 'the administrator asks', async (server) =>
    askAsAdmin(server, 'readOutput', await submitWaiting(server)),
  ),
  row('readOutput', 404, 'the task is unknown', usual('readOutput'), code('task_not_found')),
  row(
    'readOutput',
    422,
    'the number is not one',
    (server) => {
      const call = server.build('readOutput');
      return { ...call, path: `${call.path}&after=last` };
    },
    code('validation_failed'),
  ),
  row(
    'readOutput',
    429,
    'the task has as many streams as it may',
    async (server) => {
      const call = follow(server, await submitWaiting(server));
      await server.holdStream(call);
      return call;
    },
    code('too_many_streams'),
  ),
];

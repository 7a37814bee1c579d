/** The rows of the contract suite about the questions of a running task. */
import type { RealServer } from './peers.ts';
import { claimTask, code, type Row, registerAgent, row, usual } from './row.ts';

const QUESTION = {
  key: 'k',
  prompt: '继续吗？',
  schema: { type: 'object', properties: { go: { type: 'boolean' } }, required: ['go'] },
};
const ANSWER = { key: 'k', answer: { go: true } };

/** A task whose agent has asked. */
async function ask(server: RealServer): Promise<{ agent_id: string; request_id: string }> {
  const { agent_id, request_id } = await claimTask(server);
  await server.arrange('writeOutput', { agent_id, pieces: [{ question: QUESTION }] }, request_id);
  return { agent_id, request_id };
}

/** The same, and it is answered. */
async function askAndAnswer(server: RealServer): Promise<{ agent_id: string; request_id: string }> {
  const asked = await ask(server);
  await server.arrange('answerTask', ANSWER, asked.request_id);
  return asked;
}

async function endTask(server: RealServer): Promise<{ agent_id: string; request_id: string }> {
  const asked = await ask(server);
  await server.arrange('reportResult', { agent_id: asked.agent_id }, asked.request_id);
  return asked;
}

export const questionRows: readonly Row[] = [
  row(
    'answerTask',
    200,
    'the question is open',
    async (server) => server.build('answerTask', ANSWER, (await ask(server)).request_id),
    { expect: { key: 'k' } },
  ),
  row(
    'answerTask',
    400,
    'the question was never asked',
    async (server) => server.build('answerTask', { key: 'other' }, (await ask(server)).request_id),
    { serverOnly: 'needs state', ...code('not_asked') },
  ),
  row(
    'answerTask',
    400,
    'the question has another answer',
    async (server) => {
      const { request_id } = await askAndAnswer(server);
      return server.build('answerTask', { key: 'k', answer: { go: false } }, request_id);
    },
    { serverOnly: 'needs state', ...code('not_asked') },
  ),
  row(
    'answerTask',
    400,
    'the task has ended',
    async (server) => server.build('answerTask', ANSWER, (await endTask(server)).request_id),
    { serverOnly: 'needs state', ...code('task_terminal') },
  ),
  row('answerTask', 404, 'the task is unknown', usual('answerTask'), code('task_not_found')),
  row(
    'answerTask',
    422,
    'the answer does not fit the schema',
    async (server) => server.build('answerTask', { answer: { go: 'yes' } }, (await ask(server)).request_id),
    { serverOnly: 'needs state', ...code('validation_failed') },
  ),
  row(
    'claimAnswer',
    200,
    'the question is answered',
    async (server) => {
      const { agent_id, request_id } = await askAndAnswer(server);
      return server.build('claimAnswer', { agent_id }, request_id);
    },
    { expect: ANSWER },
  ),
  row('claimAnswer', 204, 'there is no answer yet', async (server) => {
    const { agent_id, request_id } = await ask(server);
    return server.build('claimAnswer', { agent_id, wait: 0.1 }, request_id);
  }),
  row(
    'claimAnswer',
    400,
    'the question was never asked',
    async (server) => {
      const { agent_id, request_id } = await ask(server);
      return server.build('claimAnswer', { agent_id, key: 'other' }, request_id);
    },
    { serverOnly: 'needs state', ...code('not_asked') },
  ),
  row(
    'claimAnswer',
    400,
    'another agent has the task',
    async (server) => {
      const { request_id } = await ask(server);
      return server.build('claimAnswer', { agent_id: await registerAgent(server) }, request_id);
    },
    { serverOnly: 'needs state', ...code('agent_mismatch') },
  ),
  row(
    'claimAnswer',
    400,
    'the task has ended',
    async (server) => {
      const { agent_id, request_id } = await endTask(server);
      return server.build('claimAnswer', { agent_id }, request_id);
    },
    { serverOnly: 'needs state', ...code('task_terminal') },
  ),
  row(
    'claimAnswer',
    404,
    'the task is unknown',
    async (server) => server.build('claimAnswer', { agent_id: await registerAgent(server) }),
    code('task_not_found'),
  ),
  row(
    'claimAnswer',
    404,
    'the agent is not registered',
    async (server) => {
      const { request_id } = await ask(server);
      return server.build('claimAnswer', { agent_id: server.fresh('stranger') }, request_id);
    },
    { serverOnly: 'needs state', ...code('agent_not_found') },
  ),
  row(
    'writeOutput',
    422,
    'a question has a keyword that no schema has',
    (server) => {
      const schema = { type: 'object', properties: { go: { type: 'string', pattern: '.*' } } };
      return server.build('writeOutput', { pieces: [{ question: { ...QUESTION, schema } }] });
    },
    { serverOnly: 'needs state', ...code('validation_failed') },
  ),
];

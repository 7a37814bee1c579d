/**
 * Contract tests for `workflow.yml`: the same calls against a mock of the document and against a gateway. The
 * mock remembers nothing, so against it the tests leave out what depends on stored tasks.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, NoAgentAvailableError, NotFoundError } from '@task-gateway/sdk';
import { createAgent } from '@task-gateway/sdk/agent';

const client = createClient(); // TASK_GATEWAY_URL, TASK_GATEWAY_AUTH
const needsMemory = { skip: process.env.CONTRACT_PEER === 'mock' && 'a mock remembers nothing' };
const submission = {
  task_type: 'example',
  task_tags: ['contract'],
  payload: { text: 'hello' },
  queue_timeout: 30,
};

test('a submission is accepted, and its task can be read', async () => {
  const { request_id, status } = await client.submitTask({ ...submission, timeout: 5 });
  assert.ok(['pending', 'running'].includes(status));
  assert.equal(typeof (await client.getTask(request_id)).request_id, 'string');
});

test('a task that is not there is an error of its own', async () => {
  const headers = { prefer: 'code=404' }; // For the mock; a gateway ignores it.
  await assert.rejects(client.getTask('nothing', { headers }), NotFoundError);
});

test('a run gets what the agent returns', needsMemory, async () => {
  const agent = createAgent({
    tags: ['contract-run'],
    handler: ({ payload }) => `${payload.text}!`,
    logLevel: 'off',
  });
  await agent.start();
  try {
    const { result } = await client.runTask({ ...submission, task_tags: ['contract-run'] });
    assert.equal(result.output, 'hello!');
  } finally {
    await agent.stop();
  }
});

test('a run without an agent says so', needsMemory, async () => {
  const run = client.runTask({ ...submission, task_tags: ['nobody'], queue_timeout: 0 });
  await assert.rejects(run, NoAgentAvailableError);
});

/** `task.outcome` and the errors of runs: by the header `Task-Outcome`, else by the text of the error. */
import { expect, test } from 'vitest';
import * as sdk from '../../sdk/index.ts';
import { createScriptedFetch, json, someTask } from './scripted-fetch.ts';

const FIELDS = Object.keys(someTask());

/** Reads a task that a gateway returns so. */
async function readTask(fields: Record<string, unknown>, headers: Record<string, string> = {}) {
  const fetch = createScriptedFetch(json(someTask(fields), 200, headers));
  const client = sdk.createClient({ baseUrl: 'http://gateway.test', auth: 'a-good-secret', fetch });
  return await client.getTask('task-1');
}

const failed = (error_info: string | null) => ({ status: 'failed', error_info });
const success = { status: 'success', agent_id: 'a', progress: 100, result: {} };

test.each([
  ['success', success],
  ['failed', failed('timeout')],
  ['failed', failed('无可用 Agent')],
  ['timeout', failed('timeout')],
  ['paused', failed('an outcome of a later gateway')],
])('A task has the outcome of the header: %s, %j.', async (outcome, fields) => {
  const task = await readTask(fields, { 'Task-Outcome': outcome });
  expect(task.outcome).toBe(outcome);
});

test.each([
  ['success', success],
  ['failed', failed('boom')],
  ['cancelled', failed('cancelled by user')],
  ['timeout', failed('timeout')],
  ['no_agent', failed('无可用 Agent')],
  ['agent_lost', failed('agent lost: no contact for 61 s')],
])('A gateway that does not send the header is read by the text: %s, %j.', async (outcome, fields) => {
  expect((await readTask(fields)).outcome).toBe(outcome);
});

test.each([
  ['timeout', failed('timeout'), 'success'],
  ['success', success, 'failed'],
])('A header that contradicts the status does not count: %s, %j.', async (outcome, fields, header) => {
  expect((await readTask(fields, { 'Task-Outcome': header })).outcome).toBe(outcome);
});

test('An open task has none, whatever the header says.', async () => {
  expect((await readTask({}, { 'Task-Outcome': 'failed' })).outcome).toBeUndefined();
});

test('As JSON, spread or listed, a task has the fields of the wire alone.', async () => {
  const task = await readTask(failed('timeout'), { 'Task-Outcome': 'failed' });
  expect(Object.keys(JSON.parse(JSON.stringify(task)))).toEqual(FIELDS);
  expect(Object.keys(task)).toEqual(FIELDS);
  expect(Object.keys({ ...task })).toEqual(FIELDS);
});

test.each([
  ['failed', 'timeout', sdk.TaskFailedError, 'task_failed'],
  ['failed', 'cancelled by user', sdk.TaskFailedError, 'task_failed'],
  ['failed', '无可用 Agent', sdk.TaskFailedError, 'task_failed'],
  ['failed', null, sdk.TaskFailedError, 'task_failed'],
  ['agent_lost', 'agent lost: no contact for 61 s', sdk.TaskFailedError, 'task_failed'],
  ['timeout', 'timeout', sdk.TaskTimeoutError, 'task_timeout'],
  ['cancelled', 'cancelled by user', sdk.TaskCancelledError, 'task_cancelled'],
  ['no_agent', '无可用 Agent', sdk.NoAgentAvailableError, 'no_agent_available'],
])(
  'A run that ends as %s with the text %j throws by the outcome.',
  async (outcome, text, errorClass, code) => {
    const fetch = createScriptedFetch(({ method, url }) => {
      if (url.pathname.endsWith('/explain')) return json({}, 404);
      if (method === 'POST') return json(someTask());
      return json(someTask({ ...failed(text), agent_id: 'a' }), 200, { 'Task-Outcome': outcome });
    });
    const client = sdk.createClient({ baseUrl: 'http://gateway.test', auth: 'a-good-secret', fetch });
    const submission = { task_type: 't', task_tags: ['zh'], payload: {}, cli_session_id: 's' };
    const error = await client.runTask(submission).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, task: { error_info: text, outcome } });
    expect((error as Error).constructor).toBe(errorClass);
  },
);

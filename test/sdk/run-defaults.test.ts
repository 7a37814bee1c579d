/** What `runTask` adds to a submission, and what its errors say of the task. */
import { expect, test } from 'vitest';
import type * as sdk from '../../sdk/index.ts';
import { createGateway, submission } from './run-gateway.ts';
import { json, someTask } from './scripted-fetch.ts';
import { doneFrame, problem } from './scripted-server.ts';
import { elapse, pass } from './sdk-clock.ts';

/** Runs until the gateway has the task. Returns the gateway, and the error of the run. */
async function startRun(options: sdk.RunOptions = {}) {
  const gateway = createGateway();
  const error = gateway.client.runTask(submission, options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  await gateway.clock.advance(0);
  return { gateway, error };
}

test.each([
  ['30 seconds', {}, 30],
  ['as long as it has', { timeout: 10 }, 10],
  ['30 seconds of a longer time', { timeout: 3_600 }, 30],
  ['not, when it says so', { queue_timeout: 0 }, 0],
  ['as long as it says', { queue_timeout: 90 }, 90],
  ['30 seconds when its own is undefined', { queue_timeout: undefined as unknown as number }, 30],
])('A run waits for an agent: %s.', async (_title, fields, seconds) => {
  const gateway = createGateway();
  const run = gateway.client.runTask({ ...submission, ...fields });
  await gateway.clock.advance(0);
  expect(gateway.submits()[0]?.body?.queue_timeout).toBe(seconds);
  gateway.succeed();
  gateway.streams[0]?.write(doneFrame('1', 'task-1'));
  await run;
});

test('A submission by itself is what the caller sent.', async () => {
  const gateway = createGateway();
  await gateway.client.submitTask(submission);
  expect(Object.keys(gateway.submits()[0]?.body ?? {}).sort()).toEqual([
    ...['auth', 'payload', 'task_tags', 'task_type'],
  ]);
});

test('A run with a key of the caller’s names no session of its client: with another client it is the same.', async () => {
  const bodies: unknown[] = [];
  for (let process = 0; process < 2; process += 1) {
    const { gateway, error } = await startRun({ idempotencyKey: 'report-47' });
    bodies.push(gateway.submits()[0]?.body);
    expect(gateway.streams).toHaveLength(0);
    gateway.succeed();
    expect(await elapse(gateway.clock, error)).toBeUndefined();
  }
  expect(bodies[0]).toMatchObject({ cli_session_id: '' });
  expect(bodies[1]).toEqual(bodies[0]);
});

test('The error of a run without an agent says in English what to do.', async () => {
  const { gateway, error } = await startRun();
  gateway.state.task = someTask({ status: 'failed', error_info: '无可用 Agent' });
  gateway.streams[0]?.write(doneFrame('1', 'task-1'));
  expect(await error).toMatchObject({
    name: 'NoAgentAvailableError',
    request_id: 'task-1',
    message:
      'Task task-1 failed: 无可用 Agent (no agent available). No agent with one of the tags ["zh"] had a free slot in time: start one, or raise queue_timeout.',
  });
});

test('The error of a run without an agent has the gateway’s explanation, and its hint.', async () => {
  const { gateway, error } = await startRun();
  const explanation = {
    request_id: 'task-1',
    status: 'failed',
    outcome: 'no_agent',
    history: [],
    match: null,
    hint: 'No agent has the tag `zh`; the nearest is `zh-en` (1 agent, 1 free).',
    remedies: [],
  };
  gateway.state.explanation = json(explanation);
  gateway.state.task = someTask({ status: 'failed', error_info: '无可用 Agent' });
  gateway.streams[0]?.write(doneFrame('1', 'task-1'));
  expect(await error).toMatchObject({
    name: 'NoAgentAvailableError',
    explanation,
    message: `Task task-1 failed: 无可用 Agent (no agent available). ${explanation.hint}`,
  });
});

test('The error of a run without an agent waits 2 s for the explanation, no longer.', async () => {
  const { gateway, error } = await startRun();
  gateway.state.explanation = undefined;
  gateway.state.task = someTask({ status: 'failed', error_info: '无可用 Agent' });
  gateway.streams[0]?.write(doneFrame('1', 'task-1'));
  let isOver = false;
  void error.then(() => (isOver = true));
  await pass(gateway.clock, 1_900);
  expect(isOver).toBe(false);
  await pass(gateway.clock, 200);
  expect(isOver).toBe(true);
  expect(await error).toMatchObject({ name: 'NoAgentAvailableError', explanation: undefined });
});

test('What fails after the submission says of which task.', async () => {
  const { gateway, error } = await startRun();
  gateway.state.outage = json(problem(404, 'task_not_found'), 404);
  gateway.streams[0]?.write(doneFrame('1', 'task-1'));
  expect(await error).toMatchObject({ name: 'NotFoundError', request_id: 'task-1' });
  const long = await startRun();
  long.gateway.state.outage = json(problem(503, 'busy'), 503);
  long.gateway.state.streamOutage = long.gateway.state.outage;
  long.gateway.streams[0]?.end();
  expect(await elapse(long.gateway.clock, long.error, 1_000)).toMatchObject({
    name: 'UnavailableError',
    request_id: 'task-1',
  });
});

test('What fails before the submission names no task.', async () => {
  const gateway = createGateway();
  gateway.state.outage = json(problem(401, 'unauthorized'), 401);
  const run = gateway.client.runTask(submission).catch((error: unknown) => error);
  await pass(gateway.clock, 100);
  expect(await run).toMatchObject({ code: 'unauthorized' });
  expect(await run).not.toHaveProperty('request_id');
});

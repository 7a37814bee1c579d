/**
 * Questions over a real gateway: asked by an agent, answered by runs and by plain calls; an agent that is
 * started again after its question was answered asks again, gets the answer, and no caller is asked twice.
 */
import { aborted } from 'node:util';
import { expect, test } from 'vitest';
import type { Handler } from '../../sdk/agent/index.ts';
import { createClient, type OutputPiece, type Question, type TaskGatewayClient } from '../../sdk/index.ts';
import { until } from './sdk-clock.ts';
import { client, proxy, readAll, startAgent, taskOf, throughProxy } from './story-fixture.ts';

const schema = {
  type: 'object',
  properties: { approve: { type: 'boolean' } },
  required: ['approve'],
} as const;

const deploy: Handler = async (_task, { write, ask }) => {
  await write('Ready. ');
  const answer = await ask('Deploy?', { schema });
  return JSON.stringify(answer);
};

/** Waits until a task has asked, and returns the newest question. */
async function waitForQuestion(request_id: string): Promise<Question> {
  let found: Question | undefined;
  await until(async () => {
    for await (const { question } of client.readOutput(request_id, { follow: false }))
      found = question ?? found;
    return found !== undefined;
  }, 'the agent asks');
  return found as Question;
}

test('A run answers what its agent asks, behind what was written, through a connection that is cut.', async () => {
  await startAgent('plain', deploy);
  const through = createClient(throughProxy());
  const asked: Question[] = [];
  const got: OutputPiece[] = [];
  const { request_id, result } = await through.runTask(taskOf('plain'), {
    onOutput: (piece) => got.push(piece),
    async onQuestion(question) {
      asked.push(question);
      const before = proxy.connections();
      await proxy.setFault('reset');
      await proxy.setFault(null);
      await until(() => proxy.connections() > before, 'the run connects again');
      return { approve: true };
    },
  });
  expect(result).toEqual({ output: '{"approve":true}' });
  const { key } = asked[0] ?? {};
  expect(asked).toEqual([{ key, prompt: 'Deploy?', schema }]);
  expect(got).toEqual([
    { n: 1, text: 'Ready. ' },
    { n: 2, question: asked[0] },
    { n: 3, answer: { key, answer: { approve: true } } },
    expect.objectContaining({ n: 4, end: true }),
  ]);
  expect(await readAll(request_id)).toEqual(got);
});

test('An agent started again after its question was answered asks again, gets the answer, and no caller is asked twice.', async () => {
  const starts: unknown[] = [];
  const handler: Handler = async (_task, { ask, signal }) => {
    const own = starts.push('asks');
    const answer = await ask('Deploy?', { schema });
    starts.push(answer);
    // The first one does not come to report.
    if (own === 1) await aborted(signal, signal);
    return 'deployed';
  };
  const first = await startAgent('killed', handler);
  const asked: string[] = [];
  const running = client.runTask(taskOf('killed'), {
    onQuestion({ key }) {
      asked.push(key);
      return { approve: true };
    },
  });
  await until(async () => starts.length === 2, 'the first process has the answer');
  // Another process of the same name, which knows nothing of the task.
  await startAgent('killed', handler);
  const { request_id, result } = await running;
  expect(result).toEqual({ output: 'deployed' });
  expect(starts).toEqual(['asks', { approve: true }, 'asks', { approve: true }]);
  expect(asked).toHaveLength(1);
  const pieces = await readAll(request_id);
  expect(pieces.map((piece) => Object.keys(piece).filter((name) => name !== 'n')[0])).toEqual([
    'question',
    'answer',
    'reset',
    'question',
    'answer',
    'end',
  ]);
  await first.stop({ drainMs: 0, graceMs: 0 });
});

test('answerTask: the first answer counts, the same again is a success, and what violates the schema is refused.', async () => {
  await startAgent('calls', deploy);
  const { request_id } = await client.submitTask(taskOf('calls'));
  const { key } = await waitForQuestion(request_id);
  await expect(client.answerTask(request_id, { key, answer: { approve: 'yes' } })).rejects.toMatchObject({
    code: 'validation_failed',
    errors: [{ pointer: '/answer/approve' }],
  });
  await expect(client.answerTask(request_id, { key: 'other', answer: 1 })).rejects.toMatchObject({
    code: 'not_asked',
  });
  const answer = { approve: false };
  expect(await client.answerTask(request_id, { key, answer })).toEqual({ ok: true, request_id, key });
  const end = (await readAll(request_id)).at(-1);
  expect(end).toMatchObject({ end: true, outcome: 'success' });
  expect((await client.getTask(request_id)).result).toEqual({ output: '{"approve":false}' });
  await expect(client.answerTask(request_id, { key, answer })).rejects.toMatchObject({
    code: 'task_terminal',
  });
});

test('Of two runs of one task, by two clients, both may answer: one answer counts, and both succeed.', async () => {
  await startAgent('two', deploy);
  const run = (by: TaskGatewayClient, approve: boolean) =>
    by.runTask(taskOf('two'), { idempotencyKey: 'two', onQuestion: () => ({ approve }) });
  const [one, other] = await Promise.all([run(client, true), run(createClient(throughProxy()), false)]);
  expect(one.request_id).toBe(other.request_id);
  expect(one.result).toEqual(other.result);
});

test('A cancellation ends a question: the handler stops, and the callback’s signal fires.', async () => {
  const reasons: unknown[] = [];
  await startAgent('cancelled', async (_task, { ask }) => {
    await ask('Deploy?').catch((error: { code?: string }) => reasons.push(error.code));
  });
  const fired = Promise.withResolvers<void>();
  const started = Promise.withResolvers<string>();
  const running = client
    .runTask(taskOf('cancelled'), {
      onQuestion(_question, { signal }) {
        signal.addEventListener('abort', () => fired.resolve());
        void started.promise.then((request_id) => client.cancelTask(request_id));
        return fired.promise;
      },
      onOutput: () => undefined,
      onProgress: ({ request_id }) => started.resolve(request_id),
    })
    .catch((error: { code?: string }) => error.code);
  expect(await running).toBe('task_cancelled');
  await fired.promise;
  await until(async () => reasons.length === 1, 'the handler stops');
  expect(reasons).toEqual(['task_cancelled']);
});

test('A question that the gateway refuses fails the handler, which says what is wrong.', async () => {
  await startAgent('wrong', async (_task, { ask }) => {
    await ask('Deploy?', { schema: { type: 'object', properties: { a: { type: 'object' } } } as never });
  });
  await expect(client.runTask(taskOf('wrong'))).rejects.toThrow(/schema/);
});

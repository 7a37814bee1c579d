/**
 * Runs with `onQuestion`: each question is asked of the caller once, over reconnections and restarts of the
 * agent, unless it is answered already; its answer is sent until the gateway has it.
 */
import { expect, test } from 'vitest';
import type { OnQuestion, Question } from '../../sdk/index.ts';
import { createGateway, createOutputGateway, END, frame, submission } from './run-gateway.ts';
import { json } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { elapse, pass } from './sdk-clock.ts';

const deploy: Question = { key: 'deploy', prompt: 'Deploy?' };

/** A gateway whose task runs, and a run of it whose caller answers as given. */
async function startRun(onQuestion: OnQuestion) {
  const gateway = createOutputGateway();
  const asked: Question[] = [];
  const run = gateway.client.runTask(submission, {
    onQuestion(question, options) {
      asked.push(question);
      return onQuestion(question, options);
    },
  });
  run.catch(() => undefined);
  await pass(gateway.clock, 100);
  gateway.state.task = { ...gateway.state.task, status: 'running', agent_id: 'a' };
  return {
    ...gateway,
    run,
    asked,
    /** Stores pieces, and sends them on the newest stream. */
    async send(...pieces: readonly Record<string, unknown>[]) {
      const first = gateway.state.pieces.length + 1;
      const numbered = pieces.map((piece, index) => ({ n: first + index, ...piece }));
      gateway.state.pieces.push(...numbered);
      gateway.outputs.at(-1)?.write(numbered.map(frame).join(''));
      await pass(gateway.clock, 1_000);
    },
    /** Cuts the stream, whose successor sends all behind the first piece again. */
    async reconnect() {
      gateway.outputs.at(-1)?.end();
      await pass(gateway.clock, 4_000);
      gateway.outputs.at(-1)?.write(gateway.state.pieces.map(frame).join(''));
      await pass(gateway.clock, 1_000);
    },
    async end() {
      gateway.succeed();
      gateway.outputs.at(-1)?.write(frame({ n: gateway.state.pieces.length + 1, ...END }));
      return await elapse(gateway.clock, run);
    },
  };
}

test('A question is asked once over reconnections, and what the callback returns is sent as its answer.', async () => {
  const answer = Promise.withResolvers<unknown>();
  const { asked, send, reconnect, end, state, clock, fetch } = await startRun(() => answer.promise);
  await send({ text: 'Ready.' }, { question: deploy });
  expect(asked).toEqual([deploy]);
  await reconnect();
  answer.resolve({ approve: true });
  await pass(clock, 1_000);
  await reconnect();
  expect(state.answers).toEqual([{ key: 'deploy', answer: { approve: true } }]);
  const sent = fetch.sent.find(({ url }) => url.pathname.endsWith('/answer'));
  expect(sent?.headers.get('authorization')).toBe('Bearer a-good-secret');
  await send({ answer: { key: 'deploy', answer: { approve: true } } });
  expect(await end()).toMatchObject({ status: 'success' });
  expect(asked).toEqual([deploy]);
});

test('A question that was answered before it is read is not asked.', async () => {
  const { asked, send, end, state } = await startRun(() => 1);
  // The stream brings the question alone; the page behind it has the answer.
  state.pieces.push({ n: 1, question: deploy }, { n: 2, answer: { key: 'deploy', answer: 2 } });
  await send({ n: 1, question: deploy });
  expect(asked).toEqual([]);
  expect(state.answers).toEqual([]);
  expect(await end()).toMatchObject({ status: 'success' });
});

test('When another client answers first, the signal fires and what the callback does then changes nothing.', async () => {
  let isFired = false;
  const { asked, send, end, state } = await startRun(
    (_question, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          isFired = true;
          reject(new Error('of the callback'));
        });
      }),
  );
  await send({ question: deploy });
  expect(asked).toEqual([deploy]);
  await send({ answer: { key: 'deploy', answer: 2 } });
  expect(isFired).toBe(true);
  expect(await end()).toMatchObject({ status: 'success' });
  expect(state.answers).toEqual([]);
});

test('An agent that begins anew and asks the same gets the answer that the caller still thinks of.', async () => {
  const answer = Promise.withResolvers<unknown>();
  const { asked, send, end, state, clock } = await startRun(() => answer.promise);
  await send({ question: deploy });
  await send({ reset: true, agent_id: 'b' });
  answer.resolve('yes');
  await pass(clock, 1_000);
  // It was withdrawn.
  expect(state.answers).toEqual([]);
  await send({ question: deploy });
  expect(state.answers).toEqual([{ key: 'deploy', answer: 'yes' }]);
  // With its keys in another order it is the same question.
  await send({ reset: true, agent_id: 'c' }, { question: { prompt: 'Deploy?', key: 'deploy' } });
  expect(asked).toHaveLength(1);
  // Another content of the same key is another question.
  await send({ reset: true, agent_id: 'c' }, { question: { ...deploy, prompt: 'Deploy now?' } });
  expect(asked.map(({ prompt }) => prompt)).toEqual(['Deploy?', 'Deploy now?']);
  await end();
});

test('What the callback throws ends the run at once; the task goes on.', async () => {
  const error = new Error('the terminal is gone');
  const { run, send, cancels, clock } = await startRun(() => {
    throw error;
  });
  await send({ question: deploy });
  await expect(elapse(clock, run)).rejects.toBe(error);
  expect(cancels()).toBe(0);
  expect(clock.sleeping()).toBe(0);
});

test('An answer that the question does not take ends the run with the fault, and its task’s id.', async () => {
  const { run, send, state, clock } = await startRun(() => ({ approve: 'yes' }));
  state.answerOutage = json(
    {
      ...problem(422, 'validation_failed'),
      errors: [{ pointer: '/answer/approve', detail: 'must be true or false' }],
    },
    422,
  );
  await send({ question: deploy });
  await expect(elapse(clock, run)).rejects.toMatchObject({
    code: 'validation_failed',
    request_id: 'task-1',
    message: expect.stringContaining('/answer/approve must be true or false'),
  });
});

test.each(['not_asked', 'task_terminal'])(
  'An answer that comes too late (%s) changes nothing.',
  async (code) => {
    const { send, end, state } = await startRun(() => 'yes');
    state.answerOutage = json(problem(400, code), 400);
    await send({ question: deploy });
    expect(state.answers).toHaveLength(1);
    expect(await end()).toMatchObject({ status: 'success' });
  },
);

test('An answer is sent until the gateway has it.', async () => {
  const { send, end, state, clock } = await startRun(() => 'yes');
  state.answerOutage = json(problem(503, 'busy'), 503);
  await send({ question: deploy });
  await pass(clock, 120_000, 1_000);
  const before = state.answers.length;
  expect(before).toBeGreaterThan(5);
  state.answerOutage = undefined;
  await pass(clock, 20_000, 500);
  expect(state.answers.length).toBe(before + 1);
  await end();
});

test('undefined leaves a question to others; two questions are asked independently.', async () => {
  const { asked, send, end, state } = await startRun(({ key }) => (key === 'why' ? 'because' : undefined));
  await send({ question: deploy }, { question: { key: 'why', prompt: 'Why?' } });
  expect(asked.map(({ key }) => key)).toEqual(['deploy', 'why']);
  expect(state.answers).toEqual([{ key: 'why', answer: 'because' }]);
  await end();
});

test('Without a stream a run reads questions from pages, and asks each once.', async () => {
  const gateway = createGateway();
  const asked: string[] = [];
  const run = gateway.client.runTask(submission, {
    onQuestion({ key }) {
      asked.push(key);
      return true;
    },
  });
  gateway.state.outputOutage = undefined;
  gateway.state.outputStreamOutage = json(problem(429, 'too_many_streams'), 429);
  await pass(gateway.clock, 2_000);
  gateway.state.task = { ...gateway.state.task, status: 'running', agent_id: 'a' };
  gateway.state.pieces.push({ n: 1, question: deploy });
  await pass(gateway.clock, 4_000);
  expect(asked).toEqual(['deploy']);
  expect(gateway.state.answers).toHaveLength(1);
  gateway.succeed();
  expect(await elapse(gateway.clock, run)).toMatchObject({ status: 'success' });
});

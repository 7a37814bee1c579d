/**
 * A handler's `ask`: the question goes behind all that was written, its answer is claimed until one comes,
 * and it ends when the handler should stop, as a `write` does that waits. Its key is the same in a handler
 * that is started again.
 */
import { expect, test } from 'vitest';
import { runHandler } from '../../sdk/testing/index.ts';
import { agent, clock, events, failures, gateway, startTask } from './agent-fixture.ts';
import { json } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { elapse, pass } from './sdk-clock.ts';

const schema = {
  type: 'object',
  properties: { approve: { type: 'boolean' } },
  required: ['approve'],
} as const;

const claims = () => gateway.bodies('answer');
const outcome = () => gateway.outcomes.get('task-1');

test('A question goes behind the text before it, and resolves with the answer, which long claims wait for.', async () => {
  const { ask, write, end } = await startTask();
  void write('Ready. ');
  const asked = ask<{ approve: boolean }>('Deploy?', { schema, key: 'deploy' });
  void write('Behind. ');
  await pass(clock, 5_000);
  expect(gateway.pieces).toEqual([
    { text: 'Ready. ' },
    { question: { prompt: 'Deploy?', schema, key: 'deploy' } },
    { text: 'Behind. ' },
  ]);
  expect(claims()[0]).toMatchObject({ agent_id: '译者 1', request_id: 'task-1', key: 'deploy', wait: 20 });
  // A gateway that does not hold a claim is not asked in a loop.
  expect(claims().length).toBeLessThanOrEqual(6);
  gateway.answers.set('deploy', { approve: true });
  expect(await elapse(clock, asked)).toEqual({ approve: true });
  const before = claims().length;
  await pass(clock, 5_000);
  expect(claims()).toHaveLength(before);
  await end();
  expect(outcome()).toMatchObject({ status: 'success' });
  expect(failures()).toEqual([]);
});

test('The key is made of what is asked and how often, and is the same after a restart.', async () => {
  const keys: string[][] = [];
  for (let start = 0; start < 2; start += 1) {
    const { questions } = await runHandler(
      async (_task, { ask }) => {
        await ask('Deploy?', { schema });
        await ask('Deploy?', { schema });
        await ask('Deploy?');
        await ask('Why?');
      },
      { answers: [{ approve: true }, { approve: false }, 1, 'because'] },
    );
    keys.push(questions.map(({ key }) => key));
  }
  expect(keys[0]).toEqual(keys[1]);
  expect(new Set(keys[0]).size).toBe(4);
  for (const key of keys[0] ?? []) expect(key).toMatch(/^[\da-f]{16}-\d+$/);
});

test.each([
  ['no response', () => Response.error()],
  ['503', () => json(problem(503, 'busy'), 503)],
  ['agent_not_found', () => json(problem(404, 'agent_not_found'), 404)],
  ['401, as while the secret changes', () => json(problem(401, 'unauthorized'), 401)],
])('After %s the answer is claimed again.', async (_what, respond) => {
  const { ask, end } = await startTask();
  let calls = 0;
  gateway.respondToClaim = () => {
    calls += 1;
    return calls <= 2 ? respond() : undefined;
  };
  const asked = ask('Why?', { key: 'why' });
  gateway.answers.set('why', '因为');
  expect(await elapse(clock, asked, 500)).toBe('因为');
  expect(failures()).toContain('output');
  await end();
  expect(outcome()).toMatchObject({ status: 'success' });
});

test('While the function for the secret fails, a question waits, and then its answer is claimed.', async () => {
  let isDown = false;
  const auth = (): string => {
    if (isDown) throw new Error('the vault is down');
    return 'a-good-secret';
  };
  const { ask, write, end } = await startTask({ auth });
  isDown = true;
  await write('Ready. ');
  const asked = ask('Why?', { key: 'why' });
  await pass(clock, 2_000);
  isDown = false;
  await pass(clock, 5_000);
  expect(gateway.pieces).toEqual([{ text: 'Ready. ' }, { question: { prompt: 'Why?', key: 'why' } }]);
  isDown = true;
  await pass(clock, 5_000);
  isDown = false;
  gateway.answers.set('why', 'because');
  expect(await elapse(clock, asked)).toBe('because');
  await end();
  expect(outcome()).toMatchObject({ status: 'success' });
});

test.each(['task_terminal', 'agent_mismatch', 'not_asked', 'task_not_found'])(
  'On %s the task is dropped, and the question rejects with the reason.',
  async (code) => {
    const { ask, signal, end } = await startTask();
    gateway.respondToClaim = () =>
      code === 'task_not_found' ? json(problem(404, code), 404) : json(problem(400, code), 400);
    const asked = ask('Why?').catch((error: unknown) => error);
    expect(await elapse(clock, asked)).toMatchObject({ name: 'WorkStoppedError', code: 'task_cancelled' });
    expect(signal.aborted).toBe(true);
    expect(events.map(({ kind }) => kind)).toContain('dropped');
    await end();
    expect(outcome()).toBeUndefined();
  },
);

test('A question that the gateway refuses fails the handler that waits for it; what was written is stored.', async () => {
  const { ask, write, end } = await startTask();
  gateway.respondToWrite = ({ pieces }) =>
    JSON.stringify(pieces).includes('question')
      ? json(
          {
            ...problem(422, 'validation_failed'),
            errors: [{ pointer: '/pieces/0/question/schema/type', detail: 'must be "object"' }],
          },
          422,
        )
      : undefined;
  void write('before ');
  const asked = ask('Why?', { key: 'k' }).catch((error: unknown) => error);
  void write('behind');
  expect(await elapse(clock, asked)).toMatchObject({ name: 'ValidationError', code: 'validation_failed' });
  expect(claims()).toEqual([]);
  await end();
  expect(gateway.pieces).toEqual([{ text: 'before ' }, { text: 'behind' }]);
  expect(outcome()).toMatchObject({ status: 'success' });
});

test.each([
  ['before the question', true],
  ['while it waits', false],
])(
  'When the gateway refuses what was written %s, the question rejects with that, and the task goes on.',
  async (_when, isBefore) => {
    const { ask, write, signal, end } = await startTask();
    gateway.respondToWrite = () =>
      json(
        {
          ...problem(422, 'validation_failed'),
          errors: [{ pointer: '/pieces/0/data', detail: 'is too deep' }],
        },
        422,
      );
    void write({ a: [] });
    if (isBefore) await pass(clock, 1_000);
    const asked = ask('Why?', { key: 'k' }).catch((error: unknown) => error);
    expect(await elapse(clock, asked)).toMatchObject({ code: 'validation_failed' });
    expect([signal.aborted, claims()]).toEqual([false, []]);
    await end();
    expect(outcome()).toMatchObject({ status: 'success' });
  },
);

test('A question that even the room for questions does not take rejects, and the task goes on.', async () => {
  const { ask, signal, end } = await startTask();
  gateway.respondToWrite = () =>
    json({ ok: true, request_id: 'task-1', status: 'running', accepted: false, next: 0 });
  const asked = ask('Why?').catch((error: unknown) => error);
  expect(await elapse(clock, asked)).toMatchObject({ message: expect.stringContaining('no room') });
  expect(signal.aborted).toBe(false);
  await end();
  expect(outcome()).toMatchObject({ status: 'success' });
});

test('When the output is full, text is dropped and a question is asked all the same.', async () => {
  const { ask, write, end } = await startTask();
  gateway.respondToWrite = ({ pieces, writer, from }) =>
    JSON.stringify(pieces).includes('question')
      ? undefined
      : json({
          ok: true,
          request_id: 'task-1',
          status: 'running',
          accepted: false,
          next: gateway.written.get(String(writer)) ?? Number(from),
        });
  await write('x'.repeat(300_000));
  gateway.answers.set('k', 1);
  expect(await elapse(clock, ask('Why?', { key: 'k' }))).toBe(1);
  await write('y');
  await end();
  expect(gateway.pieces).toEqual([{ question: { prompt: 'Why?', key: 'k' } }]);
  expect(gateway.bodies('output')).toHaveLength(2);
  expect(outcome()).toMatchObject({ status: 'success' });
});

test('A question ends with its handler, whether that waits for it or not.', async () => {
  const { ask, end } = await startTask();
  void ask('Why?', { key: 'k' });
  await pass(clock, 2_000);
  await end();
  expect(outcome()).toMatchObject({ status: 'success' });
  const before = claims().length;
  await pass(clock, 60_000, 1_000);
  expect(claims()).toHaveLength(before);
});

test('A question that a proxy refuses is asked again, and its answer claimed again.', async () => {
  const { ask, end } = await startTask();
  const refusals = [400, 422, 415, 422];
  const refuse = (): Response | undefined => {
    const status = refusals.pop();
    return status ? new Response('<html>', { status }) : undefined;
  };
  gateway.respondToWrite = refuse;
  const asked = ask('Why?', { key: 'why' });
  await pass(clock, 10_000);
  expect(gateway.pieces).toHaveLength(1);
  refusals.push(422, 400);
  gateway.respondToClaim = refuse;
  gateway.answers.set('why', 'because');
  expect(await elapse(clock, asked)).toBe('because');
  expect(refusals).toEqual([]);
  await end();
});

test.each([
  ['it waits for its answer', () => undefined],
  ['the gateway can’t be reached', () => Response.error()],
])('A question rejects at once when the agent stops, also while %s.', async (_when, respond) => {
  const { ask, end } = await startTask();
  gateway.respondToWrite = respond;
  const asked = ask('Why?', { key: 'k' }).catch((error: unknown) => error);
  await pass(clock, 2_000);
  const startMs = clock.nowMs();
  void agent?.stop({ drainMs: 0, graceMs: 1_000 });
  expect(await elapse(clock, asked)).toMatchObject({ name: 'WorkStoppedError', code: 'agent_stopped' });
  expect(clock.nowMs() - startMs).toBeLessThanOrEqual(100);
  await end();
});

test('A handler that waits for write goes on when the agent stops.', async () => {
  const { write, end } = await startTask();
  gateway.respondToWrite = () => Response.error();
  const written = write('x'.repeat(2_000_000));
  await pass(clock, 2_000);
  const startMs = clock.nowMs();
  const stopped = agent?.stop({ drainMs: 0, graceMs: 60_000 });
  await elapse(clock, written);
  await write('y');
  expect(clock.nowMs() - startMs).toBeLessThanOrEqual(100);
  await end();
  await elapse(clock, stopped ?? Promise.resolve());
  expect(outcome()).toMatchObject({ status: 'success' });
});

test('What can’t be a question is an error of the call.', async () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const { error_info, questions } = await runHandler(async (_task, { ask }) => {
    await expect(ask('')).rejects.toThrow(/must be a text that is not empty/);
    await expect(ask('Why?', { schema: circle as never })).rejects.toThrow(/can’t be written as JSON/);
    await expect(ask('字'.repeat(30_000))).rejects.toThrow(/question.*at most 60000 bytes/);
    await ask('Why?');
  });
  expect(error_info).toContain('The handler asks "Why?": give runHandler the answer in answers.');
  expect(questions).toHaveLength(1);
});

test('runHandler answers in order, and a key that is asked again as before.', async () => {
  const { result } = await runHandler(
    async (_task, { ask }) => ({
      output: JSON.stringify([
        await ask('A?', { key: 'a' }),
        await ask('B?', { key: 'b' }),
        await ask('A?', { key: 'a' }),
      ]),
    }),
    { answers: [1, null] },
  );
  expect(result).toEqual({ output: '[1,null,1]' });
});

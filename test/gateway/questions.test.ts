/** Questions of a running task through the gateway: asked by a write, answered once, claimed by the agent. */
import { describe, expect, test } from 'vitest';
import type { WrittenQuestion } from '../../server/domain/question.ts';
import { BUSY } from '../harness/fake-pusher.ts';
import { RESET, text, textsOf, type Write, write } from '../harness/outputs.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, NEVER, type World } from '../harness/world.ts';
import { submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

const properties = { approve: { type: 'boolean' } } as const;
const SCHEMA = { type: 'object', properties, required: ['approve'] } as const;
const DEPLOY = { key: 'deploy', prompt: '部署吗？', schema: SCHEMA } as const;
const YES = { approve: true };
const NO = { approve: false };

const asPiece = (question: object): string => JSON.stringify({ question });
const asAnswer = (answer: unknown, key = 'deploy'): string => JSON.stringify({ answer: { key, answer } });

describeEachStore('questions on %s', (_name, open) => {
  const start = useWorlds(open);

  async function startTask(more = {}): Promise<{ world: World; request_id: string }> {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A'));
    return { world, request_id: await submit(world, more) };
  }

  /** Writes one question. */
  function ask(
    { gateway }: World,
    request_id: string,
    question: Omit<WrittenQuestion, 'at'> = DEPLOY,
    more: Partial<Write> = {},
  ) {
    const { from = 0 } = more;
    const whole = { request_id, agent_id: 'A', writer: 'w', from, pieces: [asPiece(question)], ...more };
    return gateway.writeOutput({ ...whole, questions: [{ ...question, at: from }] });
  }

  const answer = ({ gateway }: World, request_id: string, value: unknown = YES, key = 'deploy') =>
    gateway.answerTask({ request_id, key, answer: value });
  const claim = ({ gateway }: World, request_id: string, more = {}) =>
    gateway.claimAnswer({ agent_id: 'A', request_id, key: 'deploy', wait: 0, ...more }, NEVER);
  const askedOf = async ({ gateway }: World, request_id: string) =>
    (await gateway.explainTask(request_id)).questions.map(({ key, answered_time }) => ({
      key,
      isAnswered: answered_time !== null,
    }));

  test('a question and its answer are pieces, and the agent claims the answer', async () => {
    const { world, request_id } = await startTask();
    await write(world, request_id, ['一']);
    expect(await ask(world, request_id, DEPLOY, { from: 1 })).toMatchObject({ accepted: true, next: 2 });
    expect(await claim(world, request_id)).toBeNull();
    expect(await answer(world, request_id)).toEqual({ ok: true, request_id, key: 'deploy' });
    expect(await claim(world, request_id)).toEqual({ key: 'deploy', answer: YES });
    await write(world, request_id, ['二'], { from: 2 });
    expect(await textsOf(world, request_id)).toEqual([
      text('一'),
      asPiece(DEPLOY),
      asAnswer(YES),
      text('二'),
    ]);
  });

  test('an output takes no question beyond its reserve, and answers still', async () => {
    const { world, request_id } = await startTask();
    await ask(world, request_id);
    const long = { ...DEPLOY, key: 'long', prompt: 'x'.repeat(2_000_000) };
    expect(await ask(world, request_id, long, { from: 1 })).toMatchObject({ accepted: true, next: 2 });
    const more = { ...long, key: 'more', prompt: 'x'.repeat(4_000_000) };
    const refused = { status: 'running', accepted: false };
    expect(await ask(world, request_id, more, { from: 2 })).toMatchObject({ ...refused, next: 2 });
    expect(await ask(world, request_id, more, { writer: 'restarted' })).toMatchObject({
      ...refused,
      next: 0,
    });
    expect(await askedOf(world, request_id)).toMatchObject([{ key: 'deploy' }, { key: 'long' }]);
    expect(await answer(world, request_id)).toMatchObject({ ok: true });
    expect(await claim(world, request_id)).toMatchObject({ answer: YES });
  });

  test('a first write may ask, and acknowledges the task', async () => {
    const { world, request_id } = await startTask();
    expect(await ask(world, request_id)).toMatchObject({ accepted: true, next: 1 });
    const { acknowledged, history, questions, remedies } = await world.gateway.explainTask(request_id);
    expect(acknowledged).toBe(true);
    expect(history.map(({ event }) => event)).toContain('asked');
    expect(questions).toEqual([
      { key: 'deploy', prompt: '部署吗？', asked_time: expect.any(Number), answered_time: null },
    ]);
    expect(remedies[0]).toMatchObject({ kind: 'answer', agent_id: 'A' });
    await answer(world, request_id);
    const after = await world.gateway.explainTask(request_id);
    expect(after.history.at(-1)?.event).toBe('answered');
    expect(after.questions[0]?.answered_time).not.toBeNull();
    expect(after.remedies).toEqual([]);
  });

  test('a claim waits for the answer', async () => {
    const { world, request_id } = await startTask();
    await ask(world, request_id);
    const claimed = claim(world, request_id, { wait: 60 });
    await answer(world, request_id);
    expect(await world.clock.drive(claimed)).toEqual({ key: 'deploy', answer: YES });
  });

  test('a claim that waits learns that the task has ended', async () => {
    const { world, request_id } = await startTask();
    await ask(world, request_id);
    const claimed = claim(world, request_id, { wait: 60 });
    const refused = expect(claimed).rejects.toMatchObject({ code: 'task_terminal' });
    await world.gateway.cancelTask(request_id);
    await world.clock.drive(refused);
  });

  test('a call with a question may be repeated, also when it is answered already', async () => {
    const { world, request_id } = await startTask();
    for (const _ of [1, 2]) expect(await ask(world, request_id)).toMatchObject({ next: 1 });
    await answer(world, request_id);
    expect(await ask(world, request_id)).toMatchObject({ accepted: true, next: 1 });
    // It is a repeat too when the question has been asked again since, whatever it asks.
    await ask(world, request_id, DEPLOY, { from: 1 });
    for (const prompt of [DEPLOY.prompt, 'Else?']) await ask(world, request_id, { ...DEPLOY, prompt });
    const both = [asPiece(DEPLOY), asAnswer(YES)];
    expect(await textsOf(world, request_id)).toEqual([...both, ...both]);
    await expect(ask(world, request_id, DEPLOY, { from: 3 })).rejects.toMatchObject({
      errors: [{ pointer: '/from' }],
    });
  });

  test('the first answer counts; the same again is a success and one piece', async () => {
    const { world, request_id } = await startTask();
    await ask(world, request_id);
    for (const _ of [1, 2]) await answer(world, request_id);
    await expect(answer(world, request_id, NO)).rejects.toMatchObject({
      code: 'not_asked',
      message: expect.stringContaining('another answer'),
    });
    expect(await textsOf(world, request_id)).toEqual([asPiece(DEPLOY), asAnswer(YES)]);
    expect(await claim(world, request_id)).toEqual({ key: 'deploy', answer: YES });
  });

  test('the order of keys makes neither another answer nor another question', async () => {
    const { world, request_id } = await startTask();
    const properties = { approve: { type: 'boolean' }, why: { type: 'string', title: 'Why?' } } as const;
    const reversed = { why: { title: 'Why?', type: 'string' }, approve: { type: 'boolean' } } as const;
    await ask(world, request_id, { ...DEPLOY, schema: { type: 'object', properties } });
    await answer(world, request_id, { approve: true, why: '好' });
    await answer(world, request_id, { why: '好', approve: true });
    await expect(answer(world, request_id, { why: '不', approve: true })).rejects.toMatchObject({
      code: 'not_asked',
    });
    const again = {
      schema: { properties: reversed, type: 'object' },
      prompt: '部署吗？',
      key: 'deploy',
    } as const;
    expect(await ask(world, request_id, again, { writer: 'again' })).toMatchObject({ accepted: true });
    expect(await claim(world, request_id)).toEqual({ key: 'deploy', answer: { approve: true, why: '好' } });
  });

  test('an answer must fit the schema, and nothing is stored of another', async () => {
    const { world, request_id } = await startTask();
    await ask(world, request_id);
    for (const [wrong, ...pointers] of [
      [{}, '/answer/approve'],
      [{ approve: 'yes' }, '/answer/approve'],
      [{ approve: true, other: 1 }, '/answer/other'],
      ['yes', '/answer'],
    ] as const) {
      const refused = { code: 'validation_failed', errors: pointers.map((pointer) => ({ pointer })) };
      await expect(answer(world, request_id, wrong)).rejects.toMatchObject(refused);
    }
    expect(await textsOf(world, request_id)).toEqual([asPiece(DEPLOY)]);
    expect(await askedOf(world, request_id)).toEqual([{ key: 'deploy', isAnswered: false }]);
  });

  test('only a question that is open is answered', async () => {
    const { world, request_id } = await startTask();
    const refuse = (promise: Promise<unknown>, code: string, message = '') =>
      expect(promise).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    await refuse(answer(world, request_id), 'not_asked', 'No question');
    const pending = await submit(world, { queue_timeout: 60, task_tags: ['nobody'] });
    await refuse(answer(world, pending), 'not_asked', 'No question');
    await refuse(answer(world, 'nothing'), 'task_not_found');
    await ask(world, request_id);
    await refuse(answer(world, request_id, YES, 'other'), 'not_asked', 'No question');
    await write(world, request_id, ['a'], { writer: 'again' });
    await refuse(answer(world, request_id), 'not_asked', 'withdrawn');
    await refuse(claim(world, request_id), 'not_asked', 'withdrawn');
    expect(await askedOf(world, request_id)).toEqual([]);
    await ask(world, request_id, DEPLOY, { writer: 'again', from: 1 });
    await world.gateway.cancelTask(request_id);
    await refuse(answer(world, request_id), 'task_terminal');
    await refuse(claim(world, request_id), 'task_terminal');
  });

  test('only the agent that has the task claims the answer', async () => {
    const { world, request_id } = await startTask();
    await ask(world, request_id);
    await answer(world, request_id);
    await world.gateway.registerAgent(buildRegistration('B', { agent_tags: [] }));
    const refuse = (more: object, code: string) =>
      expect(claim(world, request_id, more)).rejects.toMatchObject({ code });
    await refuse({ agent_id: 'B' }, 'agent_mismatch');
    await refuse({ agent_id: 'unknown' }, 'agent_not_found');
    await refuse({ request_id: 'nothing' }, 'task_not_found');
    await refuse({ key: 'other' }, 'not_asked');
  });

  describe('an answer stays with its key', () => {
    test('an agent that restarts and asks again gets it at once, and readers get it again', async () => {
      const { world, request_id } = await startTask();
      await ask(world, request_id);
      await answer(world, request_id);
      expect(await ask(world, request_id, DEPLOY, { writer: 'again' })).toMatchObject({ next: 1 });
      expect(await claim(world, request_id)).toEqual({ key: 'deploy', answer: YES });
      // A repeat of that call stores nothing more.
      await ask(world, request_id, DEPLOY, { writer: 'again' });
      await write(world, request_id, ['go'], { writer: 'again', from: 1 });
      const both = [asPiece(DEPLOY), asAnswer(YES)];
      expect(await textsOf(world, request_id)).toEqual([...both, RESET, ...both, text('go')]);
      const { history } = await world.gateway.explainTask(request_id);
      expect(history.filter(({ event }) => event === 'asked')).toHaveLength(1);
    });

    test('an open question of an agent that restarts is withdrawn until the same is asked again', async () => {
      const { world, request_id } = await startTask();
      await ask(world, request_id);
      await ask(world, request_id, { ...DEPLOY, key: 'other' }, { writer: 'again' });
      const again = { writer: 'again', from: 1 };
      const changed = ask(world, request_id, { ...DEPLOY, prompt: 'Really?' }, again);
      await expect(changed).rejects.toMatchObject({ code: 'validation_failed' });
      expect(await askedOf(world, request_id)).toEqual([{ key: 'other', isAnswered: false }]);
      await ask(world, request_id, DEPLOY, again);
      await answer(world, request_id);
      expect(await claim(world, request_id)).toEqual({ key: 'deploy', answer: YES });
    });

    test('the next agent of a task that moves gets it too; an open question is withdrawn', async () => {
      const world = await start();
      world.pusher.script('http://E.test/tasks', BUSY);
      await world.gateway.registerAgent(buildRegistration('E'));
      const request_id = await submit(world);
      await ask(world, request_id, DEPLOY, { agent_id: 'E' });
      await answer(world, request_id);
      await ask(world, request_id, { ...DEPLOY, key: 'open' }, { agent_id: 'E', from: 1 });
      await world.gateway.registerAgent(buildRegistration('E', { request_ids: [] }));
      expect(await askedOf(world, request_id)).toEqual([{ key: 'deploy', isAnswered: true }]);
      await expect(answer(world, request_id, YES, 'open')).rejects.toMatchObject({ code: 'not_asked' });
      await world.gateway.registerAgent(buildRegistration('A'));
      await world.pass(2_000);
      await ask(world, request_id);
      expect(await claim(world, request_id)).toEqual({ key: 'deploy', answer: YES });
    });

    test('the same key with other content is refused', async () => {
      const { world, request_id } = await startTask();
      await ask(world, request_id);
      const refused = { code: 'validation_failed', errors: [{ pointer: '/pieces/0/question/key' }] };
      const other = { ...DEPLOY, prompt: 'Really?' };
      await expect(ask(world, request_id, other, { from: 1 })).rejects.toMatchObject(refused);
      await answer(world, request_id);
      await expect(ask(world, request_id, other, { writer: 'again' })).rejects.toMatchObject(refused);
      expect(await textsOf(world, request_id)).toEqual([asPiece(DEPLOY), asAnswer(YES)]);
    });
  });

  test('a task has 16 questions at most, and withdrawn ones make room', async () => {
    const { world, request_id } = await startTask();
    const question = (key: number) => ({ key: `${key}`, prompt: '?' });
    for (let from = 0; from < 16; from += 1) await ask(world, request_id, question(from), { from });
    const refused = { code: 'validation_failed', message: expect.stringContaining('16') };
    await expect(ask(world, request_id, question(16), { from: 16 })).rejects.toMatchObject(refused);
    await ask(world, request_id, question(0), { from: 16 });
    await ask(world, request_id, question(20), { writer: 'again' });
    expect(await askedOf(world, request_id)).toEqual([{ key: '20', isAnswered: false }]);
  });

  test('questions and answers are taken where the limit of output refuses text', async () => {
    const { world, request_id } = await startTask();
    const piece = 'x'.repeat(7 * 2 ** 17 - 100);
    for (const from of [0, 1, 2, 3, 4]) await write(world, request_id, [piece], { from });
    expect(await ask(world, request_id, DEPLOY, { from: 4 })).toMatchObject({ accepted: true, next: 5 });
    await answer(world, request_id);
    expect(await write(world, request_id, ['more'], { from: 5 })).toMatchObject({ accepted: false });
    expect((await textsOf(world, request_id)).slice(4)).toEqual([]);
    const { pieces } = await world.gateway.readOutput(request_id, 4, 0, NEVER);
    expect(pieces.map(({ json }) => json)).toEqual([asPiece(DEPLOY), asAnswer(YES)]);
  });

  test('text beside a question is refused with it where there is no room for text, then the question alone is taken', async () => {
    const { world, request_id } = await startTask();
    const [much, some] = [7 * 2 ** 17 - 100, 1_000].map((chars) => 'x'.repeat(chars)) as [string, string];
    for (const from of [0, 1, 2, 3]) await write(world, request_id, [much], { from });
    const mixed = (more = {}) =>
      ask(world, request_id, DEPLOY, { from: 4, pieces: [text(some), asPiece(DEPLOY)], ...more });
    expect(await mixed()).toMatchObject({ accepted: false, status: 'running', next: 4 });
    expect(await mixed({ writer: 'again', from: 0 })).toMatchObject({ accepted: false, next: 0 });
    expect(await askedOf(world, request_id)).toEqual([]);
    expect(await ask(world, request_id, DEPLOY, { from: 4 })).toMatchObject({ accepted: true, next: 5 });
  });
});

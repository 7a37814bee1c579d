/** Questions of scripted agents (LIVE 2): they ask, wait, and report, as the agents of the SDK do. */
import { describe, expect, test } from 'vitest';
import { createClient, type OutputPiece } from '../../sdk/index.ts';
import { runHandler } from '../../sdk/testing/index.ts';
import { type AgentScript, createSimulator, type World } from '../../server/simulator/index.ts';

const TASK = { task_type: 't', task_tags: ['pdf'], payload: { text: '你好' }, timeout: 600 };
const schema = {
  type: 'object',
  properties: { approve: { type: 'boolean' } },
  required: ['approve'],
} as const;
const DEPLOY = { key: 'deploy', prompt: 'Deploy?', schema } as const;

type Asks = NonNullable<AgentScript['asks']>;

/** A world with an agent of this script, and a task that it has. */
async function askAbout(asks: Asks, script: Omit<AgentScript, 'tags'> = {}, more: object = {}) {
  const world = createSimulator();
  const client = createClient({ ...world.options, adminAuth: world.adminAuth });
  await world.agents.add({ tags: ['pdf'], asks, ...script });
  const { request_id } = await client.submitTask({ ...TASK, ...more });
  await world.clock.settle();
  return { world, client, request_id };
}

/** The output so far, without the numbers of its pieces. */
async function readPieces({ options }: World, request_id: string): Promise<readonly object[]> {
  const pieces: object[] = [];
  for await (const piece of createClient(options).readOutput(request_id, { follow: false })) {
    const { n: _n, ...rest } = piece as OutputPiece & Record<string, unknown>;
    if (!('end' in rest)) pieces.push(rest);
  }
  return pieces;
}

describe('a scripted agent asks', () => {
  test('behind its output, one question after the other, and reports once both are answered', async () => {
    const other = { prompt: 'Where?', key: 'where' };
    const script = { output: ['Ready.'], after: 10 };
    const { world, client, request_id } = await askAbout([DEPLOY, other], script);
    expect(await readPieces(world, request_id)).toEqual([]);
    await world.clock.advance(100);
    expect(await readPieces(world, request_id)).toEqual([{ text: 'Ready.' }, { question: DEPLOY }]);
    await client.answerTask(request_id, { key: 'deploy', answer: { approve: true } });
    await world.clock.settle();
    expect((await readPieces(world, request_id)).at(-1)).toEqual({ question: other });
    expect(await client.getTask(request_id)).toMatchObject({ status: 'running' });
    await client.answerTask(request_id, { key: 'where', answer: null });
    await world.clock.settle();
    expect(await client.getTask(request_id)).toMatchObject({ status: 'success' });
    expect(world.agents.list()).toMatchObject([{ request_ids: [] }]);
  });

  test('under the key that an agent of the SDK gives the same question', async () => {
    const { prompt } = DEPLOY;
    const { world, request_id } = await askAbout([
      { prompt, schema, answer: { approve: true } },
      { prompt, answer: 1 },
      { prompt, answer: 2 },
    ]);
    const { questions } = await runHandler(
      async (_task, { ask }) => {
        await ask(prompt, { schema });
        await ask(prompt);
        await ask(prompt);
      },
      { answers: [{ approve: true }, 1, 2] },
    );
    const pieces = await readPieces(world, request_id);
    expect(pieces.flatMap((piece) => ('question' in piece ? [piece.question] : []))).toEqual(questions);
    expect(new Set(questions.map(({ key }) => key)).size).toBe(3);
  });
});

describe('the script’s answer', () => {
  test('comes its seconds behind the question, in the world’s time', async () => {
    const asks = [{ ...DEPLOY, answer: { approve: true }, after: 70 }];
    const { world, client, request_id } = await askAbout(asks);
    await world.clock.advance(69.999);
    expect(await readPieces(world, request_id)).toEqual([{ question: DEPLOY }]);
    await world.clock.advance(0.001);
    expect((await readPieces(world, request_id)).at(-1)).toHaveProperty('answer.answer', { approve: true });
    expect((await client.explainTask(request_id)).ended_time).toBe(world.clock.now());
  });

  test('is not sent behind an answer of the test', async () => {
    const { world, client, request_id } = await askAbout([
      { ...DEPLOY, answer: { approve: true }, after: 9 },
    ]);
    await client.answerTask(request_id, { key: 'deploy', answer: { approve: false } });
    await world.clock.advance(60);
    expect((await readPieces(world, request_id)).at(-1)).toHaveProperty('answer.answer', { approve: false });
    expect(world.transcript().match(/"path":"[^"]*\/answer"/g)).toHaveLength(2);
  });

  test('comes while the agent is gone, and another process that asks again has it at once', async () => {
    const asks = [{ ...DEPLOY, answer: { approve: true }, after: 60 }];
    const { world, client, request_id } = await askAbout(asks, { does: 'die', after: 30 });
    await world.clock.advance(60);
    const answer = { answer: { key: 'deploy', answer: { approve: true } } };
    expect(await readPieces(world, request_id)).toEqual([{ question: DEPLOY }, answer]);
    await world.agents.add({ tags: ['pdf'], agent_id: 'agent-1', asks });
    await world.clock.settle();
    expect(await client.getTask(request_id)).toMatchObject({ status: 'success' });
    expect((await readPieces(world, request_id)).slice(2)).toEqual([
      { reset: true, agent_id: 'agent-1' },
      { question: DEPLOY },
      answer,
    ]);
  });

  test('does not come once the script is removed', async () => {
    const { world, request_id } = await askAbout([{ ...DEPLOY, answer: { approve: true }, after: 60 }]);
    await world.agents.remove('agent-1');
    await world.clock.advance(100);
    expect(await readPieces(world, request_id)).toEqual([{ question: DEPLOY }]);
  });
});

describe('an agent that waits for an answer', () => {
  test('stops when its task is cancelled, and reports nothing', async () => {
    const { world, client, request_id } = await askAbout([DEPLOY, { prompt: 'Where?' }]);
    await client.cancelTask(request_id);
    await world.clock.settle();
    expect(world.agents.list()).toMatchObject([{ request_ids: [] }]);
    const before = world.transcript().split('\n').length;
    await world.clock.advance(14);
    expect(world.transcript().split('\n')).toHaveLength(before);
    expect(world.transcript()).not.toContain('/api/agent/result');
  });

  test('stops when its task’s time is over; one that reports late still does', async () => {
    for (const [does, reports] of [
      ['succeed', 0],
      ['report_late', 1],
    ] as const) {
      const { world, client, request_id } = await askAbout([DEPLOY], { does }, { timeout: 90 });
      await world.clock.advance(200);
      expect(await client.getTask(request_id)).toMatchObject({ status: 'failed', error_info: 'timeout' });
      expect(world.transcript().split('/api/agent/result').length - 1, does).toBe(reports);
      expect(world.agents.list()).toMatchObject([{ request_ids: [] }]);
    }
  });

  test('is lost in its time once it is gone: its claim ends with it', async () => {
    const script = { does: 'die', after: 30, lost_after: 20 } as const;
    const { world, client, request_id } = await askAbout([DEPLOY], script);
    // A claim of 20 seconds began after 20. The agent's last call was its report after 30.
    await world.clock.advance(56);
    expect(await client.getTask(request_id)).toMatchObject({ error_info: 'agent lost: no contact for 20 s' });
  });

  test.each([
    ['busy', 'writeOutput'],
    ['no_response', 'writeOutput'],
    ['lose_response', 'writeOutput'],
    ['unauthorized', 'writeOutput'],
    ['busy', 'claimAnswer'],
    ['lose_response', 'claimAnswer'],
    ['busy', 'answerTask'],
    ['lose_response', 'answerTask'],
    ['store_outage', undefined],
  ] as const)('goes on through %s of %s, with each piece once', async (fault, operation) => {
    const world = createSimulator();
    const client = createClient({ ...world.options });
    const asks = [{ ...DEPLOY, answer: { approve: true }, after: 4 }];
    await world.agents.add({ tags: ['pdf'], output: ['one', 'two'], after: 6, asks });
    const { request_id } = await client.submitTask(TASK);
    const { id } = world.faults.add({ fault, operation, ...(operation && { times: 3 }) });
    await world.clock.advance(5);
    if (fault === 'store_outage') world.faults.remove(id);
    await world.clock.advance(30);
    expect(world.faults.list()).toEqual([]);
    expect(await client.getTask(request_id)).toMatchObject({ status: 'success' });
    expect(await readPieces(world, request_id)).toEqual([
      { text: 'one' },
      { text: 'two' },
      { question: DEPLOY },
      { answer: { key: 'deploy', answer: { approve: true } } },
    ]);
  });
});

test('A question that the gateway refuses fails the task, and says why.', async () => {
  const asks = [
    { key: 'same', prompt: 'One?', answer: 1 },
    { key: 'same', prompt: 'Another?', answer: 1 },
  ];
  const { client, request_id } = await askAbout(asks);
  const { status, error_info } = await client.getTask(request_id);
  expect([status, error_info]).toEqual(['failed', expect.stringContaining('with another prompt or schema')]);
});

test('A question or an answer that the gateway would refuse is refused with its script.', async () => {
  const world = createSimulator();
  const add = (asks: object) => world.agents.add({ tags: ['pdf'], asks: asks as Asks });
  await expect(add([{ key: '' }, { prompt: 'p', at: 1 }])).rejects.toThrow(
    /`\/asks\/0\/prompt` is missing.*`\/asks\/0\/key` must be a text of 1 to 256.*`\/asks\/1\/at` is not known/,
  );
  const wrongField = { type: 'object', properties: { a: { type: 'text' } } };
  await expect(add([{ prompt: 'p', schema: wrongField }])).rejects.toThrow(
    '`/asks/0/schema/properties/a/type` must be one of string, number',
  );
  const asks = [
    { prompt: 'p', schema: { ...schema, required: ['b'] } },
    { prompt: 'p', schema, answer: { approve: 'yes' } },
  ];
  await expect(add(asks)).rejects.toThrow(
    '`/asks/0/schema/required/0` must be the name of one of the `properties`; `/asks/1/answer/approve` must be true',
  );
  await expect(add(Array.from({ length: 17 }, () => ({ prompt: 'p' })))).rejects.toThrow('at most 16 items');
  expect(world.agents.list()).toEqual([]);
});

test('The same seed and answers give the same bytes.', async () => {
  const record = async (): Promise<string> => {
    const asks = [{ ...DEPLOY, answer: { approve: true }, after: 50 }, { prompt: 'Where?' }];
    const named = { cli_session_id: 's' };
    const world = createSimulator({ seed: 7 });
    const client = createClient({ ...world.options });
    await world.agents.add({ tags: ['pdf'], after: 30, output: ['one'], asks });
    const { request_id } = await client.submitTask({ ...TASK, ...named }, { idempotencyKey: 'k' });
    await world.clock.advance(100);
    const key = (await client.explainTask(request_id)).questions?.[1]?.key ?? '';
    await client.answerTask(request_id, { key, answer: 'here' });
    await world.clock.advance(1);
    expect(await client.getTask(request_id)).toMatchObject({ status: 'success' });
    expect(world.transcript()).not.toContain(world.options.auth);
    return world.transcript();
  };
  const one = await record();
  expect(one).toContain('/api/agent/answer');
  expect(await record()).toBe(one);
});

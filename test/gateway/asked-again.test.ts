/** A question that its agent asks again: while it waits for its answer nothing is stored, and later it is. */
import { expect, test } from 'vitest';
import { RESET, text, textsOf } from '../harness/outputs.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, NEVER, type World } from '../harness/world.ts';
import { submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

const DEPLOY = { key: 'deploy', prompt: '部署吗？' };
const QUESTION = JSON.stringify({ question: DEPLOY });
const ANSWER = JSON.stringify({ answer: { key: 'deploy', answer: true } });

describeEachStore('a question asked again, on %s', (_name, open) => {
  const start = useWorlds(open);

  /** Writes the question behind these texts; returns how many pieces of the writer count. */
  async function ask(
    { gateway }: World,
    request_id: string,
    from: number,
    texts: string[] = [],
    writer = 'w',
  ) {
    const pieces = [...texts.map(text), QUESTION];
    const questions = [{ ...DEPLOY, at: from + texts.length }];
    const write = { request_id, agent_id: 'A', writer, from, pieces, questions };
    const { accepted, next } = await gateway.writeOutput(write);
    expect(accepted).toBe(true);
    return next;
  }

  test('is stored once while it waits for its answer, and again for a reader behind a reset', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A'));
    const request_id = await submit(world);
    for (const from of [0, 1, 2]) expect(await ask(world, request_id, from)).toBe(from + 1);
    expect(await ask(world, request_id, 3, ['一'])).toBe(5);
    expect(await textsOf(world, request_id)).toEqual([QUESTION, text('一')]);
    await world.gateway.answerTask({ request_id, key: 'deploy', answer: true });
    const claim = { agent_id: 'A', request_id, key: 'deploy', wait: 0 };
    expect(await world.gateway.claimAnswer(claim, NEVER)).toEqual({ key: 'deploy', answer: true });
    expect(await textsOf(world, request_id)).toEqual([QUESTION, text('一'), ANSWER]);
    expect(await ask(world, request_id, 0, [], 'restarted')).toBe(1);
    expect((await textsOf(world, request_id)).slice(3)).toEqual([RESET, QUESTION, ANSWER]);
  });
});

/** The races about questions: one is answered, and at that moment it is answered again, or its task ends. */
import { expect } from 'vitest';
import { isSettled } from '../../server/domain/task.ts';
import { buildRegistration, buildSubmission, NEVER } from '../harness/world.ts';
import type { Pair, Replica } from './pair.ts';
import type { Race } from './races.ts';

const QUESTION = { key: 'deploy', prompt: '部署吗？' } as const;

const ask = (on: Replica, request_id: string, writer: string) => () =>
  on.gateway.writeOutput({
    request_id,
    agent_id: 'A',
    writer,
    from: 0,
    pieces: [JSON.stringify({ question: QUESTION })],
    questions: [{ ...QUESTION, at: 0 }],
  });

const answer = (on: Replica, request_id: string, value: string) => () =>
  on.gateway.answerTask({ request_id, key: 'deploy', answer: value });

const claim =
  (on: Replica, request_id: string, wait = 0) =>
  () =>
    on.gateway.claimAnswer({ agent_id: 'A', request_id, key: 'deploy', wait }, NEVER);

async function startAsking(pair: Pair): Promise<string> {
  await pair.one.gateway.registerAgent(buildRegistration('A'));
  const { request_id } = await pair.one.gateway.submitTask(buildSubmission({ timeout: 60 }));
  await pair.runUntilIdle();
  await ask(pair.one, request_id, 'w')();
  return request_id;
}

/** The pieces of the output as words: `?` a question, `/` a reset, else an answer. */
async function wordsOf(pair: Pair, request_id: string): Promise<readonly string[]> {
  const { pieces } = await pair.two.gateway.readOutput(request_id, 0, 0, NEVER);
  return pieces.map(({ json }) => {
    const { question, reset, answer } = JSON.parse(json);
    return question ? '?' : reset ? '/' : answer.answer;
  });
}

const isAccepted = (result: PromiseSettledResult<unknown> | undefined): boolean =>
  result?.status === 'fulfilled';

/** The answer is in the output exactly if it was accepted. */
async function requireWhole(
  [answered]: readonly PromiseSettledResult<unknown>[],
  pair: Pair,
  request_id: string,
): Promise<void> {
  expect(await wordsOf(pair, request_id)).toEqual(isAccepted(answered) ? ['?', 'yes'] : ['?']);
  if (!isAccepted(answered)) expect(answered).toMatchObject({ reason: { code: 'task_terminal' } });
  const { questions } = await pair.one.gateway.explainTask(request_id);
  expect(questions.map(({ answered_time }) => answered_time !== null)).toEqual([isAccepted(answered)]);
}

/** By name, as the suites title them. */
export const QUESTION_RACES: Record<string, Race> = {
  'answer × another answer': {
    prepare: startAsking,
    work: ({ one, two }, id) => [answer(one, id, 'yes'), answer(two, id, 'no')],
    async requireResults(results, pair, id) {
      expect(results.filter(isAccepted)).toHaveLength(1);
      const refused = results.find((one) => !isAccepted(one));
      expect(refused).toMatchObject({ reason: { code: 'not_asked' } });
      const given = isAccepted(results[0]) ? 'yes' : 'no';
      expect(await wordsOf(pair, id)).toEqual(['?', given]);
      expect(await claim(pair.two, id)()).toMatchObject({ answer: given });
      await pair.one.gateway.cancelTask(id);
    },
  },
  'answer × the same answer at another replica': {
    prepare: startAsking,
    work: ({ one, two }, id) => [answer(one, id, 'yes'), answer(two, id, 'yes')],
    async requireResults(results, pair, id) {
      expect(results.map(isAccepted)).toEqual([true, true]);
      expect(await wordsOf(pair, id)).toEqual(['?', 'yes']);
      await pair.one.gateway.cancelTask(id);
    },
  },
  'answer × a claim that waits': {
    prepare: startAsking,
    work: ({ one, two }, id) => [answer(one, id, 'yes'), claim(two, id, 60)],
    async requireResults([, claimed], pair, id) {
      expect(claimed).toMatchObject({ value: { key: 'deploy', answer: 'yes' } });
      await pair.one.gateway.cancelTask(id);
    },
  },
  'answer × cancel': {
    prepare: startAsking,
    work: ({ one, two }, id) => [answer(one, id, 'yes'), () => two.gateway.cancelTask(id)],
    requireResults: requireWhole,
  },
  'answer × report': {
    prepare: startAsking,
    work: ({ one, two }, id) => [
      answer(one, id, 'yes'),
      () => two.gateway.reportResult({ request_id: id, agent_id: 'A', status: 'success' }),
    ],
    requireResults: requireWhole,
  },
  'answer × expire': {
    async prepare(pair) {
      const request_id = await startAsking(pair);
      await pair.clock.advance(60_001);
      return request_id;
    },
    work: ({ one, two }, id) => [answer(one, id, 'yes'), () => two.duties.runDuePass()],
    requireResults: requireWhole,
  },
  'answer × the question again after a restart': {
    prepare: startAsking,
    work: ({ one, two }, id) => [answer(one, id, 'yes'), ask(two, id, 'restarted')],
    async requireResults([answered], pair, id) {
      // The question is the same: no person is asked twice, and the agent that is there now gets the answer.
      expect(isAccepted(answered)).toBe(true);
      expect([
        ['?', 'yes', '/', '?', 'yes'],
        ['?', '/', '?', 'yes'],
      ]).toContainEqual(await wordsOf(pair, id));
      expect(await claim(pair.one, id)()).toMatchObject({ answer: 'yes' });
      const { task } = await pair.one.gateway.getTask(id, 0, NEVER);
      expect(isSettled(task)).toBe(false);
      await pair.one.gateway.cancelTask(id);
    },
  },
};

/** The checks of what the document says about the questions of a running task (L1). */
import { requireContact } from './agent-state-checks.ts';
import type { Check } from './check.ts';
import { isFields, listOf, requireEqual, requireThat } from './findings.ts';
import { requireAdmin } from './kit.ts';
import { beginWork, filled, write } from './played-outputs.ts';
import { answer, asked, claim, QUESTION, YES } from './played-questions.ts';
import { requireObject, requireProblem, requireStatus } from './subject.ts';

const BOTH = [{ question: QUESTION }, { answer: YES }];

export const QUESTION_CHECKS: Readonly<Record<string, Check>> = {
  'fields.a-question-to-the': async (kit) => {
    const { pieces } = await kit.see(asked);
    requireEqual(pieces[0], { question: QUESTION }, 'The piece of a question');
  },
  'output.a-question-leaves-its': async (kit) => {
    const { pieces, open } = await kit.see(asked);
    requireEqual(pieces, BOTH, 'The pieces of a question and its answer');
    requireEqual(open.status, 'running', 'The status while a question is open');
    const { mixed, alone } = await kit.see(filled);
    requireEqual(
      [mixed.accepted, alone.accepted],
      [false, true],
      'A question with text, and alone, at the limit',
    );
  },
  'claimAnswer.an-answer-stays-with': async (kit) => {
    const { claimedAgain, piecesAgain } = await kit.see(asked);
    requireEqual(requireObject(claimedAgain), YES, 'The answer to a question that is asked again');
    const again = piecesAgain.slice(3).filter((piece) => !JSON.stringify(piece).includes('"open"'));
    requireEqual(again, BOTH, 'The pieces behind the reset');
  },
  'answerTask.questions-and-answers-are': async (kit) => {
    const { answers, askedReversed } = await kit.see(asked);
    requireStatus(answers.reversed, 200, 'of the same answer with its keys in another order');
    requireStatus(askedReversed, 200, 'of the same question with its keys in another order');
  },
  'output.open-questions-are-withdrawn': async (kit) => {
    const { withdrawn } = await kit.see(asked);
    requireProblem(withdrawn, 400, 'not_asked', 'to a question of an earlier writer');
  },
  'listTasks.with-waiting-for-answer': async (kit) => {
    const headers = { 'x-admin-auth': requireAdmin(kit) };
    const read = async (path: string, query = {}) =>
      requireObject(await kit.subject.call('GET', `/api/admin/${path}`, { query, headers }));
    const works = [await beginWork(kit), await beginWork(kit)];
    // The agent of the last submitted task asks first.
    for (const work of works.toReversed()) {
      requireObject(await write(kit, work, 'w', 0, [{ question: QUESTION }]));
      await kit.pause(0.05);
    }
    const ids = works.map(({ request_id }) => request_id).toReversed();
    const waiting = { waiting_for_answer: 'true', counts: 'true', limit: '200' };
    const page = await read('tasks', waiting);
    const rows = listOf(page.tasks).map(({ request_id }) => request_id);
    requireEqual(
      rows.filter((id) => ids.includes(id)),
      ids,
      'The tasks that wait, who has waited longest first',
    );
    const { waiting_for_answer } = isFields(page.counts) ? page.counts : {};
    requireThat(Number(waiting_for_answer) >= ids.length, 'Not all of them are counted.');
    await kit.until('the overview names the first of them', async () => {
      const { problems } = await read('overview');
      const note = listOf(problems).find(({ code }) => code === 'waiting_for_answer');
      return rows.includes(note?.request_id) ? note : undefined;
    });
    requireObject(await answer(kit, ids[0], { yes: true }));
    const left = listOf((await read('tasks', waiting)).tasks).map(({ request_id }) => request_id);
    requireEqual([left.includes(ids[0]), left.includes(ids[1])], [false, true], 'What still waits behind it');
    for (const id of ids) requireObject(await kit.cancel(id));
  },
  'answerTask.stores-the-answer-to': async (kit) => {
    const { work, answers } = await kit.see(asked);
    const receipt = { ok: true, request_id: work.request_id, key: 'go' };
    requireEqual(requireObject(answers.first), receipt, 'The response to an answer');
    requireProblem(answers.unfit, 422, 'validation_failed', 'of an answer that does not fit the schema');
  },
  'answerTask.the-first-answer-counts': async (kit) => {
    const { answers, claimed } = await kit.see(asked);
    requireStatus(answers.again, 200, 'of the same answer again');
    requireProblem(answers.other, 400, 'not_asked', 'of another answer');
    requireEqual(requireObject(claimed), YES, 'The answer that the agent gets');
  },
  'answerTask.every-holder-of-the': async (kit) => {
    const { answers, pieces } = await kit.see(asked);
    requireStatus(answers.first, 200, 'with the gateway secret');
    requireEqual(pieces[1], { answer: YES }, 'The piece of the answer');
  },
  'answerTask.a-terminal-task-is': async (kit) => {
    const { ended, task } = await kit.see(asked);
    requireProblem(ended.answer, 400, 'task_terminal', 'to a task that has ended');
    requireEqual(task.status, 'success', 'The status of the task behind it');
  },
  'claimAnswer.returns-the-answer-to': async (kit) => {
    const { early, claimed } = await kit.see(asked);
    requireStatus(early, 204, 'of a claim before the answer');
    requireEqual(requireObject(claimed), YES, 'The answer');
    const work = await beginWork(kit);
    requireObject(await write(kit, work, 'w', 0, [{ question: QUESTION }]));
    const waiting = claim(kit, work, { wait: 60 });
    await kit.pause(0.2);
    requireObject(await answer(kit, work.request_id, YES.answer));
    requireEqual(requireObject(await waiting), YES, 'The answer that a claim waited for');
    requireObject(await kit.cancel(work.request_id));
  },
  'claimAnswer.on-400-not-asked': async (kit) => {
    const { neverAsked, ended, work } = await kit.see(asked);
    requireProblem(neverAsked, 400, 'not_asked', 'of an answer to what was never asked');
    requireProblem(ended.claim, 400, 'task_terminal', 'of an answer in a task that has ended');
    const unknown = { ...work, request_id: kit.name('unknown') };
    requireProblem(await claim(kit, unknown), 404, 'task_not_found', 'of an unknown task');
    const stranger = { ...work, agent: { ...work.agent, agent_id: kit.name('unknown') } };
    requireProblem(await claim(kit, stranger), 404, 'agent_not_found', 'of an unknown agent');
    const other = { ...work, agent: await kit.startAgent({ endpoint: 'pull' }) };
    requireProblem(await claim(kit, other), 400, 'agent_mismatch', 'of another agent');
  },
  'claimAnswer.a-claim-is-contact': async (kit) => {
    const work = await beginWork(kit);
    requireObject(await write(kit, work, 'w', 0, [{ question: QUESTION }]));
    await requireContact(kit, work.agent, 'a claim of an answer', async () =>
      requireStatus(await claim(kit, work), 204, 'of a claim before the answer'),
    );
    requireObject(await kit.cancel(work.request_id));
  },
};

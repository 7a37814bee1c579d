/** The negative controls of what the document says about the questions of a running task (L1). */
import type { Control } from './controls.ts';
import { isFields, listOf } from './findings.ts';
import { changeBodies, changeCode, changeResponses, takeRefused } from './planted-faults.ts';
import { piecesOf } from './played-outputs.ts';

const ANSWER = /^POST .*\/api\/cli\/tasks\/[^/]*\/answer$/;
const CLAIM = /^POST .*\/api\/agent\/answer$/;
const ROWS = /^GET .*\/api\/admin\/tasks$/;
const READ = /^GET .*\/output$/;

/** Drops pieces from pages. */
const dropPieces = (isDropped: (piece: Readonly<Record<string, unknown>>) => boolean) =>
  changeBodies(READ, (page) => ({ ...page, pieces: piecesOf(page).filter((piece) => !isDropped(piece)) }));

/** The controls, by the requirement whose check must find the fault. */
export const QUESTION_CONTROLS: Readonly<Record<string, Control>> = {
  'output.a-piece-question-asks': {
    fault: 'A question is no piece.',
    plant: dropPieces((piece) => 'question' in piece),
  },
  'output.question-and-answer-are': {
    fault: 'An answer is no piece.',
    plant: dropPieces((piece) => 'answer' in piece),
  },
  'output.an-answer-stays-with': {
    fault: 'Behind a question that is asked again there is no answer.',
    plant: dropPieces((piece) => 'answer' in piece && Number(piece.n) > 2),
  },
  'output.questions-and-answers-are': {
    fault: 'The same answer is another one if its keys are in another order.',
    plant: changeResponses(ANSWER, (answer, sent) =>
      /"why".*"yes"/.test(sent) ? { ...answer, status: 400 } : answer,
    ),
  },
  'output.open-questions-are-withdrawn': {
    fault: 'A question of an earlier writer is answered.',
    plant: changeResponses(ANSWER, (answer, sent) =>
      sent.includes('"open"') ? { ...answer, status: 200 } : answer,
    ),
  },
  'listTasks.with-waiting-for-answer': {
    fault: 'The tasks that wait for an answer come in the order of their submission.',
    plant: changeBodies(ROWS, (page) => {
      const rows = listOf(page.tasks);
      return { ...page, tasks: rows[0]?.waiting_for_answer ? rows.toReversed() : rows };
    }),
  },
  'answerTask.stores-the-answer-to': {
    fault: 'An answer may be anything.',
    plant: takeRefused(ANSWER, 422),
  },
  'answerTask.the-first-answer-counts': {
    fault: 'A second answer is taken.',
    plant: takeRefused(ANSWER, 400, /"yes":false/),
  },
  'answerTask.every-holder-of-the': {
    fault: 'Readers do not see what was answered.',
    plant: changeBodies(READ, (page) => ({
      ...page,
      pieces: piecesOf(page).map((piece) =>
        isFields(piece.answer) ? { ...piece, answer: { ...piece.answer, answer: null } } : piece,
      ),
    })),
  },
  'answerTask.a-terminal-task-is': {
    fault: 'An answer to a task that has ended has another code.',
    plant: changeCode(ANSWER, 'task_terminal', 'not_asked'),
  },
  'claimAnswer.returns-the-answer-to': {
    fault: 'A claim before the answer is a 404.',
    plant: changeResponses(CLAIM, (answer) => (answer.status === 204 ? { ...answer, status: 404 } : answer)),
  },
  'claimAnswer.on-400-not-asked': {
    fault: 'A claim of what was never asked has another code.',
    plant: changeCode(CLAIM, 'not_asked', 'task_terminal'),
  },
  'claimAnswer.a-claim-is-contact': {
    fault: 'A claim of an answer is refused.',
    plant: changeResponses(CLAIM, (answer) => (answer.status === 204 ? { ...answer, status: 400 } : answer)),
  },
};

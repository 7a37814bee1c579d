/**
 * `answerTask`: a client answers a question of a running task. The answer is a step of the task, and its
 * piece is stored in the same commit. If another answer, a cancellation, the deadline or a report comes at
 * the same time, exactly one of them takes effect.
 */
import { findAnswerErrors } from '../../domain/question.ts';
import type { TaskState } from '../../domain/task.ts';
import { type Gateway, GatewayError } from '../../ports/gateway.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import { taskNotFound } from '../tasks/read-task.ts';

export function createAnswerTask({
  commits,
}: {
  readonly commits: TaskCommits;
}): Pick<Gateway, 'answerTask'> {
  return {
    async answerTask({ request_id, key, answer }) {
      const trigger = { type: 'answer', key, answer } as const;
      const output = { append: { pieces: [renderAnswer(key, answer)] } };
      const result = await commits.advanceTask(request_id, trigger, { output });
      if (result.kind === 'absent') throw taskNotFound();
      if (result.kind !== 'refused') return { ok: true, request_id, key };
      const { state, refusal, details } = result;
      if (refusal === 'task_terminal') {
        const detail = `The task has already ended as ${state.status}; no agent waits for the answer.`;
        throw new GatewayError('task_terminal', detail);
      }
      if (refusal !== 'wrong_answer') throw notAsked(state, key);
      const { schema } = details?.questions?.find((question) => question.key === key) ?? {};
      const errors = findAnswerErrors(schema, answer);
      throw new GatewayError(
        'validation_failed',
        'The answer does not fit the question.',
        errors.map((error) => ({ ...error, pointer: `/answer${error.pointer}` })),
      );
    },
  };
}

/** Renders an answer as a piece of output. */
export function renderAnswer(key: string, answer: unknown): string {
  return JSON.stringify({ answer: { key, answer } });
}

/** The error when a question was not asked, was withdrawn, or has another answer. */
export function notAsked({ questions = [] }: TaskState, key: string): GatewayError {
  const question = questions.find((one) => one.key === key);
  if (!question) {
    const detail = 'No question with this key was asked. The output of the task shows those that were.';
    return new GatewayError('not_asked', detail);
  }
  const detail = question.isWithdrawn
    ? 'The question was withdrawn, because its agent began anew. If it is needed, it is asked again.'
    : 'The question has another answer already, which counts. The output of the task shows it.';
  return new GatewayError('not_asked', detail);
}

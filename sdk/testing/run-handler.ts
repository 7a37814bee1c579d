/** Runs a handler without a gateway or an agent, for tests of the handler. */

import { describeFailure, type Handler, readResult } from '../agent/handler.ts';
import { createAsk } from '../agent/questions.ts';
import { copyData } from '../agent/unsent.ts';
import type { FreeForm, JsonObject, JsonResult, Question, RunningTask, TaskResult } from '../contract.ts';
import { InvalidOptionError } from '../errors.ts';

/** The task a handler is given, and its signal. All fields have defaults. */
export type HandlerInput<Payload extends JsonObject = FreeForm> = Partial<
  Pick<RunningTask<Payload>, 'request_id' | 'task_type' | 'task_tags' | 'payload' | 'timeout'>
> & {
  /** The handler's signal. Default: one that never fires. */
  readonly signal?: AbortSignal | undefined;
  /** The answers to the handler's questions, in the order in which it asks. */
  readonly answers?: readonly unknown[] | undefined;
};

/** The outcome of a handler, as the gateway would receive it. */
export type HandlerOutcome<Result extends JsonResult = TaskResult> = {
  /**
   * All progress values in order, including those that an agent would skip because they follow too quickly.
   */
  readonly progress: readonly number[];
  /** The first reply, if there was one. */
  readonly reply: string | undefined;
  /** The texts and data that the handler wrote, in order. */
  readonly output: readonly unknown[];
  /** The handler's questions, in order. A key asked again has its answer already, as with a gateway. */
  readonly questions: readonly Question[];
} & (
  | { readonly status: 'success'; readonly result: Result; readonly error_info: null }
  | { readonly status: 'failed'; readonly result: null; readonly error_info: string; readonly error: unknown }
);

/** Runs the handler on one task. Never rejects: what the handler throws is an outcome. */
export async function runHandler<
  Payload extends JsonObject = FreeForm,
  Result extends JsonResult = TaskResult,
>(handler: Handler<Payload, Result>, input?: HandlerInput<Payload>): Promise<HandlerOutcome<Result>>;
export async function runHandler(handler: Handler, input: HandlerInput = {}): Promise<HandlerOutcome> {
  const { signal = new AbortController().signal, answers = [], ...given } = input;
  const progress: number[] = [];
  const replies: string[] = [];
  const output: unknown[] = [];
  const questions: Question[] = [];
  const task: RunningTask = {
    request_id: 'task-1',
    task_type: 'test',
    task_tags: [],
    payload: {},
    timeout: 600,
    cli_session_id: '',
    create_time: 0,
    progress: 0,
    agent_id: 'agent-1',
    status: 'running',
    result: null,
    error_info: null,
    ...given,
  };
  const { ask, close } = createAsk(async (question) => {
    const before = questions.findIndex(({ key }) => key === question.key);
    if (before === -1) questions.push(question);
    const index = before === -1 ? questions.length - 1 : before;
    if (index >= answers.length) {
      throw new InvalidOptionError(
        `The handler asks "${question.prompt}": give runHandler the answer in answers.`,
      );
    }
    return answers[index];
  }, signal);
  const context = {
    signal,
    ask,
    progress(percent: number) {
      if (Number.isFinite(percent)) progress.push(percent);
    },
    reply: (text: string) => void replies.push(text),
    async write(piece: string | object) {
      if (piece !== '') output.push(typeof piece === 'string' ? piece : copyData(piece).data);
    },
  };
  const reported = () => ({ progress, reply: replies[0], output, questions });
  try {
    const result = readResult(await handler(task, context), replies[0]);
    return { ...reported(), status: 'success', result, error_info: null };
  } catch (error) {
    const { error_info } = describeFailure(task.request_id, error);
    return { ...reported(), status: 'failed', result: null, error_info: error_info ?? '', error };
  } finally {
    close();
  }
}

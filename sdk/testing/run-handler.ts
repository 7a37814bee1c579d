/** Runs a handler for a test, without a gateway or an agent. */

import { describeFailure, type Handler, readResult } from '../agent/handler.ts';
import { createAsk } from '../agent/questions.ts';
import { copyData } from '../agent/unsent.ts';
import type { FreeForm, JsonObject, JsonResult, Question, RunningTask, TaskResult } from '../contract.ts';
import { InvalidOptionError } from '../errors.ts';

/** The task that a handler gets, and its signal. All fields have defaults. */
export type HandlerInput<Payload extends JsonObject = FreeForm> = Partial<
  Pick<RunningTask<Payload>, 'request_id' | 'task_type' | 'task_tags' | 'payload' | 'timeout'>
> & {
  /** The handler's signal. Default: one that never fires. */
  readonly signal?: AbortSignal | undefined;
  /** The answers to the handler's questions, in the order in which it asks them. */
  readonly answers?: readonly unknown[] | undefined;
};

/** What the handler did, as the gateway would receive it. */
export type HandlerOutcome<Result extends JsonResult = TaskResult> = {
  /** All progress values in order, even those that an agent would skip because they follow too quickly. */
  readonly progress: readonly number[];
  /** The first reply, if there was one. */
  readonly reply: string | undefined;
  /** The texts and data that the handler wrote, in order. */
  readonly output: readonly unknown[];
  /** The handler's questions, in order. If it asks a key again, it gets the same answer again. */
  readonly questions: readonly Question[];
} & (
  | { readonly status: 'success'; readonly result: Result; readonly error_info: null }
  | { readonly status: 'failed'; readonly result: null; readonly error_info: string; readonly error: unknown }
);

/** Runs the handler on one task. Never rejects: what the handler throws is a part of the outcome. */
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

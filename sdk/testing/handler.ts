/** Runs a handler alone, without a gateway or an agent, for its tests. */
import { describeFailure } from '../agent/reports.ts';
import { type Handler, readResult } from '../agent/work.ts';
import type { RunningTask, TaskResult } from '../contract.ts';
import { InvalidOptionError } from '../errors.ts';

/** What the handler is given; what is left open gets a harmless value. */
export type HandlerInput = Partial<
  Pick<RunningTask, 'request_id' | 'task_type' | 'task_tags' | 'payload' | 'timeout'>
> & {
  /** The handler's signal; it never fires unless told otherwise. */
  readonly signal?: AbortSignal | undefined;
};

/** What came of it, as the gateway would be told. */
export type HandlerOutcome = {
  /** Every value told, in order, before any are left out for coming too fast. */
  readonly progress: readonly number[];
  /** The first reply, if there was one. */
  readonly reply: string | undefined;
} & (
  | { readonly status: 'success'; readonly result: TaskResult; readonly error_info: null }
  | { readonly status: 'failed'; readonly result: null; readonly error_info: string; readonly error: unknown }
);

/** Runs the handler on one task. Never rejects: what the handler throws is an outcome. */
export async function runHandler(handler: Handler, input: HandlerInput = {}): Promise<HandlerOutcome> {
  const { signal = new AbortController().signal, ...given } = input;
  const progress: number[] = [];
  const replies: string[] = [];
  const task: RunningTask = {
    ...{ request_id: 'task-1', task_type: 'test', task_tags: [], payload: {}, timeout: 600 },
    ...{ cli_session_id: '', create_time: 0, progress: 0, agent_id: 'agent-1', status: 'running' },
    ...{ result: null, error_info: null },
    ...given,
  };
  const context = {
    signal,
    progress(percent: number) {
      if (!Number.isFinite(percent)) throw new InvalidOptionError('Progress is a number from 0 to 100.');
      progress.push(percent);
    },
    reply: (text: string) => void replies.push(text),
  };
  const told = () => ({ progress, reply: replies[0] });
  try {
    const result = readResult(await handler(task, context), replies[0]);
    return { ...told(), status: 'success', result, error_info: null };
  } catch (error) {
    const { error_info } = describeFailure(task.request_id, error);
    return { ...told(), status: 'failed', result: null, error_info: error_info ?? '', error };
  }
}

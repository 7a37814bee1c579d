/** The options and words that make a task, shared by `run` and `task submit`. */
import { type Command, Option } from 'commander';
import type { TaskSubmission } from '../../contract.ts';
import { AbortError } from '../../errors.ts';
import { createUsageError } from '../exit-codes.ts';
import { type Desk, gather, parseSeconds, parseSecondsOrNone } from './context.ts';
import { createSources, readPayload } from './payload.ts';

/** What was said about a task. */
export type SubmissionOptions = {
  readonly tag?: readonly string[];
  readonly session?: string;
  readonly timeout?: number;
  readonly queueTimeout?: number;
  readonly idempotencyKey?: string;
};

/** Adds the arguments and options that describe a task. */
export function addSubmissionOptions(command: Command): Command {
  return command
    .argument('<type>', 'what kind of task it is')
    .argument('[payload...]', 'key=text, key:=json, @file.json, or - for standard input')
    .addOption(
      new Option('-t, --tag <tag>', 'agents with this tag may take it (repeatable)').argParser(gather),
    )
    .option('-s, --session <id>', 'the session whose event stream gets the end of the task')
    .option('--timeout <seconds>', 'fail the task after so long (600 without)', parseSeconds)
    .option('--queue-timeout <seconds>', 'wait so long for an agent to be free', parseSecondsOrNone)
    .option('--idempotency-key <key>', 'the same key and task again find the first task');
}

/** The task that was described. Throws usage errors. */
export async function readSubmission(
  desk: Desk,
  type: string,
  parts: readonly string[],
  options: SubmissionOptions,
): Promise<TaskSubmission> {
  const { tag, session, timeout, queueTimeout } = options;
  if (!tag) throw createUsageError('Say with --tag which agents may take the task.');
  const sources = createSources(desk.stdin, (line) => desk.screen.say(line));
  const payload = await Promise.race([readPayload(parts, sources), rejectOnAbort(desk.interrupts.first)]);
  return {
    task_type: type,
    task_tags: [...tag],
    payload,
    ...(session !== undefined && { cli_session_id: session }),
    ...(timeout !== undefined && { timeout }),
    ...(queueTimeout !== undefined && { queue_timeout: queueTimeout }),
  };
}

/** Who is waiting for standard input must be able to leave. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new AbortError(signal.reason)), { once: true });
  });
}

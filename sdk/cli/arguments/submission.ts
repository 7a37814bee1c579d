/** The arguments and options that describe a task, shared by `run` and `task submit`. */
import { type Command, Option } from 'commander';
import type { TaskSubmission } from '../../contract.ts';
import { AbortError } from '../../errors.ts';
import type { CommandContext } from '../command-context.ts';
import { createUsageError } from '../exit-codes.ts';
import { rejectOnAbort } from '../interrupts.ts';
import { collectValue, parseSeconds, parseSecondsOrZero } from './option-values.ts';
import { createSources, readPayload } from './payload.ts';

export type SubmissionOptions = {
  readonly tag?: readonly string[];
  readonly session?: string;
  /** In seconds. */
  readonly timeout?: number;
  /** In seconds. */
  readonly queueTimeout?: number;
  readonly idempotencyKey?: string;
};

/**
 * Adds the arguments and options to a command, and returns it. `queueDefault` says in the help how long a
 * task waits for an agent without --queue-timeout.
 */
export function addSubmissionOptions(command: Command, queueDefault: string): Command {
  return command
    .argument('<type>', 'type of the task')
    .argument('[payload...]', 'key=text, key:=json, {…}, @file.json, or - for standard input')
    .addOption(
      new Option('-t, --tag <tag>', 'agents with this tag may take the task (repeatable)').argParser(
        collectValue,
      ),
    )
    .option('-s, --session <id>', 'session whose event stream reports the outcome of the task')
    .option('--timeout <seconds>', 'fail the task after this time (default: 600)', parseSeconds)
    .option(
      '--queue-timeout <seconds>',
      `let the task wait this long for an agent (default: ${queueDefault})`,
      parseSecondsOrZero,
    )
    .option('--idempotency-key <key>', 'return the first task submitted with this key');
}

/**
 * Builds the task to submit, from arguments, files and standard input. Throws usage errors, and `AbortError`
 * on Ctrl-C.
 */
export async function readSubmission(
  { terminal, stdin, interrupts }: CommandContext,
  type: string,
  parts: readonly string[],
  options: SubmissionOptions,
): Promise<TaskSubmission> {
  const { tag, session, timeout, queueTimeout } = options;
  if (!tag) throw createUsageError('Give --tag: agents with that tag may take the task.');
  const sources = createSources(stdin, (line) => terminal.log(line));
  const payload = await readPayload(parts, {
    ...sources,
    // Ctrl-C must still work while the command waits for standard input.
    readStdin() {
      const aborted = rejectOnAbort(interrupts.first, () => new AbortError(interrupts.first.reason));
      return Promise.race([sources.readStdin(), aborted]);
    },
  });
  return {
    task_type: type,
    task_tags: [...tag],
    payload,
    ...(session !== undefined && { cli_session_id: session }),
    ...(timeout !== undefined && { timeout }),
    ...(queueTimeout !== undefined && { queue_timeout: queueTimeout }),
  };
}

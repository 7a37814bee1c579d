/** `task output`: prints the output that a task's agent has written, and follows it. */
import type { Command } from 'commander';
import { AbortError } from '../../errors.ts';
import { describeCommand } from '../arguments/answer.ts';
import { parseIndex } from '../arguments/option-values.ts';
import { resolveTaskId } from '../arguments/task-ids.ts';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import { CommandError } from '../exit-codes.ts';
import { createPiecePrinter } from '../terminal/pieces.ts';
import { logNotice } from './events.ts';

type OutputOptions = { readonly follow?: boolean; readonly after: number };

const EXAMPLES = `
Prints texts as the agent wrote them and data as lines of JSON. With -o json or -o jsonl each piece is one object on one
line, {"n":4,"text":"…"}, and so is the end of a task that is over: {"n":5,"end":true,"status":"success",…}. After a lost
connection -f goes on with the next piece. To continue in a later call, give the last n to --after. Exits with 0 also if
the task failed; "task wait" has the exit codes of "run".

Examples:
  $ task-gateway task output "$id"
  $ task-gateway task output "$id" -f -o jsonl | jq --unbuffered -r '.text // empty'`;

export function addTaskOutput(parent: Command, context: CommandContext): void {
  parent
    .command('output')
    .summary('print the output of a task, and follow it')
    .description(
      'Prints what the agent of a task has written so far; with -f also what it writes from now on.',
    )
    .argument('<request_id>', 'id of the task')
    .option('-f, --follow', 'print what is written later too, until the task has ended')
    .option('--after <number>', 'print only the pieces after this one', parseIndex, 0)
    .addHelpText('after', EXAMPLES)
    .action((id: string, options: OutputOptions, command: Command) =>
      printTaskOutput(context, id, options, command),
    );
}

async function printTaskOutput(
  context: CommandContext,
  id: string,
  { follow = false, after }: OutputOptions,
  command: Command,
): Promise<void> {
  const { terminal, interrupts } = context;
  const connection = connectCommand(context, command);
  const request_id = await resolveTaskId(connection, id, interrupts.first);
  const pieces = createPiecePrinter(terminal, getOutputFormat(command), (question) =>
    describeCommand(request_id, question),
  );
  let last = after;
  const reading = connection.client.readOutput(request_id, {
    after,
    follow,
    signal: interrupts.first,
    onNotice: (notice) => logNotice(terminal, notice),
  });
  try {
    for await (const piece of reading) {
      await pieces.print(piece);
      last = piece.n;
    }
  } catch (error) {
    if (!(error instanceof AbortError)) throw error;
    throw new CommandError(interrupts.exitCode(), `Interrupted. Continue with --after ${last}`);
  }
}

/** `events`: prints the events of a session as JSON lines, first the stored ones, then new ones. */
import type { Command } from 'commander';
import { AbortError } from '../../errors.ts';
import type { FeedNotice } from '../../stream/follow.ts';
import { parseCount } from '../arguments/option-values.ts';
import { type CommandContext, connectCommand } from '../command-context.ts';
import type { GlobalOptions } from '../connection.ts';
import { CommandError, createUsageError } from '../exit-codes.ts';
import { renderJson } from '../terminal/output.ts';
import type { Terminal } from '../terminal/terminal.ts';

type EventsOptions = { readonly after?: string; readonly count?: number };

const EXAMPLES = `
Each line is one event with its cursor in front: {"cursor":"…","event":"task_done","request_id":…}. After a lost
connection the command reconnects and continues with the next event. To continue in a later call, give the cursor of
the last line to --after; a cursor that is unknown or too old prints all stored events.

Examples:
  $ task-gateway events nightly
  $ task-gateway events nightly --after "$(tail -1 seen.jsonl | jq -r .cursor)" >> seen.jsonl
  $ task-gateway events nightly -n 1 | jq .result`;

export function addEventsCommand(program: Command, context: CommandContext): void {
  program
    .command('events')
    .summary('print the events of a session as JSON lines')
    .description(
      'Prints the task_done events of a session as JSON lines: the stored events, then new ones as they arrive.',
    )
    .argument('<session>', 'the cli_session_id that the tasks were submitted with')
    .option('--after <cursor>', 'print only the events after this one')
    .option('-n, --count <number>', 'exit after this many events', parseCount)
    .addHelpText('after', EXAMPLES)
    .action((session: string, options: EventsOptions, command: Command) => {
      const { output = 'jsonl' } = command.optsWithGlobals<GlobalOptions>();
      if (output !== 'jsonl') throw createUsageError('"events" prints JSON lines only: leave out -o.');
      return printEvents(context, session, options, command);
    });
}

async function printEvents(
  context: CommandContext,
  session: string,
  options: EventsOptions,
  command: Command,
): Promise<void> {
  const { terminal, interrupts } = context;
  const { after, count = Number.POSITIVE_INFINITY } = options;
  const { client } = connectCommand(context, command);
  const events = client.subscribeEvents(session, {
    signal: interrupts.first,
    lastEventId: after,
    onNotice: (notice) => logNotice(terminal, notice),
  });
  let printed = 0;
  try {
    for await (const event of events) {
      await terminal.print(renderJson({ cursor: events.lastEventId ?? null, ...event }, 'jsonl'));
      printed += 1;
      if (printed >= count) return;
    }
  } catch (error) {
    if (!(error instanceof AbortError)) throw error;
    const advice = events.lastEventId ? ` Continue with --after ${events.lastEventId}` : '';
    throw new CommandError(interrupts.exitCode(), `Interrupted.${advice}`);
  }
}

/** Says on standard error how a stream's connection changes. */
export function logNotice(terminal: Pick<Terminal, 'log'>, notice: FeedNotice): void {
  switch (notice.kind) {
    case 'open':
      return;
    case 'gap':
      terminal.log('Older events are no longer stored: get their tasks with "task-gateway task get".');
      return;
    case 'down': {
      const seconds = Math.ceil(notice.retryInMs / 100) / 10;
      terminal.log(`${notice.error.message} Reconnecting in ${seconds} s.`);
    }
  }
}

/** `events`: the ends of a session's tasks as JSON lines, those stored and those that come. */
import type { Command } from 'commander';
import { AbortError } from '../../errors.ts';
import type { FeedNotice } from '../../stream/follow.ts';
import type { GlobalOptions } from '../connection.ts';
import { CommandError, createUsageError } from '../exit-codes.ts';
import { renderJson } from '../terminal/outcome.ts';
import type { Screen } from '../terminal/terminal.ts';
import { connectFor, type Desk, parseCount } from './context.ts';

type EventsOptions = { readonly after?: string; readonly count?: number };

const EXAMPLES = `
Each line is one event of the contract with its place in front: {"cursor":"…","event":"task_done","request_id":…}.
A lost connection is opened again and goes on where it was. --after goes on behind a line that was read before; a
cursor that is not known (any more) gives everything that is stored.

Examples:
  $ task-gateway events nightly
  $ task-gateway events nightly --after "$(tail -1 seen.jsonl | jq -r .cursor)" >> seen.jsonl
  $ task-gateway events nightly -n 1 | jq .result`;

/** Adds `events`. */
export function addEventsCommand(program: Command, desk: Desk): void {
  program
    .command('events')
    .summary('follow the ends of a session’s tasks as JSON lines')
    .description(
      'Prints the task_done events of a session, a JSON line each: those stored, then those that come.',
    )
    .argument('<session>', 'the cli_session_id the tasks were submitted with')
    .option('--after <cursor>', 'go on behind this event')
    .option('-n, --count <number>', 'end after so many events', parseCount)
    .addHelpText('after', EXAMPLES)
    .action((session: string, options: EventsOptions, command: Command) => {
      const { output = 'jsonl' } = command.optsWithGlobals<GlobalOptions>();
      if (output !== 'jsonl') throw createUsageError('Events are printed as JSON lines only: leave -o out.');
      return followEvents(desk, session, options, command);
    });
}

async function followEvents(
  desk: Desk,
  session: string,
  options: EventsOptions,
  command: Command,
): Promise<void> {
  const { screen, interrupts } = desk;
  const { after, count = Number.POSITIVE_INFINITY } = options;
  const { client } = connectFor(desk, command);
  const events = client.subscribeEvents(session, {
    signal: interrupts.first,
    lastEventId: after,
    onNotice: (notice) => tellNotice(screen, notice),
  });
  let seen = 0;
  try {
    for await (const event of events) {
      await screen.print(renderJson({ cursor: events.lastEventId ?? null, ...event }, 'jsonl'));
      seen += 1;
      if (seen >= count) return;
    }
  } catch (error) {
    if (!(error instanceof AbortError)) throw error;
    const advice = events.lastEventId ? ` Go on with --after ${events.lastEventId}` : '';
    throw new CommandError(interrupts.exitCode(), `Interrupted.${advice}`);
  }
}

function tellNotice({ say }: Pick<Screen, 'say'>, notice: FeedNotice): void {
  switch (notice.kind) {
    case 'open':
      return;
    case 'gap':
      say('Older events are not kept any more: look at their tasks with "task-gateway task get".');
      return;
    case 'down':
      say(`${notice.error.message} Next attempt in ${Math.ceil(notice.retryInMs / 100) / 10} s.`);
  }
}

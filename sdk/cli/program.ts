/** The whole command line: its options and commands, and how a run of it ends. */
import { Command, CommanderError, Option } from 'commander';
import { AbortError } from '../errors.ts';
import type { CommandContext } from './command-context.ts';
import { addAgentDrain } from './commands/agent-drain.ts';
import { addAgentExec } from './commands/agent-exec.ts';
import { addAgentList } from './commands/agent-list.ts';
import { addAgentShow } from './commands/agent-show.ts';
import { addCompletionCommands } from './commands/completion.ts';
import { addConfigCommands } from './commands/config.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addEventsCommand } from './commands/events.ts';
import { addMatchCommand } from './commands/explain.ts';
import { addOverviewCommand } from './commands/overview.ts';
import { addRunCommand } from './commands/run.ts';
import { addTaskCommands } from './commands/task.ts';
import { DEFAULT_URL, type GlobalOptions } from './connection.ts';
import { describeError, EXIT_CODES } from './exit-codes.ts';
import { createInterrupts } from './interrupts.ts';
import { OUTPUT_FORMATS } from './terminal/output.ts';
import { indentLines } from './terminal/safe-text.ts';
import { createTerminal } from './terminal/terminal.ts';
import { VERSION } from './version.ts';

const NAME = 'task-gateway';

const HELP = `
Environment:
  TASK_GATEWAY_URL         address of the gateway (default: ${DEFAULT_URL})
  TASK_GATEWAY_AUTH        gateway secret
  TASK_GATEWAY_ADMIN_AUTH  admin secret, needed by "overview", "task list" and "agent list"
  TASK_GATEWAY_CONTEXT     context to use instead of these three; see "config"
  TASK_GATEWAY_CONFIG      file of the contexts (default: task-gateway/config.json in ~/.config)
  TRACEPARENT, TRACESTATE  trace of the tasks that "run" and "task submit" submit (W3C Trace Context)
  NO_COLOR                 print without colours

Exit codes:
  0 success   1 other failure   2 wrong usage   3 wait timed out   4 secret missing or wrong
  5 task failed   6 no agent available   7 task not found   130 Ctrl-C   141 output not read

Examples:
  $ ${NAME} doctor
  $ ${NAME} agent exec --tag hello -- jq -r '"Hello, " + .name'
  $ ${NAME} run greet name=Ada --tag hello`;

/** Builds the command line, and parses nothing yet. */
export function createProgram(context: CommandContext): Command {
  const { terminal } = context;
  const program: Command = new Command(NAME)
    .description('Submit tasks to a Task Gateway, follow them, and run agents.')
    .version(VERSION, '-V, --version', 'print the version')
    .option('--url <url>', 'address of the gateway')
    .option('--context <name>', 'context of the configuration file to use')
    .option('--auth <secret>', 'gateway secret; other users can see it in the process list')
    .option('--admin-auth <secret>', 'admin secret; other users can see it in the process list')
    .option('--auth-file <file>', 'read the secrets from this file; the safe way')
    .addOption(new Option('-o, --output <format>', 'output format').choices(OUTPUT_FORMATS))
    .option('--debug', 'log each request and response to standard error, without secrets')
    .addHelpText('after', HELP)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void terminal.print(text),
      writeErr: (text) => terminal.logLines(text.trimEnd()),
      outputError: (text, write) => write(`${NAME}: ${explainUsage(text, suggestGroups(program, text))}`),
    })
    .exitOverride();
  addRunCommand(program, context);
  addTaskCommands(program, context);
  addMatchCommand(program, context);
  addEventsCommand(program, context);
  addOverviewCommand(program, context);
  const agent = program.command('agent').summary('list, show or drain agents, or run a program as one');
  agent.description('Lists agents, shows or drains one, or runs a program as an agent.');
  addAgentList(agent, context);
  addAgentShow(agent, context);
  addAgentDrain(agent, context);
  addAgentExec(agent, context);
  addConfigCommands(program, context);
  addDoctorCommand(program, context);
  addCompletionCommands(program, context);
  return program;
}

/**
 * Puts a message of the parser on one line, without the values of options: a mistyped option may have a
 * secret as its value. `suggestion` is a sentence that replaces the parser's own.
 */
export function explainUsage(text: string, suggestion = ''): string {
  const line = (suggestion ? text.replace(/\(Did you mean [^)]*\)/, '') : text)
    .replace(/^error: /, '')
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ');
  const safe = line.replaceAll(/'(--?[\w-]+)=[^']*'/g, "'$1=…'");
  return `${safe}${/[.)]$/.test(safe) ? '' : '.'}${suggestion && ` ${suggestion}`} See --help.`;
}

/** Names the commands of groups that have the name of an unknown command: `get` is `task get`. */
function suggestGroups(program: Command, text: string): string {
  const [, name] = /unknown command '([^']*)'/.exec(text) ?? [];
  const found = program.commands.flatMap((group) =>
    group.commands.filter((one) => one.name() === name).map((one) => `"${group.name()} ${one.name()}"`),
  );
  return found.length === 0 ? '' : `Did you mean ${found.join(' or ')}?`;
}

/** Parses the arguments and runs the command. Returns the exit code; it has logged all errors by then. */
export async function runProgram(context: CommandContext, words: readonly string[]): Promise<number> {
  const { terminal } = context;
  const program = createProgram(context);
  try {
    await program.parseAsync([...words], { from: 'user' });
    return EXIT_CODES.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
    const failure = describeError(error);
    const { text, hint } = failure;
    terminal.logLines(`${terminal.err.paint('red', `${NAME}:`)} ${indentLines(text)}`);
    if (hint) terminal.log(`  ${hint}`);
    if (program.opts<GlobalOptions>().debug && error instanceof Error) terminal.logLines(error.stack ?? '');
    return error instanceof AbortError ? context.interrupts.exitCode() : failure.exitCode;
  }
}

/** Runs the command of this process, then exits. */
export async function main(): Promise<void> {
  const { stdout, stderr, stdin, env } = process;
  // The reader of standard output may close it early, as `head` does. Mostly that is not a failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.exit(EXIT_CODES.other);
    if (!interrupts.loseReader()) process.exit(EXIT_CODES.ok);
  });
  stderr.on('error', () => undefined);
  const terminal = createTerminal(stdout, stderr, env);
  const exitNow = (exitCode: number): void => {
    terminal.showStatus('');
    process.exit(exitCode);
  };
  const hasTerminal = [stdin, stdout, stderr].some(({ isTTY }) => isTTY);
  const isBelowNpm = env.npm_command !== undefined;
  const interrupts = createInterrupts(process, exitNow, {
    hasTerminal,
    ...(isBelowNpm && { readParent: () => process.ppid }),
  });
  const exitCode = await runProgram({ terminal, env, stdin, interrupts }, process.argv.slice(2));
  // Writes complete in order, so this empty one completes after all earlier ones.
  await terminal.print('').catch(() => undefined);
  process.exit(exitCode);
}

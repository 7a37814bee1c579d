/** The command line as a whole: its options, its commands, and how it ends. */
import { Command, CommanderError, Option } from 'commander';
import { addAgentList } from './commands/agents.ts';
import { addCompletionCommands } from './commands/completion.ts';
import type { Desk } from './commands/context.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addEventsCommand } from './commands/events.ts';
import { addAgentExec } from './commands/exec.ts';
import { addRunCommand } from './commands/run.ts';
import { addTaskCommands } from './commands/tasks.ts';
import { type GlobalOptions, OUTPUT_FORMATS } from './connection.ts';
import { EXITS, judgeError } from './exit-codes.ts';
import { createInterrupts } from './interrupts.ts';
import { createScreen } from './terminal/terminal.ts';
import { cleanText } from './terminal/width.ts';
import { VERSION } from './version.ts';

const NAME = 'task-gateway';

const ENVIRONMENT = `
Environment:
  TASK_GATEWAY_URL         the gateway's address (http://127.0.0.1:8080 without)
  TASK_GATEWAY_AUTH        the gateway secret
  TASK_GATEWAY_ADMIN_AUTH  the administrator's secret, for the listings
  NO_COLOR                 no colours

Exit codes:
  0 done   1 other failure   2 wrong usage   3 wait over   4 secret missing or wrong
  5 task failed   6 no agent could take the task   7 no such task   130 Ctrl-C

Examples:
  $ ${NAME} doctor
  $ ${NAME} agent exec --tag hello -- jq -r '"Hello, " + .name'
  $ ${NAME} run greet name=Ada --tag hello`;

/** Builds the commands. Nothing is parsed yet. */
export function createProgram(desk: Desk): Command {
  const program = new Command(NAME)
    .description('Hand tasks to a Task Gateway, follow them, and serve them.')
    .version(VERSION, '-V, --version', 'print the version')
    .option('--url <url>', 'where the gateway is')
    .option('--auth <secret>', 'the gateway secret; other users may see it in the list of processes')
    .option('--admin-auth <secret>', 'the administrator’s secret; the same holds')
    .option('--auth-file <file>', 'a file with the secrets: the safe way')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(OUTPUT_FORMATS))
    .option('--debug', 'tell every exchange with the gateway, without secrets')
    .addHelpText('after', ENVIRONMENT)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void desk.screen.print(text),
      writeErr: (text) => desk.screen.say(text.trimEnd()),
      outputError: (text, write) => write(`${NAME}: ${explainUsage(text)}`),
    })
    .exitOverride();
  addRunCommand(program, desk);
  addTaskCommands(program, desk);
  addEventsCommand(program, desk);
  const agent = program.command('agent').summary('list agents, make a program one');
  agent.description('Agents: those that do the work.');
  addAgentList(agent, desk);
  addAgentExec(agent, desk);
  addDoctorCommand(program, desk);
  addCompletionCommands(program, desk);
  return program;
}

/** The parser's words on one line; a value is never repeated, for it may be a secret behind a mistyped name. */
export function explainUsage(text: string): string {
  const line = text
    .replace(/^error: /, '')
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ');
  const safe = line.replaceAll(/'(--?[\w-]+)=[^']*'/g, "'$1=…'");
  return `${safe}${/[.)]$/.test(safe) ? '' : '.'} See --help.`;
}

/** Parses and runs; answers the exit code and has said what there is to say. */
export async function runProgram(desk: Desk, words: readonly string[]): Promise<number> {
  const program = createProgram(desk);
  try {
    await program.parseAsync([...words], { from: 'user' });
    return EXITS.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXITS.ok : EXITS.usage;
    const { exitCode, text } = judgeError(error);
    desk.screen.say(`${desk.screen.err.paint('red', `${NAME}:`)} ${cleanText(text)}`);
    if (program.opts<GlobalOptions>().debug && error instanceof Error) desk.screen.say(error.stack ?? '');
    return exitCode;
  }
}

/** Runs the command of this process and ends it. */
export async function main(): Promise<void> {
  const { stdout, stderr, stdin, env } = process;
  // Whoever read the output has left: there is nobody to tell anything.
  stdout.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? EXITS.ok : EXITS.other),
  );
  stderr.on('error', () => undefined);
  const screen = createScreen(stdout, stderr, env);
  const leave = (exitCode: number): void => {
    screen.show('');
    process.exit(exitCode);
  };
  const interrupts = createInterrupts(process, leave, { hasTerminal: screen.err.isTerminal });
  const exitCode = await runProgram({ screen, env, stdin, interrupts }, process.argv.slice(2));
  // What is written is written in order: this comes after all of it.
  await screen.print('');
  process.exit(exitCode);
}

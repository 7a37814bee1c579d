/** `doctor`: checks everything between this machine and an agent, and says what to do about each fault. */
import type { Command } from 'commander';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import type { Connection } from '../connection.ts';
import { diagnoseCalls } from '../doctor/call-checks.ts';
import {
  diagnoseAgents,
  diagnoseClock,
  diagnoseGateway,
  diagnoseSecret,
  type Finding,
} from '../doctor/checks.ts';
import { diagnoseRoundTrip } from '../doctor/round-trip.ts';
import { CommandError, EXIT_CODES } from '../exit-codes.ts';
import { renderJson } from '../terminal/output.ts';
import { cleanText } from '../terminal/safe-text.ts';
import type { Colour, Terminal } from '../terminal/terminal.ts';

const SYMBOLS: Readonly<Record<Finding['state'], readonly [symbol: string, colour: Colour]>> = {
  right: ['✓', 'green'],
  wrong: ['✗', 'red'],
  note: ['–', 'yellow'],
};

type DoctorOptions = { readonly runTask?: boolean };

const EXAMPLES = `
It registers an agent for a second and makes the calls of one; the agent has a tag of its own, so it gets no task. It
leaves nothing in the listings. With --run-task it also runs a task on such an agent; that task stays listed like any
other. Exit codes: 0 nothing is wrong, 4 a secret is wrong, 1 something else is wrong.

Example:
  $ task-gateway doctor --url https://gateway.example`;

export function addDoctorCommand(program: Command, context: CommandContext): void {
  const { terminal, interrupts } = context;
  program
    .command('doctor')
    .summary('check the connection, the secrets, the event stream and the agents')
    .description('Checks everything between this machine and an agent, and says what to do.')
    .option('--run-task', 'also run a task, which stays in the listing of tasks')
    .addHelpText('after', EXAMPLES)
    .action(async ({ runTask = false }: DoctorOptions, command: Command) => {
      const connection = connectCommand(context, command, true);
      const format = getOutputFormat(command);
      const findings: Finding[] = [];
      for await (const finding of runChecks(connection, interrupts.first, runTask)) {
        findings.push(finding);
        if (format === 'table') await terminal.print(renderFinding(terminal, finding));
        if (format === 'jsonl') await terminal.print(renderJson(finding, format));
      }
      if (format === 'json') await terminal.print(renderJson(findings, format));
      requireNothingWrong(findings);
    });
}

/** Yields the findings one by one. If a check finds something wrong, skips those that make no sense then. */
async function* runChecks(
  connection: Connection,
  signal: AbortSignal,
  runTask: boolean,
): AsyncGenerator<Finding, void, undefined> {
  const gateway = await diagnoseGateway(connection, signal);
  yield* gateway;
  if (gateway[0]?.state === 'wrong') return;
  const secret = await diagnoseSecret(connection, signal);
  yield secret;
  yield* await diagnoseAgents(connection, signal);
  if (secret.state === 'wrong') return;
  yield* await diagnoseClock(connection, signal);
  yield* await diagnoseCalls(connection, signal);
  if (runTask) yield await diagnoseRoundTrip(connection, signal);
}

function renderFinding({ out }: Terminal, { state, text, advice }: Finding): string {
  const [symbol, colour] = SYMBOLS[state];
  return `${out.paint(colour, symbol)} ${cleanText(text)}${advice && ` ${advice}`}\n`;
}

function requireNothingWrong(findings: readonly Finding[]): void {
  const wrong = findings.filter(({ state }) => state === 'wrong');
  if (wrong.length === 0) return;
  const isSecret = wrong.some(({ check }) => check === 'gateway secret' || check === 'admin secret');
  const count = wrong.length === 1 ? 'One check' : `${wrong.length} checks`;
  throw new CommandError(isSecret ? EXIT_CODES.auth : EXIT_CODES.other, `${count} failed: see above.`);
}

/**
 * Runs many command lines in one process, one after the other, with its real terminal: what the command does
 * except for its start, which takes most of the time of a process. Each argument is a command line.
 */
import { createInterrupts } from '../../sdk/cli/interrupts.ts';
import { runProgram } from '../../sdk/cli/program.ts';
import { createTerminal } from '../../sdk/cli/terminal/terminal.ts';

const { stdout, stderr, stdin, env } = process;
const terminal = createTerminal(stdout, stderr, env);
for (const line of process.argv.slice(2)) {
  const interrupts = createInterrupts({ on: () => undefined }, () => undefined);
  await runProgram({ terminal, env, stdin, interrupts }, line.split(' '));
}
await terminal.print('');
process.exit();

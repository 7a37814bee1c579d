/** The context of a command that runs inside the test's process: its outputs are collected as text. */
import type { CommandContext } from '../../sdk/cli/command-context.ts';
import { createInterrupts } from '../../sdk/cli/interrupts.ts';
import { createTerminal } from '../../sdk/cli/terminal/terminal.ts';

/** Creates a context without a terminal and without input; only PATH is in its environment. */
export function createTestContext() {
  const written = { stdout: '', stderr: '' };
  const createStream = (name: keyof typeof written) => ({
    write(text: string, done?: () => void) {
      written[name] += text;
      done?.();
    },
  });
  const env = { PATH: process.env.PATH };
  const context: CommandContext = {
    env,
    terminal: createTerminal(createStream('stdout'), createStream('stderr'), env),
    stdin: (async function* () {})(),
    interrupts: createInterrupts({ on: () => undefined }, () => undefined),
  };
  return { context, written };
}

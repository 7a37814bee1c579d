/** A real terminal whose shell finds the command and its gateway: for tests that type into it. */
import { onTestFinished } from 'vitest';
import { writeLauncher } from './cli-process.ts';
import { env, folder } from './gateway-fixture.ts';
import { openTerminal, type TmuxTerminal } from './tmux-terminal.ts';

/** Opens a terminal, which the end of the test closes, and types a line. */
export async function typeLine(
  line: string,
  more: Readonly<Record<string, string>> = {},
  columns = 100,
): Promise<TmuxTerminal> {
  const path = `${folder}:${process.env.PATH}`;
  writeLauncher(folder);
  const terminal = openTerminal({ PATH: path, HOME: folder, ...env, ...more }, columns);
  onTestFinished(() => terminal.close());
  await terminal.waitForText(/^ready>/m);
  terminal.press(line);
  terminal.press('Enter');
  return terminal;
}

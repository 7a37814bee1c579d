/** What a command works with: the terminal, the environment, Ctrl-C, and from its options a gateway. */
import { type Command, InvalidArgumentError } from 'commander';
import { type Connection, connect, type GlobalOptions, type OutputFormat } from '../connection.ts';
import type { Interrupts } from '../interrupts.ts';
import type { Screen } from '../terminal/terminal.ts';

export type Desk = {
  readonly screen: Screen;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };
  readonly interrupts: Interrupts;
};

/** The gateway a command was told to call. */
export function connectFor(desk: Desk, command: Command): Connection {
  return connect(command.optsWithGlobals<GlobalOptions>(), desk.env, desk.screen);
}

/** How a command was told to print. */
export function formatFor(command: Command): OutputFormat {
  return command.optsWithGlobals<GlobalOptions>().output ?? 'table';
}

/** An option's value as seconds above 0, decimals allowed. */
export function parseSeconds(text: string): number {
  return demandNumber(text, (value) => value > 0, 'Give seconds above 0, like 30 or 0.5.');
}

/** An option's value as seconds, 0 included. */
export function parseSecondsOrNone(text: string): number {
  return demandNumber(text, (value) => value >= 0, 'Give seconds, like 30 or 0.');
}

/** An option's value as a whole number above 0. */
export function parseCount(text: string): number {
  return demandNumber(
    text,
    (value) => Number.isSafeInteger(value) && value > 0,
    'Give a whole number above 0.',
  );
}

function demandNumber(text: string, isFit: (value: number) => boolean, advice: string): number {
  const value = /^[-+.\d]/.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(value) && isFit(value)) return value;
  throw new InvalidArgumentError(advice);
}

/** Gathers an option that may be given several times. */
export function gather(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/**
 * Runs the command line within the test's process: what a process does but for its start, which takes most of
 * the time of a command. Its outputs are collected as text, and none of them is a terminal.
 */
import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { vi } from 'vitest';
import type { CommandContext } from '../../sdk/cli/command-context.ts';
import { createInterrupts } from '../../sdk/cli/interrupts.ts';
import { runProgram } from '../../sdk/cli/program.ts';
import { createTerminal } from '../../sdk/cli/terminal/terminal.ts';

/** Longer than any command of these tests takes, even on a busy machine. */
const LOG_TIMEOUT_MS = 15_000;

/** How a command exited and what it wrote. */
export type CommandExit = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type CommandOptions = {
  /** The environment; besides, only PATH is in it. */
  readonly env?: Readonly<Record<string, string>>;
  /** The standard input; empty by default. */
  readonly input?: string | Uint8Array;
};

export type RunningCommand = {
  stdout(): string;
  stderr(): string;
  /** Resolves once the text is on standard error. */
  waitForLog(text: string | RegExp): Promise<void>;
  waitForExit(): Promise<CommandExit>;
  /** Sends a signal; within this process, the command is told that it has come. */
  signal(name: 'SIGINT' | 'SIGTERM'): void;
};

/** A command line in one text is split at its blanks. */
export function toWords(line: string | readonly string[]): readonly string[] {
  return typeof line === 'string' ? line.split(' ') : line;
}

/** Resolves once what was written has the text. */
export async function waitForText(text: string | RegExp, read: () => string): Promise<void> {
  const look = (): void => {
    if (read().match(text) === null) throw new Error(`Only logged:\n${read()}`);
  };
  await vi.waitFor(look, { timeout: LOG_TIMEOUT_MS, interval: 20 });
}

/** The values of an output that is JSON lines. */
export function parseLines(text: string) {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** Creates the context of a command; `exitNow` is called when its process would end at once. */
export function createTestContext(
  { env, input = '' }: CommandOptions = {},
  exitNow: (exitCode: number) => void = () => undefined,
) {
  const written = { stdout: '', stderr: '' };
  const signals = new EventEmitter();
  const createStream = (name: keyof typeof written) => ({
    write(text: string, done?: () => void) {
      written[name] += text;
      done?.();
    },
  });
  const context: CommandContext = {
    env: { PATH: process.env.PATH, ...env },
    terminal: createTerminal(createStream('stdout'), createStream('stderr'), {}),
    stdin: Readable.from(input.length > 0 ? [Buffer.from(input)] : []),
    interrupts: createInterrupts(signals, exitNow),
  };
  return { context, written, signals };
}

/** Starts a command. */
export function startCommand(line: string | readonly string[], options?: CommandOptions): RunningCommand {
  const left = Promise.withResolvers<number>();
  const { context, written, signals } = createTestContext(options, left.resolve);
  const code = Promise.race([runProgram(context, toWords(line)), left.promise]);
  return {
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    waitForLog: (text) => waitForText(text, () => written.stderr),
    waitForExit: async () => ({ code: await code, ...written }),
    signal: (name) => void signals.emit(name),
  };
}

/** Runs a command until it exits. */
export function runCommand(line: string | readonly string[], options?: CommandOptions): Promise<CommandExit> {
  return startCommand(line, options).waitForExit();
}

/** The context of every command, and how it gets its gateway and its output format from the options. */
import type { Command } from 'commander';
import { type Connection, connect, type GlobalOptions } from './connection.ts';
import type { Interrupts } from './interrupts.ts';
import type { OutputFormat } from './terminal/output.ts';
import type { Environment, Terminal } from './terminal/terminal.ts';

/** Standard input, as bytes. `isTTY` says that a person types it. */
export type Stdin = AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };

export type CommandContext = {
  readonly terminal: Terminal;
  readonly env: Environment;
  readonly stdin: Stdin;
  readonly interrupts: Interrupts;
};

/**
 * Connects to the gateway that the options, the environment and the configuration file name. With
 * `needsAdmin` the command is useless without the admin secret. Throws usage errors.
 */
export function connectCommand(context: CommandContext, command: Command, needsAdmin = false): Connection {
  return connect(command.optsWithGlobals<GlobalOptions>(), context.env, context.terminal, needsAdmin);
}

/** Returns the output format of a command, by default `table`. */
export function getOutputFormat(command: Command): OutputFormat {
  return command.optsWithGlobals<GlobalOptions>().output ?? 'table';
}

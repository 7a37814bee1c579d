/** What may stand at a place of the command line: asked for by the completion scripts, answered from the commands. */
import type { Command, Option } from 'commander';

/** A word and what it means. */
export type Suggestion = { readonly word: string; readonly meaning: string };

/**
 * What may stand for the last of the words, which may be empty or begun. Nothing where only the user knows; the shell
 * then offers files.
 */
export function suggest(program: Command, words: readonly string[]): readonly Suggestion[] {
  const current = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  if (before.includes('--')) return [];
  const { command, open, operands } = walk(program, before);
  return listAt(program, command, open, operands, current).filter(({ word }) => word.startsWith(current));
}

/** The command the words lead to, the option that waits for its value, and how many operands came. */
function walk(
  program: Command,
  words: readonly string[],
): { command: Command; open: Option | undefined; operands: number } {
  let command = program;
  let open: Option | undefined;
  let operands = 0;
  for (const word of words) {
    if (open) {
      open = undefined;
      continue;
    }
    if (word.startsWith('-') && word !== '-') {
      const option = listOptions(program, command).find(({ long, short }) => word === long || word === short);
      open = option?.required ? option : undefined;
      continue;
    }
    const next = listCommands(command).find((one) => one.name() === word);
    if (next) command = next;
    else operands += 1;
  }
  return { command, open, operands };
}

function listAt(
  program: Command,
  command: Command,
  open: Option | undefined,
  operands: number,
  current: string,
): readonly Suggestion[] {
  if (open) return describeChoices(open.argChoices);
  if (current.startsWith('-') && current !== '-') {
    return listOptions(program, command).flatMap(({ long, description }) =>
      long ? [{ word: long, meaning: description }] : [],
    );
  }
  const commands = listCommands(command).map((one) => ({ word: one.name(), meaning: one.summary() }));
  return [...commands, ...describeChoices(command.registeredArguments[operands]?.argChoices)];
}

function listOptions(program: Command, command: Command): readonly Option[] {
  return [...new Set([...command.options, ...program.options])].filter(({ hidden }) => !hidden);
}

function listCommands(command: Command): readonly Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((one) => one.name() !== 'help');
}

function describeChoices(choices: readonly string[] | undefined): readonly Suggestion[] {
  return (choices ?? []).map((word) => ({ word, meaning: '' }));
}

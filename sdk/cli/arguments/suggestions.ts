/**
 * Lists what can complete a command line, by the definitions of the commands. The completion scripts call it.
 */
import type { Command, Option } from 'commander';

/** A word that can be inserted, with a short explanation, which may be empty. */
export type Suggestion = { readonly word: string; readonly meaning: string };

/**
 * Returns the words that can replace the last one, which may be empty or incomplete. Returns none where any
 * value is possible; the shell then offers files.
 */
export function listSuggestions(program: Command, words: readonly string[]): readonly Suggestion[] {
  const current = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  if (before.includes('--')) return [];
  const candidates = listCandidates(program, parseWords(program, before), current);
  return candidates.filter(({ word }) => word.startsWith(current));
}

type ParsedWords = {
  readonly command: Command;
  /** The last word, if it is an option that still needs its value. */
  readonly openOption: Option | undefined;
  /** How many arguments of the command were given. */
  readonly argumentCount: number;
};

function parseWords(program: Command, words: readonly string[]): ParsedWords {
  let command = program;
  let openOption: Option | undefined;
  let argumentCount = 0;
  for (const word of words) {
    if (openOption) {
      openOption = undefined;
      continue;
    }
    if (word.startsWith('-') && word !== '-') {
      const option = listOptions(program, command).find(({ long, short }) => word === long || word === short);
      openOption = option?.required ? option : undefined;
      continue;
    }
    const subcommand = listCommands(command).find((candidate) => candidate.name() === word);
    if (subcommand) command = subcommand;
    else argumentCount += 1;
  }
  return { command, openOption, argumentCount };
}

function listCandidates(
  program: Command,
  { command, openOption, argumentCount }: ParsedWords,
  current: string,
): readonly Suggestion[] {
  if (openOption) return listChoices(openOption.argChoices);
  if (current.startsWith('-') && current !== '-') {
    return listOptions(program, command).flatMap(({ long, description }) =>
      long ? [{ word: long, meaning: description }] : [],
    );
  }
  const commands = listCommands(command).map((child) => ({ word: child.name(), meaning: child.summary() }));
  return [...commands, ...listChoices(command.registeredArguments[argumentCount]?.argChoices)];
}

function listOptions(program: Command, command: Command): readonly Option[] {
  return [...new Set([...command.options, ...program.options])].filter(({ hidden }) => !hidden);
}

function listCommands(command: Command): readonly Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help');
}

function listChoices(choices: readonly string[] | undefined): readonly Suggestion[] {
  return (choices ?? []).map((word) => ({ word, meaning: '' }));
}

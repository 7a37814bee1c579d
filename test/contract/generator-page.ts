/**
 * The page `generated/generate-a-client.md` as its tests read it: a row of the table and a section for each
 * generator, with the commands that a reader copies.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readBlocks } from '../harness/readme-blocks.ts';

export const PAGE = readFileSync(join(import.meta.dirname, '../../generated/generate-a-client.md'), 'utf8');

/** A package as a command of npm names it, such as `zod@3.25.76`. */
type Installed = { readonly name: string; readonly version: string };

/** What the page says of one generator. */
export type GeneratorSection = {
  readonly name: string;
  /** The packages that generate, the generator's own first. */
  readonly installed: readonly Installed[];
  /** The packages that the generated client imports. */
  readonly imported: readonly Installed[];
  /** The command and its options, the document being `openapi.json`. */
  readonly command: string;
  readonly options: readonly string[];
  /** The files it reads beside the document, by their names. */
  readonly files: Readonly<Record<string, string>>;
  /** The first program over the client. */
  readonly program: string;
};

/** A row of the table, as it is written. */
export type GeneratorRow = {
  readonly name: string;
  readonly version: string;
  readonly gives: string;
  readonly imported: readonly string[];
};

/** The rows of the table, in their order. */
export function readRows(): readonly GeneratorRow[] {
  const rows = PAGE.matchAll(/^\| \[([^\]]+)\]\(#[\w-]+\) \| (\S+) \| ([^|]+) \| ([^|]+) \|$/gm);
  return [...rows].map(([, name = '', version = '', gives = '', imported = '']) => {
    return { name, version, gives, imported: imported.match(/(?<=`)[^`,\s]+(?=`)/g) ?? [] };
  });
}

/** The commands for other languages, in their order. */
export function readLanguageCommands(): readonly string[] {
  const blocks = readBlocks(PAGE.slice(PAGE.indexOf('\n## Other languages\n')));
  const scripts = blocks.filter(({ language }) => language === 'sh');
  return scripts.flatMap(({ text }) =>
    text
      .replaceAll(/\\\n\s*/g, '')
      .trim()
      .split('\n'),
  );
}

/** The last of them that has this part. */
export function readCommand(part: string): string {
  const command = readLanguageCommands().findLast((line) => line.includes(part));
  if (command === undefined) throw new Error(`The page has no command with "${part}".`);
  return command;
}

/** The sections with a command, in their order. */
export function readSections(): readonly GeneratorSection[] {
  return PAGE.split(/^## /m)
    .filter((text) => text.includes('\nnpx '))
    .map(readSection);
}

function readSection(text: string): GeneratorSection {
  const blocks = readBlocks(text);
  const script = blocks.find(({ language }) => language === 'sh')?.text.replaceAll('\\\n', ' ') ?? '';
  const lines = script.split('\n').map((line) => line.split(/\s+/));
  const [, ...words] = lines.find(([first]) => first === 'npx') ?? [];
  const [command = '', ...options] = words;
  const installs = lines.filter(([first, second]) => first === 'npm' && second === 'install');
  const isForDevelopment = (line: readonly string[]): boolean => line.includes('--save-dev');
  return {
    name: text.slice(0, text.indexOf('\n')),
    installed: installs.filter(isForDevelopment).flatMap((line) => readPackages(line.slice(3))),
    imported: installs
      .filter((line) => !isForDevelopment(line))
      .flatMap((line) => readPackages(line.slice(2))),
    command,
    options,
    files: Object.fromEntries(
      blocks.filter(({ role }) => role.endsWith('.mjs')).map((b) => [b.role, b.text]),
    ),
    program: blocks.find(({ role }) => role === 'call.ts')?.text ?? '',
  };
}

function readPackages(words: readonly string[]): readonly Installed[] {
  return words.map((word) => {
    const at = word.lastIndexOf('@');
    return { name: word.slice(0, at), version: word.slice(at + 1) };
  });
}

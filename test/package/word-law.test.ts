/** The words and the English of the sources obey their laws, and each rule notices what breaks it. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { countEnglish, findOpenings, findWorse, readComments } from './english-law.ts';
import { openRepository } from './repository.ts';
import { FILE_WORDS, findWords } from './word-law.ts';
import { WORD_RULES } from './word-rules.ts';

const { files, sources, read } = openRepository();
/** The law quotes the words it forbids. */
const LAW = /^test\/package\/word-(law|rules)/;
const worded = [...sources, ...files.filter((file) => /^(spec|server)\/.*\.(tsp|lua)$/.test(file))];

describe('words', () => {
  test('are used for one thing, and one thing has one word', () => {
    const used = worded
      .filter((file) => !LAW.test(file))
      .flatMap((file) =>
        findWords(file, read(file)).map(
          ({ rule, line, found }) => `${file}:${line} "${found}": write ${rule.instead}`,
        ),
      );
    expect(used).toEqual([]);
  });

  test.each(WORD_RULES)('the law bites: $word', (rule) => {
    const file = [
      'server/gateway/one.ts',
      'server/http/one.ts',
      'server/engines/redis/one.ts',
      'test/one.ts',
    ].find((path) => rule.within?.test(path) ?? true);
    expect(findWords(file ?? '', rule.bites).map((use) => use.rule)).toContain(rule);
    if (rule.spares !== undefined) expect(findWords(file ?? '', rule.spares)).toEqual([]);
  });

  test('the law bites in Lua and TypeSpec', () => {
    expect(findWords('server/one.lua', '-- the roster\nlocal ear = 1')).toHaveLength(2);
    expect(findWords('spec/one.tsp', '/** Nobody is\n    told. */\nmodel A {}')).toHaveLength(2);
  });
});

describe('names of files', () => {
  test('hold none of the words that were given up', () => {
    expect(files.filter((file) => FILE_WORDS.test(file))).toEqual([]);
  });

  test.each(['server/gateway/roster.ts', 'test/resilience/lived-in.ts', 'test/engines/due.chapter.ts'])(
    'the law bites: %s',
    (file) => {
      expect(file).toMatch(FILE_WORDS);
    },
  );
});

describe('the English of comments', () => {
  const spoken = worded.filter((file) =>
    /^(server\/(?!console\/)|sdk\/|spec\/).*\.(ts|tsx|js|lua)$/.test(file),
  );
  const commentsOf = new Map(spoken.map((file) => [file, readComments(file, read(file))]));

  test('opens no sentence with "What"', () => {
    const opened = spoken.flatMap((file) =>
      findOpenings(commentsOf.get(file) ?? []).map((text) => `${file} "${text}": say who does what, when`),
    );
    expect(opened).toEqual([]);
  });

  test('gets worse in no folder; its committed rates are in english-rates.json', () => {
    const rates = JSON.parse(
      readFileSync(join(import.meta.dirname, 'english-rates.json'), 'utf8'),
    ) as Readonly<Record<string, readonly [chains: number, conditions: number]>>;
    const folders = [...new Set(spoken.map((file) => dirname(file)))];
    const worse = folders.flatMap((folder) => {
      const files = spoken.filter((file) => dirname(file) === folder);
      const [chains, conditions] = rates[folder] ?? [];
      const committed = chains === undefined || conditions === undefined ? undefined : { chains, conditions };
      const counts = countEnglish(files.flatMap((file) => commentsOf.get(file) ?? []));
      return findWorse(counts, committed).map((found) => `${folder}: ${found}`);
    });
    expect(worse).toEqual([]);
  });

  test.each([
    ['// What waits is woken.', 1],
    ['/** Wakes it. What\n * waits is woken. */', 1],
    ['/**\n * What waits is woken,\n * and runs.\n */', 1],
    ['// It says what waits.', 0],
  ])('the law bites a sentence that opens so: %s', (text, openings) => {
    expect(findOpenings(readComments('one.ts', text))).toHaveLength(openings);
  });

  test('the law bites a folder that gets worse, not one within the bounds', () => {
    const counts = { words: 1_000, chains: 12, openings: 0, conditions: 5, examples: 0 };
    expect(findWorse(counts, { chains: 90, conditions: 80 })).toHaveLength(2);
    expect(findWorse(counts, { chains: 110, conditions: 60 })).toEqual([]);
    expect(findWorse({ ...counts, chains: 7, conditions: 9 }, undefined)).toEqual([]);
  });
});

/** The words of the sources obey the law, and each of its rules notices what breaks it. */
import { describe, expect, test } from 'vitest';
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

/**
 * No function, file or comment is larger than the law allows, no object literal is spread without a
 * condition, and the laws notice what is.
 */
import { describe, expect, test } from 'vitest';
import { openRepository } from './repository.ts';
import {
  COMMENT_COLUMNS_MAX,
  countLines,
  FILE_LINES_MAX,
  FUNCTION_LINES_MAX,
  findSpreadLiterals,
  findWideComments,
  measureFunctions,
} from './size-law.ts';

const { files, sources, read } = openRepository();
/** The contract, the scripts of Redis and the package for Python, too. */
const others = /^((spec|server)\/.*\.(tsp|lua)|sdk\/python\/.*(?<!\/contract)\.py)$/;
const written = [...sources, ...files.filter((file) => others.test(file))];

describe('functions', () => {
  test(`run at most ${FUNCTION_LINES_MAX} lines of statements`, () => {
    const long = sources.flatMap((file) =>
      measureFunctions(file, read(file))
        .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
        .map(({ name, line, lines }) => `${file}:${line} ${name} has ${lines} lines`),
    );
    expect(long).toEqual([]);
  });

  const longest = (file: string, text: string): number =>
    Math.max(0, ...measureFunctions(file, text).map(({ lines }) => lines));
  const filling = 'call();\n'.repeat(FUNCTION_LINES_MAX);

  test.each([
    ['a closure', `const make = () => {\nreturn () => {\n${filling}};\n};`],
    ['a test', `test('title', async () => {\n${filling}});`],
    ['a function that only is called describeLong', `function describeLong() {\n${filling}}`],
  ])('the law bites: %s', (_title, text) => {
    expect(longest('test/one.test.ts', text)).toBeGreaterThan(FUNCTION_LINES_MAX);
  });

  test.each([
    [
      'the object that a factory returns',
      'one.ts',
      `function create() {\nreturn {\n${'a: 1,\n'.repeat(100)}};\n}`,
    ],
    [
      'the functions within',
      'one.ts',
      `function create() {\n${'const a = () => {\ncall();\n};\n'.repeat(40)}}`,
    ],
    ['a describe of each', 'one.test.ts', `describe.each(STORES)('on %s', () => {\n${filling}});`],
    ['a suite of several engines', 'one.suite.ts', `export function describeDue() {\n${filling}}`],
  ])('the law spares %s', (_title, file, text) => {
    expect(longest(file, text)).toBeLessThan(FUNCTION_LINES_MAX);
  });
});

describe('files', () => {
  test(`have at most ${FILE_LINES_MAX} lines`, () => {
    const long = written.filter((file) => countLines(read(file)) > FILE_LINES_MAX);
    expect(long).toEqual([]);
  });
});

describe('comments', () => {
  test(`have at most ${COMMENT_COLUMNS_MAX} columns`, () => {
    const wide = written.flatMap((file) =>
      findWideComments(file, read(file)).map((line) => `${file}:${line}`),
    );
    expect(wide).toEqual([]);
  });

  const wide = 'x'.repeat(COMMENT_COLUMNS_MAX);

  test.each([
    ['a block', 'a.ts', `/**\n * ${wide}\n */`, [2]],
    ['Lua', 'a.lua', `-- ${wide}`, [1]],
    ['Python', 'a.py', `# ${wide}`, [1]],
    ['TypeSpec', 'a.tsp', `model A {}\n// ${wide}`, [2]],
  ])('the law bites: %s', (_title, file, text, lines) => {
    expect(findWideComments(file, text)).toEqual(lines);
  });

  test('the law spares code, and what only looks like a comment', () => {
    expect(findWideComments('a.ts', `const a = 'http://${wide}';\nconst b = /\\/\\*${wide}/;`)).toEqual([]);
  });
});

describe('object literals', () => {
  test('are spread only under a condition', () => {
    const spread = sources.flatMap((file) =>
      findSpreadLiterals(file, read(file)).map((line) => `${file}:${line}`),
    );
    expect(spread).toEqual([]);
  });

  test('the law bites a literal in a literal, but no condition and no value that has a name', () => {
    expect(findSpreadLiterals('a.ts', 'const a = {\n  ...{ b: 1, c: 2 },\n  d: 3,\n};')).toEqual([2]);
    expect(findSpreadLiterals('a.ts', 'const a = { ...(b && { c: 1 }), ...d };')).toEqual([]);
  });
});

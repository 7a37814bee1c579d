/** Names of files, what each file opens with, and marks that must not stay. */
import { basename, dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findMistakes, SUITES } from '../suites.ts';
import { openRepository } from './repository.ts';

const { files, sources, read } = openRepository();

describe('names', () => {
  /** Names that say nothing of what a file holds. */
  const magnets = /(^|[/-])(utils?|helpers?|common|types|base|managers?|misc|lib)[-./]/i;

  test('no file is called utils, helpers, common, types, base or manager', () => {
    expect(sources.filter((file) => magnets.test(file))).toEqual([]);
    expect('sdk/call-helpers.ts').toMatch(magnets);
  });

  test('no two files of the tests have one name', () => {
    const names = sources
      .filter((file) => /^test\/(?!bench\/peer\/)/.test(file))
      .map((path) => basename(path));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  test('only what belongs there stands at the top level', () => {
    const allowed = new Set([
      ...['package.json', 'package-lock.json', 'tsconfig.json', 'README.md', 'LICENSE', 'CHANGELOG.md'],
      ...['spec', 'generated', 'server', 'sdk', 'test', 'Dockerfile', 'compose.yaml'],
      'compose.replicas.yaml',
    ]);
    const top = new Set(files.map((file) => file.split('/')[0] ?? ''));
    expect([...top].filter((name) => !allowed.has(name) && !name.startsWith('.'))).toEqual([]);
  });
});

describe('files that comments of the server name', () => {
  const named = /(?<![\w./*-])((?:[\w-]+\/)*[\w-]+\.(?:tsx?|lua))\b/g;

  /** A file is named from a folder on the way up to `server/`, or it stands in the folder or below it. */
  const findLost = (file: string, comment: string): readonly string[] => {
    const folders = dirname(file).split('/');
    const roots = folders.map((_, index) => folders.slice(0, index + 1).join('/'));
    return [...comment.matchAll(named)].flatMap(([, name = '']) => {
      const isThere =
        files.includes(name) ||
        roots.some((root) => files.includes(`${root}/${name}`)) ||
        files.some((other) => other.startsWith(`${dirname(file)}/`) && other.endsWith(`/${name}`));
      return isThere ? [] : [`${file} names ${name}`];
    });
  };

  test('are there', () => {
    const own = files.filter((file) => /^server\/.*\.(tsx?|lua)$/.test(file));
    const comments = own.map(
      (file) => [file, read(file).match(/\/\*[\s\S]*?\*\/|(\/\/|--).*$/gm) ?? []] as const,
    );
    expect(comments.flatMap(([file, all]) => all.flatMap((one) => findLost(file, one)))).toEqual([]);
  });

  test('are missed where they are not', () => {
    expect(findLost('server/gateway/gateway.ts', 'the real clock (`server/duty.ts`)')).toHaveLength(1);
  });
});

describe('contents', () => {
  const opens = /^\s*(\/\*\*|\/\/|\/\*)/;

  test('every source file opens with what it holds', () => {
    const silent = sources.filter((file) => !opens.test(read(file).replace(/^#!.*\n/, '')));
    expect(silent).toEqual([]);
  });

  const marks = new RegExp(
    [
      `\\b${'TO'}DO\\b`,
      `\\b${'FIX'}ME\\b`,
      `\\b${'XX'}X\\b`,
      `@ts-${'ignore'}`,
      `@ts-${'nocheck'}`,
      `biome-${'ignore'}`,
      `\\.${'only'}\\(`,
    ].join('|'),
  );

  test('no postponed work, no silenced checks, no focused or skipped tests', () => {
    expect(sources.filter((file) => marks.test(read(file)))).toEqual([]);
    for (const text of [`// ${'TO'}DO`, `// @ts-${'ignore'}`, `test.${'only'}('')`])
      expect(text).toMatch(marks);
  });
});

describe('sections of the specification', () => {
  const findCitations = (file: string, text: string): readonly string[] =>
    text
      .split('\n')
      .flatMap((line, index) =>
        line.includes('§') && !file.startsWith('test/') ? [`${file}:${index + 1}`] : [],
      );

  test('are cited in the tests alone', () => {
    const isOurs = (file: string): boolean => !file.startsWith('generated/docs/swagger-ui');
    const texts = files.filter(
      (file) => /\.(ts|tsx|js|tsp|lua|md|json|ya?ml|html)$/.test(file) && isOurs(file),
    );
    expect(texts.flatMap((file) => findCitations(file, read(file)))).toEqual([]);
  });

  test('are found where they may not be', () => {
    expect(findCitations('server/main.ts', '// see §4.7')).toEqual(['server/main.ts:1']);
    expect(findCitations('spec/tasks.tsp', '/** See §4.7. */')).toEqual(['spec/tasks.tsp:1']);
    expect(findCitations('spec/tasks.tsp', '  // §4.7 asks for it')).toEqual(['spec/tasks.tsp:1']);
  });
});

test('no module but a suite calls a hook as it is loaded, because suites share modules', () => {
  const fixtures = sources.filter((file) => file.startsWith('test/') && !/\.test\.ts$/.test(file));
  expect(fixtures.filter((file) => /^(before|after)(All|Each)\(/m.test(read(file)))).toEqual([]);
});

describe('the list of the test files', () => {
  test('has each file once, and a reason and smaller parts for those that npm test leaves out', () => {
    expect(findMistakes()).toEqual([]);
  });

  test('has those that run on each store in both groups: in memory, and on Redis', () => {
    const each = sources.filter(
      (file) => /\.test\.ts$/.test(file) && /^describeEachStore\(/m.test(read(file)),
    );
    const stores = SUITES.filter(({ file }) => each.includes(file)).map(({ runs }) =>
      [runs.quick, runs.ci].map((run) => run?.counts.GATEWAY_STORES),
    );
    expect(stores).toEqual(each.map(() => ['memory', 'redis']));
  });

  const one = { file: 'a', runs: { ci: { seconds: 1, counts: {} } }, reason: 'long', parts: [] };
  test.each([
    ['a file that is not listed', [], 'a is not listed: add its line'],
    ['a file that is not there', [one, { ...one, file: 'b' }], 'b is not there'],
    ['a file that is listed twice', [one, { ...one }], 'a is listed twice'],
    ['no reason', [{ ...one, reason: '' }], 'a needs a reason why "npm test" leaves it out'],
    ['a part that is long too', [{ ...one, parts: ['a'] }], 'a: "npm test" does not run a'],
  ])('the law bites: %s', (_what, suites, mistake) => {
    expect(findMistakes(suites, ['a'])).toEqual([mistake]);
  });
});

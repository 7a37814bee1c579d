/**
 * The rules of the house that can be executed: who may import whom, names, sizes, marks that must not stay.
 * The layers are data; a file that belongs to none fails.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const ROOT = new URL('../..', import.meta.url).pathname;
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '');
const sources = files.filter(
  (file) => /^(server|sdk|test|spec)\/.*\.(ts|tsx|js)$/.test(file) && !file.endsWith('.d.ts'),
);

/** A file imports from a lower rank or from its own folder, never sideways, never up. */
const RANKS: readonly { readonly folder: string; readonly rank: number }[] = [
  { folder: 'generated', rank: 0 },
  { folder: 'server/domain', rank: 1 },
  { folder: 'server/ports', rank: 2 },
  { folder: 'server/async', rank: 3 },
  { folder: 'server/gateway', rank: 4 },
  { folder: 'server/engines', rank: 4 },
  { folder: 'server/push', rank: 4 },
  { folder: 'server/system', rank: 4 },
  { folder: 'server/http', rank: 4 },
  { folder: 'server', rank: 5 },
  { folder: 'sdk', rank: 1 },
  { folder: 'spec', rank: 1 },
  { folder: 'test', rank: 6 },
];

type Import = { readonly from: string; readonly specifier: string; readonly target: string };

function layerOf(file: string): { folder: string; rank: number } | undefined {
  return RANKS.find(({ folder }) => file === folder || file.startsWith(`${folder}/`));
}

function readImports(file: string): readonly Import[] {
  const info = ts.preProcessFile(readFileSync(join(ROOT, file), 'utf8'), true, true);
  return info.importedFiles.map(({ fileName }) => ({
    from: file,
    specifier: fileName,
    target: resolveTarget(file, fileName),
  }));
}

function resolveTarget(file: string, specifier: string): string {
  if (specifier.startsWith('.')) return normalize(join(dirname(file), specifier));
  if (specifier.startsWith('@task-gateway/contract')) return 'generated';
  if (specifier.startsWith('@task-gateway/sdk')) return 'sdk';
  if (specifier.startsWith('@task-gateway/server')) return 'server';
  return '';
}

/** The reason why an import breaks the law, or nothing. */
function judgeImport({ from, target }: Pick<Import, 'from' | 'target'>): string | undefined {
  if (target === '') return undefined;
  const mine = layerOf(from);
  const theirs = layerOf(target);
  if (!mine || !theirs) return `${from} → ${target}: belongs to no layer`;
  if (mine.folder === theirs.folder) return undefined;
  if (mine.folder === 'test') return undefined;
  if (mine.folder === 'sdk' || mine.folder === 'spec') {
    return theirs.folder === 'generated'
      ? undefined
      : `${from} → ${target}: ${mine.folder}/ sees only the contract`;
  }
  if (theirs.folder === 'sdk' || theirs.folder === 'spec')
    return `${from} → ${target}: the server does not see it`;
  return theirs.rank < mine.rank ? undefined : `${from} → ${target}: sideways or up`;
}

describe('the import law', () => {
  test('every import goes to a lower rank or stays in its folder', () => {
    const broken = sources.flatMap((file) => readImports(file).flatMap((one) => judgeImport(one) ?? []));
    expect(broken).toEqual([]);
  });

  test('the law bites', () => {
    expect(judgeImport({ from: 'server/domain/step.ts', target: 'server/ports/store.ts' })).toMatch(
      'sideways or up',
    );
    expect(judgeImport({ from: 'server/gateway/tasks.ts', target: 'server/http/app.ts' })).toMatch(
      'sideways or up',
    );
    expect(judgeImport({ from: 'sdk/client.ts', target: 'server/main.ts' })).toMatch(
      'sees only the contract',
    );
    expect(judgeImport({ from: 'server/main.ts', target: 'test/harness/fake-clock.ts' })).toMatch(
      'sideways or up',
    );
    expect(judgeImport({ from: 'server/http/app.ts', target: 'server/ports/store.ts' })).toBeUndefined();
  });

  test('the domain is pure: no async, no clock, no ids, no packages', () => {
    const impure = /\basync\b|\bawait\b|Date\.now|new Date|Math\.random|process\.|setTimeout|randomUUID/;
    for (const file of sources.filter((one) => one.startsWith('server/domain/'))) {
      const text = stripComments(readFileSync(join(ROOT, file), 'utf8'));
      expect(impure.exec(text)?.[0], file).toBeUndefined();
      for (const { specifier } of readImports(file))
        expect(specifier, file).toMatch(/^\.|^@task-gateway\/contract/);
    }
  });

  test('process.env is read by the entry and config alone', () => {
    const readers = sources.filter(
      (file) =>
        file.startsWith('server/') &&
        stripComments(readFileSync(join(ROOT, file), 'utf8')).includes('process.env'),
    );
    expect(readers.filter((file) => !/^server\/(main|config\/config)\.ts$/.test(file))).toEqual([]);
  });
});

describe('names and sizes', () => {
  test('no file is called utils, helpers, common, types, base or manager', () => {
    const magnets = /(^|[/-])(utils?|helpers?|common|types|base|managers?|misc|lib)[-./]/i;
    expect(sources.filter((file) => magnets.test(file) && !file.includes('/baseline/'))).toEqual([]);
  });

  test('no file is so long that somebody would fear to split it', () => {
    const long = sources
      .map((file) => ({ file, lines: readFileSync(join(ROOT, file), 'utf8').split('\n').length }))
      .filter(({ lines }) => lines > 330);
    expect(long).toEqual([]);
  });

  test('every source file opens with what it holds', () => {
    const silent = sources.filter((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8').replace(/^#!.*\n/, '');
      return !/^\s*(\/\*\*|\/\/|\/\*)/.test(text);
    });
    expect(silent).toEqual([]);
  });

  test('only what belongs there stands at the top level', () => {
    const allowed = new Set([
      ...['package.json', 'package-lock.json', 'tsconfig.json', 'README.md', 'LICENSE', 'CHANGELOG.md'],
      ...['spec', 'generated', 'server', 'sdk', 'test', 'Dockerfile', 'compose.yaml'],
    ]);
    const top = new Set(files.map((file) => file.split('/')[0] ?? ''));
    expect([...top].filter((name) => !allowed.has(name) && !name.startsWith('.'))).toEqual([]);
  });
});

describe('marks that must not stay', () => {
  test('no postponed work, no silenced checks, no focused or skipped tests', () => {
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
    const marked = sources.filter((file) => marks.test(readFileSync(join(ROOT, file), 'utf8')));
    expect(marked).toEqual([]);
  });
});

function stripComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

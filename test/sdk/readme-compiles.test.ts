/**
 * Every TypeScript block of every README compiles as a reader would have it: strictly, with
 * `exactOptionalPropertyTypes`, each as a module of its own.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const OPTIONS: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: true,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  types: ['node'],
  customConditions: ['task-gateway-source'],
  allowImportingTsExtensions: true,
};

/** The Markdown files of the repository, its packages' included. */
function listPages(): readonly string[] {
  const folders = ['.', 'generated', 'sdk', 'server', 'spec', 'test'];
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(ROOT, folder, name)),
  );
}

/** The blocks of a page as modules beside it, by a name that says where the block begins. */
function readBlocks(page: string): readonly (readonly [string, string])[] {
  const text = readFileSync(page, 'utf8');
  return [...text.matchAll(/^```(?:ts|typescript)\n([\s\S]*?)^```$/gm)].map(({ index, 1: block = '' }) => {
    const line = text.slice(0, index).split('\n').length + 1;
    return [join(dirname(page), `${relative(dirname(page), page)}.line-${line}.mts`), block];
  });
}

/** Compiles modules that exist in memory alone. Returns what the compiler says of them. */
function compile(modules: ReadonlyMap<string, string>): readonly string[] {
  const host = ts.createCompilerHost(OPTIONS);
  const { fileExists, readFile } = host;
  host.fileExists = (file) => modules.has(file) || fileExists(file);
  host.readFile = (file) => modules.get(file) ?? readFile(file);
  const program = ts.createProgram([...modules.keys()], OPTIONS, host);
  return [...modules.keys()].flatMap((file) => {
    const source = program.getSourceFile(file);
    return ts.getPreEmitDiagnostics(program, source).map(({ messageText, start = 0 }) => {
      const { line = 0 } = source?.getLineAndCharacterOfPosition(start) ?? {};
      const text = ts.flattenDiagnosticMessageText(messageText, '\n');
      return `${relative(ROOT, file)}, line ${line + 1} of the block: ${text}`;
    });
  });
}

test('Every TypeScript block of every README compiles, and one that does not would be found.', () => {
  const wrong = "import { createClient } from '@task-gateway/sdk';\nawait createClient().getTask(7);\n";
  const blocks = listPages().flatMap(readBlocks);
  expect(blocks.length).toBeGreaterThanOrEqual(9);
  expect(compile(new Map([...blocks, [join(ROOT, 'sdk/wrong.mts'), wrong]]))).toEqual([
    expect.stringMatching(/^sdk\/wrong\.mts, line 2 of the block: .*not assignable/),
  ]);
});

/**
 * The files of a checkout as the laws of this folder read them: their paths, their texts and their syntax.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, normalize } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '../..');

/**
 * An import of one file by another; `target` is empty where it names a package that is not of this
 * repository.
 */
export type Import = { readonly from: string; readonly specifier: string; readonly target: string };

export type Repository = {
  /** All files that are committed or could be. */
  readonly files: readonly string[];
  /** Those with code in server/, sdk/, spec/ and test/; declarations are not among them. */
  readonly sources: readonly string[];
  read(file: string): string;
  imports(file: string): readonly Import[];
};

/** Lists the files of a checkout of this repository. */
export function openRepository(root: string = ROOT): Repository {
  const files = listFiles(root, readIgnored(root));
  const read = (file: string): string => readFileSync(join(root, file), 'utf8');
  return {
    files,
    sources: files.filter(
      (file) => /^(server|sdk|test|spec)\/.*\.(ts|tsx|js)$/.test(file) && !file.endsWith('.d.ts'),
    ),
    read,
    imports: (file) => readImports(file, read(file)),
  };
}

/** The names of files and folders that Git leaves out. */
function readIgnored(root: string): readonly string[] {
  const lines = readFileSync(join(root, '.gitignore'), 'utf8').split('\n');
  return ['.git', ...lines.filter((line) => line !== '').map((line) => line.replace(/\/$/, ''))];
}

/** Without Git, which a machine that only runs the tests may lack. */
function listFiles(root: string, ignored: readonly string[], within = ''): readonly string[] {
  const entries = readdirSync(join(root, within), { withFileTypes: true });
  return entries
    .filter(({ name }) => !ignored.some((pattern) => matchesGlob(name, pattern)))
    .flatMap((entry) => {
      const path = join(within, entry.name);
      return entry.isDirectory() ? listFiles(root, ignored, path) : [path];
    });
}

/** Parses a source file; the nodes know their parents. */
export function parseSource(file: string, text: string): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
}

/** Calls `visit` with each node of a tree, the outer before the inner. */
export function visitNodes(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => visitNodes(child, visit));
}

/** The line a position is in, from 1. */
export function lineAt(source: ts.SourceFile, position: number): number {
  return source.getLineAndCharacterOfPosition(position).line + 1;
}

function readImports(file: string, text: string): readonly Import[] {
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => ({
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

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

/** A piece of a source file and the line it begins in. */
type Piece = { readonly text: string; readonly line: number };

/** The pieces of a source file that hold words. */
export type Pieces = {
  readonly identifiers: readonly Piece[];
  readonly comments: readonly Piece[];
  /** Literals and the fixed parts of templates. */
  readonly strings: readonly Piece[];
};

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

/** The identifiers, comments and strings of a source file in TypeScript, TypeSpec or Lua. */
export function readPieces(file: string, text: string): Pieces {
  return /\.(ts|tsx|js)$/.test(file) ? readSyntax(file, text) : readPlain(file, text);
}

function readSyntax(file: string, text: string): Pieces {
  const source = parseSource(file, text);
  const identifiers: Piece[] = [];
  const strings: Piece[] = [];
  const code: string[] = [];
  let end = 0;
  const mask = (node: ts.Node): void => {
    const from = node.getStart(source);
    code.push(text.slice(end, from), blank(text.slice(from, node.getEnd())));
    end = node.getEnd();
  };
  visitNodes(source, (node) => {
    const line = lineAt(source, node.getStart(source));
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) identifiers.push({ text: node.text, line });
    else if (ts.isRegularExpressionLiteral(node)) mask(node);
    else if (isText(node)) {
      mask(node);
      if (!isSpecifier(node)) strings.push({ text: node.text, line });
    }
  });
  code.push(text.slice(end));
  return { identifiers, strings, comments: findAll(code.join(''), /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g) };
}

function isText(node: ts.Node): node is ts.LiteralLikeNode {
  return (
    ts.isStringLiteral(node) ||
    ts.isNoSubstitutionTemplateLiteral(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddle(node) ||
    ts.isTemplateTail(node)
  );
}

function isSpecifier({ parent }: ts.Node): boolean {
  return ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent);
}

/** Without a parser: comments first, then strings in what is left, then words in what is left of that. */
function readPlain(file: string, text: string): Pieces {
  const comment = file.endsWith('.lua') ? /--\[\[[\s\S]*?\]\]|--[^\n]*/g : /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
  const string = /"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g;
  const code = text.replace(comment, blank);
  return {
    comments: findAll(text, comment),
    strings: findAll(code, string),
    identifiers: findAll(code.replace(string, blank), /[A-Za-z_]\w*/g),
  };
}

/** As many characters and lines, without anything to read. */
function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}

function findAll(text: string, pattern: RegExp): readonly Piece[] {
  let line = 1;
  let from = 0;
  return [...text.matchAll(pattern)].map(({ index, 0: found }) => {
    line += text.slice(from, index).split('\n').length - 1;
    from = index;
    return { text: found, line };
  });
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

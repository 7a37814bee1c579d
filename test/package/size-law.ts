/** How long a function, a file and a line of a comment may be, and where an object literal may be spread. */
import ts from 'typescript';
import { lineAt, parseSource, visitNodes } from './repository.ts';

export const FUNCTION_LINES_MAX = 80;
export const FILE_LINES_MAX = 320;
export const COMMENT_COLUMNS_MAX = 110;

export type FunctionLength = { readonly name: string; readonly line: number; readonly lines: number };

/**
 * The functions of a file, closures among them, with the lines of statements that run when they are called.
 * Functions within count for themselves, and the object literal that a factory returns counts nothing: a
 * factory of ten short methods is as readable as a class of them. Left out are the callbacks of `describe`,
 * and in a `*.suite.ts` the functions `describe…` that hold such a callback's content for several engines.
 */
export function measureFunctions(file: string, text: string): readonly FunctionLength[] {
  const source = parseSource(file, text);
  const found: FunctionLength[] = [];
  visitNodes(source, (node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return;
    const name = nameOf(node);
    if (isDescribeCallback(node)) return;
    if (file.endsWith('.suite.ts') && /^describe[A-Z]/.test(name)) return;
    const line = lineAt(source, node.getStart(source));
    found.push({ name, line, lines: countRunningLines(source, node) });
  });
  return found;
}

/** The lines of a function without those of the functions within it and of a returned object. */
function countRunningLines(source: ts.SourceFile, outer: ts.SignatureDeclaration): number {
  const first = lineAt(source, outer.getStart(source));
  const running = new Set(
    Array.from({ length: lineAt(source, outer.getEnd()) - first + 1 }, (_, index) => first + index),
  );
  const leaveOut = (node: ts.Node): void => {
    for (let line = lineAt(source, node.getStart(source)) + 1; line <= lineAt(source, node.getEnd()); line++)
      running.delete(line);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) || isReturnedObject(node)) leaveOut(node);
    else ts.forEachChild(node, visit);
  };
  ts.forEachChild(outer, visit);
  return running.size;
}

function isReturnedObject(node: ts.Node): boolean {
  return (
    ts.isObjectLiteralExpression(node) &&
    (ts.isReturnStatement(node.parent) || ts.isParenthesizedExpression(node.parent))
  );
}

/** Its own name, or that of what it is given to. */
function nameOf(node: ts.SignatureDeclaration): string {
  if (node.name) return node.name.getText();
  const { parent } = node;
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) return parent.name.getText();
  if (ts.isCallExpression(parent)) return `${parent.expression.getText().slice(0, 30)}(…)`;
  return 'anonymous';
}

/** Whether a function is given to `describe`, `describe.each(…)`, `describeEachStore` and the like. */
function isDescribeCallback({ parent }: ts.Node): boolean {
  if (!ts.isCallExpression(parent)) return false;
  let callee: ts.Expression = parent.expression;
  while (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) callee = callee.expression;
  return ts.isIdentifier(callee) && /^describe([A-Z]|$)/.test(callee.text);
}

/** The lines of a text; a last line without an end counts. */
export function countLines(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

/** The lines that hold nothing but a comment, or a part of one, and are wider than allowed. */
export function findWideComments(file: string, text: string): readonly number[] {
  const marks = { lua: /^\s*--/, py: /^\s*#/ };
  const comment = marks[file.split('.').at(-1) as 'lua' | 'py'] ?? /^\s*(\/\/|\/\*|\*)/;
  return text
    .split('\n')
    .flatMap((line, index) =>
      comment.test(line) && [...line].length > COMMENT_COLUMNS_MAX ? [index + 1] : [],
    );
}

/** Lines on which an object literal is spread into another one, although no condition asks for it. */
export function findSpreadLiterals(file: string, text: string): readonly number[] {
  const source = parseSource(file, text);
  const lines: number[] = [];
  visitNodes(source, (node) => {
    if (ts.isSpreadAssignment(node) && ts.isObjectLiteralExpression(node.expression))
      lines.push(lineAt(source, node.getStart(source)));
  });
  return lines;
}

/** Exports that no other file imports, counted without knip, so that any checkout can be measured alike. */
import { dirname, join, normalize } from 'node:path';
import ts from 'typescript';
import { parseSource, type Repository, visitNodes } from './repository.ts';

export type Export = { readonly file: string; readonly name: string };

/** What is published, and what is only compiled: their exports are for others. */
const ENTRIES = /^sdk\/(agent\/|testing\/)?index\.ts$|\.test-d\.ts$|\.check\.ts$/;

/**
 * The exports that are imported nowhere else. Default exports and published entries do not count, nor do
 * types that an exported function or value of their file names.
 */
export function findUnusedExports({ sources, read }: Repository): readonly Export[] {
  const used = new Set<string>();
  const exported: Export[] = [];
  for (const file of sources) {
    const source = parseSource(file, read(file));
    exported.push(...listExports(file, source));
    for (const { file: target, name } of listUses(file, source)) used.add(`${target}#${name}`);
  }
  return exported.filter(
    ({ file, name }) => !ENTRIES.test(file) && !used.has(`${file}#${name}`) && !used.has(`${file}#*`),
  );
}

function listExports(file: string, source: ts.SourceFile): readonly Export[] {
  const values = source.statements.filter((statement) => isExporting(statement) && !isType(statement));
  const isNamedByValue = (name: string): boolean =>
    values.some((value) => new RegExp(`\\b${name}\\b`).test(signatureOf(value)));
  return source.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) {
      if (statement.moduleSpecifier || !statement.exportClause) return [];
      if (!ts.isNamedExports(statement.exportClause)) return [];
      return statement.exportClause.elements.map(({ name }) => ({ file, name: name.text }));
    }
    if (!isExporting(statement)) return [];
    return namesOf(statement)
      .filter((name) => !isType(statement) || !isNamedByValue(name))
      .map((name) => ({ file, name }));
  });
}

/** Without the body of a function. */
function signatureOf(statement: ts.Statement): string {
  const end = ts.isFunctionDeclaration(statement) && statement.body ? statement.body.pos : statement.end;
  return statement.getSourceFile().text.slice(statement.pos, end);
}

function isType(statement: ts.Statement): boolean {
  return ts.isTypeAliasDeclaration(statement) || ts.isInterfaceDeclaration(statement);
}

function isExporting(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
  const kinds = modifiers.map(({ kind }) => kind);
  return kinds.includes(ts.SyntaxKind.ExportKeyword) && !kinds.includes(ts.SyntaxKind.DefaultKeyword);
}

function namesOf(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) =>
      ts.isIdentifier(name) ? [name.text] : [],
    );
  const isNamed =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement);
  return isNamed && statement.name ? [statement.name.text] : [];
}

/** The names a file takes from others; `*` for all of a file. */
function listUses(file: string, source: ts.SourceFile): readonly Export[] {
  const uses: Export[] = [];
  const use = (specifier: ts.Node | undefined, names: readonly string[]): void => {
    if (!specifier || !ts.isStringLiteral(specifier) || !specifier.text.startsWith('.')) return;
    const target = normalize(join(dirname(file), specifier.text));
    uses.push(...names.map((name) => ({ file: target, name })));
  };
  visitNodes(source, (node) => {
    if (ts.isImportDeclaration(node)) {
      const bindings = node.importClause?.namedBindings;
      const names = bindings && ts.isNamedImports(bindings) ? bindings.elements.map(nameTaken) : ['*'];
      use(node.moduleSpecifier, node.importClause ? names : []);
    } else if (ts.isExportDeclaration(node)) {
      const { exportClause } = node;
      const names =
        exportClause && ts.isNamedExports(exportClause) ? exportClause.elements.map(nameTaken) : ['*'];
      use(node.moduleSpecifier, names);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      use(node.arguments[0], ['*']);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      use(node.argument.literal, ['*']);
    }
  });
  return uses;
}

function nameTaken({ propertyName, name }: ts.ImportSpecifier | ts.ExportSpecifier): string {
  return (propertyName ?? name).text;
}

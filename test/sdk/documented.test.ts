/** Everything the SDK exports has a doc comment, because the API reference consists of nothing else. */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';

const SDK = dirname(fileURLToPath(new URL('../../sdk/index.ts', import.meta.url)));
const ENTRIES = ['index.ts', 'agent/index.ts', 'testing/index.ts'].map((file) => join(SDK, file));

/** Finds the exports, and members of exports, without a doc comment. */
function findUndocumented(): readonly string[] {
  const { config } = ts.readConfigFile(join(SDK, '../tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(SDK, '..'));
  const program = ts.createProgram(ENTRIES, options);
  const checker = program.getTypeChecker();
  const undocumented: string[] = [];
  const isOurs = (symbol: ts.Symbol): boolean =>
    symbol.declarations?.some((one) => one.getSourceFile().fileName.startsWith(`${SDK}/`)) ?? false;
  const check = (symbol: ts.Symbol, name: string): void => {
    if (isOurs(symbol) && symbol.getDocumentationComment(checker).length === 0) undocumented.push(name);
  };
  for (const entry of ENTRIES) {
    const file = program.getSourceFile(entry);
    const module = file && checker.getSymbolAtLocation(file);
    for (const exported of module ? checker.getExportsOfModule(module) : []) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      check(symbol, exported.name);
      // The parameters of functions and the inherited members of classes need no comment of their own.
      for (const member of symbol.members?.values() ?? []) check(member, `${exported.name}.${member.name}`);
      const [declared] = symbol.declarations ?? [];
      if (declared && ts.isTypeAliasDeclaration(declared) && ts.isTypeLiteralNode(declared.type)) {
        for (const member of checker.getTypeAtLocation(declared).getProperties()) {
          check(member, `${exported.name}.${member.name}`);
        }
      }
    }
  }
  return [...new Set(undocumented)].filter((name) => !/\.(__constructor|name|prototype)$/.test(name)).sort();
}

test('Every export of the entries has a doc comment, and so have its members.', () => {
  expect(findUndocumented()).toEqual([]);
});

/** What the kit exports says in a comment what it is and promises: the API reference is made of nothing else. */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';

const SDK = dirname(fileURLToPath(new URL('../../sdk/index.ts', import.meta.url)));
const ENTRIES = ['index.ts', 'agent/index.ts', 'testing/index.ts'].map((file) => join(SDK, file));

/** Names of what is exported, or a member of it, without a word. */
function findSilent(): readonly string[] {
  const { config } = ts.readConfigFile(join(SDK, '../tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(SDK, '..'));
  const program = ts.createProgram(ENTRIES, options);
  const checker = program.getTypeChecker();
  const silent: string[] = [];
  const isOurs = (symbol: ts.Symbol): boolean =>
    symbol.declarations?.some((one) => one.getSourceFile().fileName.startsWith(`${SDK}/`)) ?? false;
  const judge = (symbol: ts.Symbol, name: string): void => {
    if (isOurs(symbol) && symbol.getDocumentationComment(checker).length === 0) silent.push(name);
  };
  for (const entry of ENTRIES) {
    const file = program.getSourceFile(entry);
    const module = file && checker.getSymbolAtLocation(file);
    for (const exported of module ? checker.getExportsOfModule(module) : []) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      judge(symbol, exported.name);
      // Functions among the members speak for their parameters; what a class inherits speaks for itself.
      for (const member of symbol.members?.values() ?? []) judge(member, `${exported.name}.${member.name}`);
      const [declared] = symbol.declarations ?? [];
      if (declared && ts.isTypeAliasDeclaration(declared) && ts.isTypeLiteralNode(declared.type)) {
        for (const member of checker.getTypeAtLocation(declared).getProperties()) {
          judge(member, `${exported.name}.${member.name}`);
        }
      }
    }
  }
  return [...new Set(silent)].filter((name) => !/\.(__constructor|name|prototype)$/.test(name)).sort();
}

test('Everything the entries export is documented, and so are its members.', () => {
  expect(findSilent()).toEqual([]);
}, 60_000);

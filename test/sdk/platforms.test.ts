/** The client’s entry uses only what Node 20.19 and browsers have in common. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';

const SDK = fileURLToPath(new URL('../../sdk/', import.meta.url));

/** Collects the modules an entry imports: the SDK’s files, and the names of all others. */
function collectModules(entry: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(entry)) return seen;
  seen.add(entry);
  for (const { fileName } of ts.preProcessFile(readFileSync(entry, 'utf8')).importedFiles) {
    if (fileName.startsWith('.')) collectModules(join(dirname(entry), fileName), seen);
    else seen.add(fileName);
  }
  return seen;
}

const packages = (modules: ReadonlySet<string>) => [...modules].filter((one) => !one.startsWith('/')).sort();

test('The client’s entry imports no module of Node, and no package but the contract and openapi-fetch.', () => {
  const named = Object.keys(JSON.parse(readFileSync(join(SDK, 'package.json'), 'utf8')).dependencies);
  const imported = packages(collectModules(join(SDK, 'index.ts')));
  expect(imported).toEqual(['@task-gateway/contract', 'openapi-fetch']);
  expect(named).toEqual(expect.arrayContaining(imported));
});

test('The agent’s entry imports modules of Node, but no package that the client’s entry does not.', () => {
  const client = packages(collectModules(join(SDK, 'index.ts')));
  const agent = packages(collectModules(join(SDK, 'agent/index.ts')));
  expect(agent.filter((one) => !one.startsWith('node:'))).toEqual(client);
  expect(agent).toContain('node:http');
});

test('The client compiles without Node’s types, for a platform as old as Node 20.', () => {
  const { config } = ts.readConfigFile(join(SDK, 'tsconfig.build.json'), ts.sys.readFile);
  const parsed = ts.parseJsonConfigFileContent({ ...config, include: ['index.ts'] }, ts.sys, SDK);
  const options: ts.CompilerOptions = { ...parsed.options, noEmit: true, types: [], skipLibCheck: true };
  const found = ts.getPreEmitDiagnostics(ts.createProgram([join(SDK, 'index.ts')], options));
  expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
});

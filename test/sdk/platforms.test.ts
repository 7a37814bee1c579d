/** The client's entry leans on nothing but what Node 20.19 and browsers share. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';

const SDK = fileURLToPath(new URL('../../sdk/', import.meta.url));

/** All modules an entry leads to: our files and, by name, everything else. */
function follow(entry: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(entry)) return seen;
  seen.add(entry);
  for (const { fileName } of ts.preProcessFile(readFileSync(entry, 'utf8')).importedFiles) {
    if (fileName.startsWith('.')) follow(join(dirname(entry), fileName), seen);
    else seen.add(fileName);
  }
  return seen;
}

const packages = (modules: ReadonlySet<string>) => [...modules].filter((one) => !one.startsWith('/')).sort();

test('The client’s entry imports no module of Node, and no package but the contract and what sends its requests.', () => {
  const named = Object.keys(JSON.parse(readFileSync(join(SDK, 'package.json'), 'utf8')).dependencies);
  const imported = packages(follow(join(SDK, 'index.ts')));
  expect(imported).toEqual(['@task-gateway/contract', 'openapi-fetch']);
  expect(named).toEqual(expect.arrayContaining(imported));
});

test('The agent’s entry imports Node’s modules, and no package that the client does not.', () => {
  const client = packages(follow(join(SDK, 'index.ts')));
  const agent = packages(follow(join(SDK, 'agent/index.ts')));
  expect(agent.filter((one) => !one.startsWith('node:'))).toEqual(client);
  expect(agent).toContain('node:http');
});

test('The client compiles where there is no Node, for a platform as old as Node 20.', () => {
  const { config } = ts.readConfigFile(join(SDK, 'tsconfig.build.json'), ts.sys.readFile);
  const parsed = ts.parseJsonConfigFileContent({ ...config, include: ['index.ts'] }, ts.sys, SDK);
  const options: ts.CompilerOptions = { ...parsed.options, noEmit: true, types: [], skipLibCheck: true };
  const found = ts.getPreEmitDiagnostics(ts.createProgram([join(SDK, 'index.ts')], options));
  expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
}, 60_000);

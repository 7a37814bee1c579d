/** The imports of every source file obey the law, and the law notices what breaks it. */
import { describe, expect, test } from 'vitest';
import {
  explainImport,
  findBanned,
  findFolderCircles,
  KIT_ALONE,
  listEdges,
  TRANSPORT_FREE,
} from './import-law.ts';
import { openRepository } from './repository.ts';

const repository = openRepository();
const { sources, read, imports } = repository;
const edges = listEdges(repository);

describe('layers', () => {
  test('every import goes to a lower rank or stays in its folder', () => {
    const broken = sources.flatMap((file) => imports(file).flatMap((one) => explainImport(one) ?? []));
    expect(broken).toEqual([]);
  });

  test.each([
    ['server/domain/step.ts', 'server/ports/store.ts', 'sideways or up'],
    ['server/gateway/calls/get-task.ts', 'server/http/app.ts', 'sideways or up'],
    ['server/main.ts', 'test/harness/fake-clock.ts', 'sideways or up'],
    ['server/main.ts', 'sdk/client.ts', 'may not import from sdk/'],
    ['sdk/client.ts', 'server/main.ts', 'from the contract alone'],
    ['server/console/app.tsx', 'server/domain/step.ts', 'from the SDK alone'],
    ['server/main.ts', 'server/simulator/index.ts', 'sideways or up'],
    ['server/main.ts', 'somewhere/else.ts', 'belongs to no layer'],
  ])('the law bites: %s may not import %s', (from, target, reason) => {
    expect(explainImport({ from, target })).toMatch(reason);
  });
});

describe('whatever is between', () => {
  test('an operation knows neither node:http nor Koa', () => {
    expect(findBanned(TRANSPORT_FREE, imports)).toEqual([]);
  });

  test('the conformance kit imports nothing of this repository, and no package but the simulator', () => {
    expect(findBanned(KIT_ALONE, imports)).toEqual([]);
  });

  test('the law bites: a package, and a file of the server, are found behind another file', () => {
    const imported: Readonly<Record<string, readonly string[]>> = {
      'test/conformance/command.ts': ['test/conformance/a.ts', 'node:http'],
      'test/conformance/a.ts': ['ajv', 'server/main.ts', '@task-gateway/simulator'],
    };
    const read = (from: string) =>
      (imported[from] ?? []).map((one) => ({ from, specifier: one, target: one.includes('/') ? one : '' }));
    expect(findBanned(KIT_ALONE, read)).toEqual([
      'test/conformance/a.ts → ajv',
      'test/conformance/a.ts → server/main.ts',
    ]);
  });
});

describe('circles', () => {
  test('no children of a folder import each other in a circle', () => {
    expect(findFolderCircles(edges)).toEqual([]);
  });

  test('the law bites: files in a circle are found, and folders, though no two of their files are in one', () => {
    const circle = [
      { from: 'a/b/one.ts', target: 'a/c/two.ts' },
      { from: 'a/c/three.ts', target: 'a/b/four.ts' },
      { from: 'a/b/four.ts', target: 'a/b/five.ts' },
      { from: 'a/b/five.ts', target: 'a/b/four.ts' },
    ];
    expect(findFolderCircles(circle)).toEqual(['a/: b/ ↔ c/', 'a/b/: five.ts ↔ four.ts']);
    expect(findFolderCircles(circle.slice(1, 3))).toEqual([]);
  });
});

describe('purity', () => {
  test('the domain is pure: no async, no clock, no ids, no packages', () => {
    const impure = /\basync\b|\bawait\b|Date\.now|new Date|Math\.random|process\.|setTimeout|randomUUID/;
    for (const file of sources.filter((one) => one.startsWith('server/domain/'))) {
      expect(impure.exec(stripComments(read(file)))?.[0], file).toBeUndefined();
      for (const { specifier } of imports(file))
        expect(specifier, file).toMatch(/^\.|^@task-gateway\/contract/);
    }
  });

  test('the plain store needs nothing of Node, and the simulator no other engine', () => {
    const specifiers = [...reachFrom('server/engines/plain/store.ts')].flatMap(imports);
    const packages = specifiers.filter(({ specifier }) => !specifier.startsWith('.'));
    expect(new Set(packages.map(({ specifier }) => specifier))).toEqual(new Set(['sorted-btree']));
    const engines = [...reachFrom('server/simulator/index.ts')].filter((file) => file.includes('/engines/'));
    expect(engines.filter((file) => /\/(sqlite|redis)\//.test(file))).toEqual([]);
    expect(engines).toContain('server/engines/plain/store.ts');
  });

  test('process.env is read by the entries and config alone', () => {
    const readers = sources.filter(
      (file) => file.startsWith('server/') && stripComments(read(file)).includes('process.env'),
    );
    const entries = /^server\/((main|backup|config\/config)\.ts|process-setup\.js|bin\/[\w-]+\.js)$/;
    expect(readers.filter((file) => !entries.test(file))).toEqual([]);
  });
});

/** A file and all that it imports, and so on. */
function reachFrom(file: string): ReadonlySet<string> {
  const reached = new Set([file]);
  // A set that grows while it is read is read to its end.
  for (const one of reached) for (const { from, target } of edges) if (from === one) reached.add(target);
  return reached;
}

function stripComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

/**
 * The house as a whole: its lines and arrows, its surface and its first page, each as one
 * row. `npm run house` prints it; nothing compares it.
 */
import ts from 'typescript';
import { type Edge, listEdges } from './import-law.ts';
import { parseSource, type Repository, visitNodes } from './repository.ts';
import { countLines } from './size-law.ts';

export type Row = readonly [title: string, value: number | string];

/** The rows for a checkout. */
export function measureWhole(repository: Repository): readonly Row[] {
  const { sources, files, read } = repository;
  const edges = listEdges(repository);
  const sum = (paths: readonly string[]): number =>
    paths.reduce((lines, path) => lines + countLines(read(path)), 0);
  const server = sources.filter((file) => /^server\/(?!console\/)/.test(file));
  const lua = files.filter((file) => file.endsWith('.lua'));
  const page = read('README.md');
  return [
    ['server without its console, lines', sum([...server, ...lua])],
    ['sdk, lines', sum(sources.filter((file) => file.startsWith('sdk/')))],
    ['test, lines', sum(sources.filter((file) => file.startsWith('test/')))],
    ...['server/gateway', 'server/engines/redis', 'server/engines/sqlite', 'server/http', 'sdk/cli'].map(
      (folder): Row => [`arrows between the children of ${folder}`, countChildArrows(edges, folder)],
    ),
    [
      'methods of the store port',
      countMembers('server/ports/store.ts', read('server/ports/store.ts'), 'Store'),
    ],
    [
      'operations, probes included',
      (read('generated/openapi/task-gateway.3.1.json').match(/"operationId":/g) ?? []).length,
    ],
    ['settings', countKeys('server/config/settings.ts', read('server/config/settings.ts'), 'settings')],
    ['README, lines · words', `${countLines(page)} · ${page.split(/\s+/).length}`],
  ];
}

/** Pairs of children of a folder, files or subfolders, of which one imports from the other. */
function countChildArrows(edges: readonly Edge[], folder: string): number {
  const childOf = (file: string): string | undefined =>
    file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined;
  const pairs = edges.flatMap(({ from, target }) => {
    const [mine, theirs] = [childOf(from), childOf(target)];
    return mine === undefined || theirs === undefined || mine === theirs ? [] : [`${mine} ${theirs}`];
  });
  return new Set(pairs).size;
}

/** Members of an object type that are called. */
function countMembers(file: string, text: string, name: string): number {
  let members = 0;
  visitNodes(parseSource(file, text), (node) => {
    if (ts.isTypeAliasDeclaration(node) && node.name.text === name && ts.isTypeLiteralNode(node.type))
      members = node.type.members.filter(ts.isMethodSignature).length;
  });
  return members;
}

/** Keys of an object that a constant holds. */
function countKeys(file: string, text: string, name: string): number {
  let keys = 0;
  visitNodes(parseSource(file, text), (node) => {
    if (!ts.isVariableDeclaration(node) || node.name.getText() !== name || !node.initializer) return;
    let value: ts.Expression = node.initializer;
    while (ts.isAsExpression(value) || ts.isSatisfiesExpression(value)) value = value.expression;
    if (ts.isObjectLiteralExpression(value)) keys = value.properties.length;
  });
  return keys;
}

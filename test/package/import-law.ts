/**
 * Who may import whom. Layers are data: a file imports from a lower rank or from its own folder, never
 * sideways, never up. And no circles between the children of any folder (its files and its subfolders).
 */
import type { Import, Repository } from './repository.ts';

/** The first folder that holds a file is its layer. */
const RANKS: readonly { readonly folder: string; readonly rank: number }[] = [
  { folder: 'generated', rank: 0 },
  { folder: 'server/domain', rank: 1 },
  { folder: 'server/ports', rank: 2 },
  { folder: 'server/async', rank: 3 },
  { folder: 'server/net', rank: 3 },
  { folder: 'server/gateway', rank: 4 },
  { folder: 'server/engines', rank: 4 },
  { folder: 'server/push', rank: 4 },
  { folder: 'server/system', rank: 4 },
  { folder: 'server/http', rank: 4 },
  { folder: 'server/observability', rank: 4 },
  { folder: 'server/config', rank: 5 },
  { folder: 'server/console', rank: 6 },
  { folder: 'server/simulator', rank: 6 },
  { folder: 'server', rank: 6 },
  { folder: 'sdk', rank: 1 },
  { folder: 'spec', rank: 1 },
  { folder: 'test', rank: 7 },
];

export type Edge = Pick<Import, 'from' | 'target'>;

function layerOf(file: string): { folder: string; rank: number } | undefined {
  return RANKS.find(({ folder }) => file === folder || file.startsWith(`${folder}/`));
}

/** Why an import breaks the law of the layers; undefined where it does not. */
export function explainImport({ from, target }: Edge): string | undefined {
  if (target === '') return undefined;
  const mine = layerOf(from);
  const theirs = layerOf(target);
  if (!mine || !theirs) return `${from} → ${target}: belongs to no layer`;
  if (mine.folder === theirs.folder || mine.folder === 'test') return undefined;
  if (mine.folder === 'sdk' || mine.folder === 'spec') {
    if (theirs.folder === 'generated') return undefined;
    // The state table is published as it is.
    if (mine.folder === 'spec' && theirs.folder === 'server/domain') return undefined;
    return `${from} → ${target}: ${mine.folder}/ may import from the contract alone`;
  }
  // It runs in a browser, where it knows the gateway as everyone else does.
  if (mine.folder === 'server/console') {
    if (theirs.folder === 'sdk') return undefined;
    return `${from} → ${target}: the console may import from the SDK alone`;
  }
  if (theirs.folder === 'sdk' || theirs.folder === 'spec')
    return `${from} → ${target}: the server may not import from ${theirs.folder}/`;
  return theirs.rank < mine.rank ? undefined : `${from} → ${target}: sideways or up`;
}

/** What some files, and all that they import within their folder, may not import. */
export type Ban = {
  readonly entries: readonly string[];
  readonly within: string;
  isBanned(one: Import): boolean;
};

const TRANSPORTS = /^(node:(http|https|stream|tls)|koa|koa-body|@koa\/router)$/;

/** What an operation does is said in values: it knows neither `node:http` nor Koa. */
export const TRANSPORT_FREE: Ban = {
  entries: ['admin', 'agents', 'clients', 'output'].map((name) => `server/http/operations/${name}.ts`),
  within: 'server/',
  isBanned: ({ specifier, target }) => TRANSPORTS.test(specifier) || target === 'server/http/node-http.ts',
};

const KIT = 'test/conformance/';

/** The conformance kit is published alone: it knows the published simulator at most. */
export const KIT_ALONE: Ban = {
  entries: [`${KIT}command.ts`],
  within: KIT,
  isBanned: ({ specifier, target }) =>
    !target.startsWith(KIT) && !/^(node:|@task-gateway\/simulator$)/.test(specifier),
};

/** The imports that break a ban, however far from its entries: each as a sentence. */
export function findBanned({ entries, within, isBanned }: Ban, imports: Repository['imports']) {
  const files = new Set(entries);
  const found: string[] = [];
  // A set is visited to its end, also what is added meanwhile.
  for (const file of files) {
    for (const one of imports(file)) {
      if (one.target.startsWith(within)) files.add(one.target);
      if (isBanned(one)) found.push(`${file} → ${one.specifier}`);
    }
  }
  return found;
}

/** All imports between files of this repository. */
export function listEdges({ sources, imports }: Repository): readonly Edge[] {
  const known = new Set(sources);
  return sources.flatMap(imports).filter(({ target }) => known.has(target));
}

/**
 * Circles between the children of any folder, each as a sentence. Files in a circle are one, too: of the
 * nearest folder that holds them all.
 */
export function findFolderCircles(edges: readonly Edge[]): readonly string[] {
  const folders = new Set(edges.flatMap(({ from, target }) => [...foldersOf(from), ...foldersOf(target)]));
  return [...folders].sort().flatMap((folder) => {
    const inside = edges.filter(({ from, target }) => isIn(from, folder) && isIn(target, folder));
    const children = inside.map(({ from, target }) => ({
      from: childOf(from, folder),
      target: childOf(target, folder),
    }));
    return findCircles(children).map((circle) => `${folder}/: ${circle.join(' ↔ ')}`);
  });
}

function foldersOf(file: string): readonly string[] {
  const parts = file.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function isIn(file: string, folder: string): boolean {
  return file.startsWith(`${folder}/`);
}

function childOf(file: string, folder: string): string {
  return file.slice(folder.length + 1).replace(/\/.*/, '/');
}

/**
 * The sets of nodes of which each reaches every other, by Tarjan; nodes that only reach themselves are left
 * out.
 */
function findCircles(edges: readonly Edge[]): readonly (readonly string[])[] {
  const targets = new Map<string, Set<string>>();
  for (const { from, target } of edges) {
    if (from !== target) targets.set(from, (targets.get(from) ?? new Set()).add(target));
  }
  const order = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];

  function visit(node: string): number {
    const index = order.size;
    order.set(node, index);
    let low = index;
    stack.push(node);
    for (const next of targets.get(node) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (stack.includes(next)) low = Math.min(low, order.get(next) ?? low);
    }
    if (low === index) {
      const circle = stack.splice(stack.indexOf(node));
      if (circle.length > 1) circles.push(circle.sort());
    }
    return low;
  }

  for (const node of targets.keys()) if (!order.has(node)) visit(node);
  return circles;
}

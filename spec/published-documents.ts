/**
 * Cuts the two documents that a gateway publishes out of the whole one, by path: one for clients and
 * agents, one for the administrator. Each has what its operations need: schemas, problems, parameters, and
 * its part of the guide. Each run checks that the two joined are the whole, so that nothing is lost.
 */
import {
  findReachableParts,
  isJson,
  type Json,
  listOperations,
  requireObject,
  walkObjects,
} from './document.ts';

/** The administrator's document has the paths that begin so. */
const ADMIN_PATHS = '/api/admin/';

/**
 * What the administrator's document leaves out of the guide: sections by their titles, rows and items by
 * how they begin.
 */
const NOT_FOR_ADMIN = [
  ...[
    'An agent in five calls',
    'Which agent gets a task',
    'Delivery',
    'When a running task moves',
    'Output while it runs',
  ],
  ...['The signature of a push', 'What is guaranteed', 'Numbers and keys'],
  ...['| `endpoint`', '| output'],
];

const ADMIN_TITLE = 'Task Gateway: administration';
const ADMIN_INTRODUCTION =
  'An administrator sees here what waits, runs and fails, the agents and the tasks in pages, and cancels many ' +
  'tasks at once. Each call takes the administrator’s secret in the header `X-Admin-Auth`. ' +
  'Every HTTP error is `application/problem+json` with a stable `code`. The rules that no schema can state ' +
  'follow.\n\n' +
  'The calls of clients and agents are in `/openapi.json`. Its guide says how a task finds its agent and gets ' +
  'there. Of its calls, `getTask`, `explainTask`, `previewMatch` and `readOutput` take the administrator’s secret too.';
const CLIENT_PARAGRAPH = '\n\nThe administrator’s calls are in `/openapi.admin.json`.';

/** Returns the document of clients and agents. */
export function cutClientDocument(whole: Json): Json {
  const { title, introduction, guide } = readInfo(whole);
  const document = cutPaths(whole, (path) => !path.startsWith(ADMIN_PATHS), true);
  return addGuide(document, title, introduction + CLIENT_PARAGRAPH, cutGuide(guide, whole, document, []));
}

/** Returns the administrator's document. */
export function cutAdminDocument(whole: Json): Json {
  const document = cutPaths(whole, (path) => path.startsWith(ADMIN_PATHS), false);
  const guide = cutGuide(readInfo(whole).guide, whole, document, NOT_FOR_ADMIN);
  return addGuide(document, ADMIN_TITLE, ADMIN_INTRODUCTION, guide);
}

/**
 * Returns the administrator's document with the probes and the metrics, a service of their own. Throws if one
 * of their problems is not in the document.
 */
export function addProbes(admin: Json, probes: Json): Json {
  const { components, paths, tags, ...head } = structuredClone(admin);
  const document: Json = {
    ...head,
    tags: [...listTags({ tags }), ...listTags(probes)],
    paths: { ...(isJson(paths) && paths), ...requireObject(probes, 'paths') },
    components,
  };
  for (const { operation } of listOperations(probes))
    requireObject(operation, 'responses')['400'] = { $ref: '#/components/responses/OtherProblem' };
  for (const part of findReachableParts(document)) {
    const [kind = '', name = ''] = part.split('/');
    requireObject(document, 'components', kind)[name] ??= requireObject(probes, 'components', kind, name);
  }
  return document;
}

/**
 * Throws if the two documents joined are not the whole: something is in neither, is in one otherwise than in
 * the whole, or is a path in both.
 */
export function requireUnion(whole: Json, documents: readonly Json[]): void {
  const wanted = listPieces(whole);
  const had = documents.map(listPieces);
  for (const [name, text] of had.flatMap((pieces) => [...pieces])) {
    if (wanted.get(name) !== text) throw new Error(`${name} of a published document is not as in the whole.`);
  }
  for (const name of wanted.keys()) {
    const count = had.filter((pieces) => pieces.has(name)).length;
    if (count === 0) throw new Error(`${name} is in no published document.`);
    if (count > 1 && name.startsWith('paths ')) throw new Error(`${name} is in both published documents.`);
  }
}

function cutPaths(whole: Json, isOwn: (path: string) => boolean, hasPush: boolean): Json {
  const { components, webhooks, ...head } = whole;
  const paths = pick(requireObject(whole, 'paths'), isOwn);
  const document: Json = { ...head, paths, ...(hasPush && { webhooks }), components };
  const parts = findReachableParts(document);
  const kinds = Object.entries(requireObject(whole, 'components')).map(([kind, named]) => [
    kind,
    pick(isJson(named) ? named : {}, (name) => parts.has(`${kind}/${name}`)),
  ]);
  document.components = Object.fromEntries(kinds.filter(([, named]) => Object.keys(named ?? {}).length > 0));
  const operations = [...walkObjects([paths, document.webhooks])].filter((one) => 'operationId' in one);
  const used = new Set(operations.flatMap(({ tags }) => tags));
  document.tags = listTags(whole).filter(({ name }) => used.has(name));
  return document;
}

function pick(object: Json, isKept: (key: string) => boolean): Json {
  return Object.fromEntries(Object.entries(object).filter(([key]) => isKept(key)));
}

function readInfo(document: Json): { title: string; introduction: string; guide: string } {
  const { title, description } = requireObject(document, 'info');
  const [introduction = '', guide = ''] = String(description).split(/\n\n(?=# )(.*)/s);
  return { title: String(title), introduction, guide };
}

function addGuide(document: Json, title: string, introduction: string, guide: string): Json {
  const info = { ...requireObject(document, 'info'), title, description: `${introduction}\n\n${guide}` };
  return { ...document, info };
}

/**
 * Leaves these sections, rows and items out of the guide. It also leaves out each row whose first cell, and
 * each item that, names only operations and problems which the document does not have.
 */
function cutGuide(guide: string, whole: Json, document: Json, leftOut: readonly string[]): string {
  const all = listNames(whole);
  const here = listNames(document);
  const unused = new Set(leftOut);
  const isLeftOut = (text: string): boolean => {
    const found = leftOut.find((one) => text.startsWith(one));
    if (found !== undefined) unused.delete(found);
    return found !== undefined;
  };
  const isOfOther = (block: string): boolean => {
    const about = block.startsWith('|') ? block.split('|')[1] : isItem(block) ? block : '';
    const names = [...(about ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
    const known = names.filter((name) => all.has(name));
    return known.length > 0 && known.every((name) => !here.has(name));
  };
  const sections = splitGuide(guide).filter(({ title }) => !isLeftOut(title));
  const texts = sections.map(({ title, blocks }) => {
    const own = blocks.filter((block) => !isOfOther(block) && !isLeftOut(block));
    return `# ${title}\n${numberItems(own).join('\n')}\n`;
  });
  if (unused.size > 0) throw new Error(`The guide has nothing that begins with ${[...unused].join(', ')}.`);
  return texts.join('\n');
}

type Section = {
  readonly title: string;
  /** Its lines. The lines of one list item are one block. */
  readonly blocks: readonly string[];
};

function splitGuide(guide: string): readonly Section[] {
  const sections = guide.split(/^# /m).slice(1);
  return sections.map((text) => {
    const [title = '', ...blocks] = text.trimEnd().split(/\n(?! {2})/);
    return { title, blocks };
  });
}

function isItem(block: string): boolean {
  return /^(-|\d+\.) /.test(block);
}

/** Numbers the items again, so that an item that was left out leaves no gap. */
function numberItems(blocks: readonly string[]): readonly string[] {
  let number = 1;
  return blocks.map((block) => {
    const numbered = block.replace(/^\d+\. /, `${number}. `);
    if (/^\d/.test(block)) number += 1;
    return numbered;
  });
}

/** Lists the names of the document's operations and the codes of their problems. */
function listNames(document: Json): ReadonlySet<unknown> {
  const schemas = Object.values(requireObject(document, 'components', 'schemas'));
  const codes = schemas.flatMap((schema) => {
    const { code } = isJson(schema) && isJson(schema.properties) ? schema.properties : {};
    const isProblem = isJson(schema) && JSON.stringify(schema.allOf ?? '').includes('/ProblemDetails"');
    const choices = isProblem && isJson(code) && Array.isArray(code.anyOf) ? code.anyOf : [];
    return choices.flatMap(({ enum: values = [] }) => values);
  });
  return new Set([...[...listOperations(document)].map(({ operation }) => operation.operationId), ...codes]);
}

function listTags(document: Json): readonly Json[] {
  return Array.isArray(document.tags) ? document.tags.filter(isJson) : [];
}

/** Lists all pieces of a document by name, without the introduction, the title and the numbers of items. */
function listPieces(document: Json): ReadonlyMap<string, string> {
  const { info, paths, webhooks, components, tags: _, ...head } = document;
  const kinds = isJson(components) ? components : {};
  const { title: __, description: ___, ...about } = isJson(info) ? info : {};
  const holders: Json = { '': head, info: about, paths, webhooks, ...kinds };
  const named = Object.entries(holders).flatMap(([kind, holder]) =>
    Object.entries(isJson(holder) ? holder : {}).map(([name, piece]) => [`${kind} ${name}`, piece] as const),
  );
  const tags = listTags(document).map((tag) => [`tag ${tag.name}`, tag] as const);
  const lines = splitGuide(readInfo(document).guide).flatMap(({ title, blocks }) =>
    blocks.map((block) => [`guide, ${title}: ${block.replace(/^\d+\. /, '')}`, true] as const),
  );
  return new Map([...named, ...tags, ...lines].map(([name, piece]) => [name, JSON.stringify(piece)]));
}

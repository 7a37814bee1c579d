/**
 * What the OpenAPI emitter can't say or says wrongly, put right. Every rule is checked: one that finds nothing to do
 * fails, so that none outlives its reason.
 */
import { isJson, type Json, listOperations, objectAt, reachSchemas, walk } from './document.ts';

const versionHeader = 'Task-Gateway-Version';

/** The order in which a reader meets the operations. */
const tagOrder = ['tasks', 'events', 'agents', 'admin', 'push'];

/** Corrects the gateway's document. Throws if a rule no longer applies. */
export function correctGatewayDocument(document: Json, version: '3.1' | '3.2'): Json {
  mergeCopy(document, 'TagsItem', 'Tags');
  openRecords(document);
  nameExamples(document);
  requireVersionHeader(document);
  if (version === '3.2') describeStreamItems(document);
  dropUnreachable(document, ['SessionEvents', 'VersionHeader']);
  return orderForReaders(document);
}

/** Corrects the document of the agent's side. Throws if a rule no longer applies. */
export function correctAgentDocument(document: Json): Json {
  const own = stripNamespace(document, 'TaskGateway.');
  openRecords(own);
  nameExamples(own);
  return own;
}

/**
 * The gateway's document with the agent's operation as a webhook of it. The schemas both speak of must be the same.
 */
export function mergePush(gateway: Json, agent: Json): Json {
  const merged = structuredClone(gateway);
  const schemas = objectAt(merged, 'components', 'schemas');
  for (const [name, schema] of Object.entries(objectAt(agent, 'components', 'schemas'))) {
    check(JSON.stringify(schemas[name]) === JSON.stringify(schema), `${name} differs between the two services`);
  }
  const { paths, components: own, ...head } = merged;
  const tags = [...asList(head['tags']), ...asList(agent['tags'])];
  return { ...head, tags, paths, webhooks: { pushTask: objectAt(agent, 'paths', '/') }, components: own };
}

/** A named array inside another array is emitted a second time, as a copy under another name. */
function mergeCopy(document: Json, copy: string, original: string): void {
  const schemas = objectAt(document, 'components', 'schemas');
  const isSame = JSON.stringify(schemas[copy]) === JSON.stringify(schemas[original]);
  check(copy in schemas && isSame, `${copy} is no copy of ${original} any more`);
  delete schemas[copy];
  for (const place of walk(document)) {
    if (place['$ref'] === `#/components/schemas/${copy}`) place['$ref'] = `#/components/schemas/${original}`;
  }
}

/** `Record<unknown>` comes out as `unevaluatedProperties`, which few tools know; `additionalProperties` says it. */
function openRecords(document: Json): void {
  let count = 0;
  for (const schema of walk(objectAt(document, 'components', 'schemas'))) {
    if (!('unevaluatedProperties' in schema)) continue;
    check(schema['additionalProperties'] === true, 'a record lacks its additionalProperties');
    delete schema['unevaluatedProperties'];
    count += 1;
  }
  check(count > 0, 'no record has unevaluatedProperties any more');
}

/** Named examples come out last first and under their titles; keys without spaces can be asked for by name. */
function nameExamples(document: Json): void {
  let count = 0;
  for (const holder of [...walk(document)]) {
    const { examples } = holder;
    if (!isJson(examples)) continue;
    const named = Object.entries(examples).reverse();
    if (!named.every(([title, example]) => isJson(example) && example['summary'] === title)) continue;
    holder['examples'] = Object.fromEntries(named.map(([title, example]) => [toKey(title), example]));
    count += 1;
  }
  check(count > 0, 'no example is named by its title any more');
}

function toKey(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-|-$/g, '');
}

/** The header is on every answer; it is optional in the sources only to keep it out of every example. */
function requireVersionHeader(document: Json): void {
  const header = { $ref: `#/components/headers/${versionHeader}` };
  let definition: Json | undefined;
  for (const { operation } of listOperations(document)) {
    for (const [status, response] of Object.entries(objectAt(operation, 'responses'))) {
      const headers = isJson(response) ? objectAt(response, 'headers') : {};
      check(isJson(headers[versionHeader]), `${operation['operationId']} ${status} lacks ${versionHeader}`);
      definition ??= { ...objectAt(headers, versionHeader), required: true, example: '1.0.0' };
      headers[versionHeader] = header;
    }
  }
  check(definition !== undefined, `no answer has ${versionHeader}`);
  objectAt(document, 'components')['headers'] = { [versionHeader]: definition };
}

/** The emitter wants an `event` field in each item of the stream, which ours don't have, and drops the schema. */
function describeStreamItems(document: Json): void {
  const content = objectAt(document, 'paths', '/api/cli/events', 'get', 'responses', '200', 'content');
  const stream = objectAt(content, 'text/event-stream');
  const emitted = objectAt(stream, 'itemSchema');
  check(JSON.stringify(emitted['required']) === '["event"]', 'the itemSchema no longer requires `event`');
  const item: Json = {
    type: 'object',
    required: ['id', 'data'],
    properties: {
      id: { type: 'string', description: 'What to send as `Last-Event-ID` to go on behind this event.' },
      data: {
        type: 'string',
        contentMediaType: 'application/json',
        contentSchema: { $ref: '#/components/schemas/TaskDone' },
      },
    },
  };
  content['text/event-stream'] = { ...stream, itemSchema: item };
}

/** Models that are only spread are emitted as schemas nobody refers to. `TaskDone` is what the stream carries. */
function dropUnreachable(document: Json, expected: readonly string[]): void {
  const schemas = objectAt(document, 'components', 'schemas');
  const reached = reachSchemas(document, ['TaskDone']);
  const dropped = Object.keys(schemas).filter((name) => !reached.has(name));
  check(dropped.join() === expected.join(), `schemas nobody refers to: ${dropped.join()}, not ${expected.join()}`);
  for (const name of dropped) delete schemas[name];
}

/** A type of the other service is named with its namespace; a reader of one document needs none. */
function stripNamespace(document: Json, prefix: string): Json {
  const text = JSON.stringify(document);
  const stripped = text.replaceAll(`"${prefix}`, '"').replaceAll(`/schemas/${prefix}`, '/schemas/');
  check(stripped !== text, `no name begins with ${prefix} any more`);
  return JSON.parse(stripped);
}

/** The emitter sorts tags and paths by the alphabet; a reader wants tasks first. */
function orderForReaders(document: Json): Json {
  const rank = (name: unknown) => tagOrder.indexOf(String(name));
  const pathRank = (item: unknown) =>
    isJson(item) ? Math.max(...Object.values(item).map((operation) => rank(tagOf(operation)))) : -1;
  const paths = Object.entries(objectAt(document, 'paths'));
  const tags = asList(document['tags']);
  check(tags.every((tag) => isJson(tag) && rank(tag['name']) >= 0), 'a tag has no place in the order of tags');
  return {
    ...document,
    tags: tags.toSorted((a, b) => rank(isJson(a) && a['name']) - rank(isJson(b) && b['name'])),
    paths: Object.fromEntries(paths.toSorted(([, a], [, b]) => pathRank(a) - pathRank(b))),
  };
}

function tagOf(operation: unknown): unknown {
  return isJson(operation) ? asList(operation['tags'])[0] : undefined;
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function check(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(`A rule of spec/corrections.ts no longer fits: ${message}.`);
}

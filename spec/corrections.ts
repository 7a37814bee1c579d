/**
 * What the OpenAPI emitter can't say or says wrongly, put right. Every rule is checked: one that finds nothing to do
 * fails, so that none outlives its reason.
 */
import { isJson, type Json, listOperations, objectAt, reachSchemas, walk } from './document.ts';

const versionHeader = 'Task-Gateway-Version';

/** The order in which a reader meets the operations. */
const tagOrder = ['tasks', 'events', 'agents', 'admin', 'push'];

/** Corrects the gateway's document as OpenAPI 3.1. Throws if a rule no longer applies. */
export function correctGatewayDocument(document: Json): Json {
  mergeCopy(document, 'TagsItem', 'Tags');
  openRecords(document);
  nameExamples(document);
  requireVersionHeader(document);
  describeErrors(document);
  dropUnreachable(document, ['SessionEvents', 'VersionHeader']);
  return orderForReaders(document);
}

/**
 * The same as OpenAPI 3.2: the corrected 3.1 document, its stream described item by item. The emitter's own 3.2 must
 * differ from its 3.1 in nothing else.
 */
export function correctStreamedDocument(document: Json, corrected: Json, emitted: Json): Json {
  checkSameButStream(document, emitted);
  const streamed = structuredClone(corrected);
  streamed.openapi = '3.2.0';
  const schemas = objectAt(streamed, 'components', 'schemas');
  const { description } = objectAt(schemas, 'EventFrames');
  delete schemas.EventFrames;
  const content = streamContent(streamed);
  const { examples } = objectAt(content, 'text/event-stream');
  content['text/event-stream'] = {
    itemSchema: streamItem(description),
    examples: serializeExamples(examples),
  };
  return streamed;
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
    check(
      JSON.stringify(schemas[name]) === JSON.stringify(schema),
      `${name} differs between the two services`,
    );
  }
  const { paths, components: own, ...head } = merged;
  const tags = [...asList(head.tags), ...asList(agent.tags)];
  return { ...head, tags, paths, webhooks: { pushTask: objectAt(agent, 'paths', '/') }, components: own };
}

/** A named array inside another array is emitted a second time, as a copy under another name. */
function mergeCopy(document: Json, copy: string, original: string): void {
  const schemas = objectAt(document, 'components', 'schemas');
  const isSame = JSON.stringify(schemas[copy]) === JSON.stringify(schemas[original]);
  check(copy in schemas && isSame, `${copy} is no copy of ${original} any more`);
  delete schemas[copy];
  for (const place of walk(document)) {
    if (place.$ref === `#/components/schemas/${copy}`) place.$ref = `#/components/schemas/${original}`;
  }
}

/** `Record<unknown>` comes out as `unevaluatedProperties`, which few tools know; `additionalProperties` says it. */
function openRecords(document: Json): void {
  let count = 0;
  for (const schema of walk(objectAt(document, 'components', 'schemas'))) {
    if (!('unevaluatedProperties' in schema)) continue;
    check(schema.additionalProperties === true, 'a record lacks its additionalProperties');
    delete schema.unevaluatedProperties;
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
    if (!named.every(([title, example]) => isJson(example) && example.summary === title)) continue;
    holder.examples = Object.fromEntries(named.map(([title, example]) => [toKey(title), example]));
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
      check(isJson(headers[versionHeader]), `${operation.operationId} ${status} lacks ${versionHeader}`);
      definition ??= { ...objectAt(headers, versionHeader), required: true, example: '1.0.0' };
      headers[versionHeader] = header;
    }
  }
  check(definition !== undefined, `no answer has ${versionHeader}`);
  objectAt(document, 'components').headers = { [versionHeader]: definition };
}

/** An error is described by how it travels, which all have in common, not by what it means. */
function describeErrors(document: Json): void {
  const schemas = objectAt(document, 'components', 'schemas');
  const common = new Set<unknown>();
  for (const { operation } of listOperations(document)) {
    for (const response of Object.values(objectAt(operation, 'responses'))) {
      if (!isJson(response) || !isJson(response.content)) continue;
      if (!('application/problem+json' in response.content)) continue;
      const { $ref } = objectAt(response.content, 'application/problem+json', 'schema');
      common.add(response.description);
      response.description = objectAt(schemas, String($ref).replace('#/components/schemas/', '')).description;
    }
  }
  check(common.size === 2, `errors travel in ${common.size} ways, not in 2`);
}

function streamContent(document: Json): Json {
  return objectAt(document, 'paths', '/api/cli/events', 'get', 'responses', '200', 'content');
}

/** The emitter wants an `event` field in each item of the stream, which ours don't have, and knows no `id`. */
function streamItem(description: unknown): Json {
  return {
    type: 'object',
    description,
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
}

/** 3.2 has a field of its own for an example that is no JSON but the bytes on the wire. */
function serializeExamples(examples: unknown): Json {
  const serialized = Object.entries(isJson(examples) ? examples : {}).map(([key, example]) => {
    check(isJson(example) && typeof example.value === 'string', 'the stream has an example that is no text');
    return [key, { summary: example.summary, serializedValue: example.value }];
  });
  check(serialized.length > 0, 'the stream has no example');
  return Object.fromEntries(serialized);
}

/** What is published as 3.2 is made from the 3.1 document, so nothing the emitter says only in 3.2 may be missed. */
function checkSameButStream(streamed: Json, plain: Json): void {
  const [one, other] = [streamed, plain].map((document) => structuredClone(document));
  if (!one || !other) return;
  const { itemSchema } = objectAt(streamContent(one), 'text/event-stream');
  check(
    isJson(itemSchema) && String(itemSchema.required) === 'event',
    'the itemSchema no longer requires `event`',
  );
  for (const document of [one, other]) {
    delete document.openapi;
    delete streamContent(document)['text/event-stream'];
    delete objectAt(document, 'components', 'schemas').EventFrames;
  }
  check(JSON.stringify(one) === JSON.stringify(other), '3.1 and 3.2 differ in more than the stream');
}

/** Models that are only spread are emitted as schemas nobody refers to. `TaskDone` is what the stream carries. */
function dropUnreachable(document: Json, expected: readonly string[]): void {
  const schemas = objectAt(document, 'components', 'schemas');
  const reached = reachSchemas(document, ['TaskDone']);
  const dropped = Object.keys(schemas).filter((name) => !reached.has(name));
  check(
    dropped.join() === expected.join(),
    `schemas nobody refers to: ${dropped.join()}, not ${expected.join()}`,
  );
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
  const tags = asList(document.tags);
  check(
    tags.every((tag) => isJson(tag) && rank(tag.name) >= 0),
    'a tag has no place in the order of tags',
  );
  return {
    ...document,
    tags: tags.toSorted((a, b) => rank(isJson(a) && a.name) - rank(isJson(b) && b.name)),
    paths: Object.fromEntries(paths.toSorted(([, a], [, b]) => pathRank(a) - pathRank(b))),
  };
}

function tagOf(operation: unknown): unknown {
  return isJson(operation) ? asList(operation.tags)[0] : undefined;
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function check(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(`A rule of spec/corrections.ts no longer fits: ${message}.`);
}

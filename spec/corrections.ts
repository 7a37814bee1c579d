/**
 * Corrects what the OpenAPI emitter can't express or emits wrongly. Each rule throws if it no longer fits
 * what the emitter writes, so that no needless rule stays.
 */
import {
  findReachableParts,
  isJson,
  type Json,
  listOperations,
  requireObject,
  walkObjects,
} from './document.ts';
import { nameProblems } from './shared-parts.ts';

const versionHeader = 'Task-Gateway-Version';

/** The streams: the path of each, the schema of its bytes, and those of what a frame holds. */
const streams = [
  { path: '/api/cli/events', frames: 'EventFrames', data: ['TaskDone'] },
  {
    path: '/api/cli/tasks/{request_id}/output',
    frames: 'OutputFrames',
    data: ['OutputStatus', 'Piece', 'OutputEnd'],
  },
] as const;
type Stream = (typeof streams)[number];

/** The order of the operations in the document: the nine that every program begins with come first. */
const order = [
  ...['submitTask', 'subscribeEvents', 'getTask', 'cancelTask'],
  ...['registerAgent', 'heartbeatAgent', 'reportResult', 'unregisterAgent', 'listAgents'],
  ...['explainTask', 'previewMatch', 'readOutput', 'answerTask', 'claimTask', 'writeOutput', 'claimAnswer'],
  ...['getOverview', 'listTasks', 'cancelTasks', 'getAgent', 'drainAgent'],
];

/** Corrects the gateway's document as OpenAPI 3.1. Throws if a rule no longer applies. */
export function correctGatewayDocument(document: Json): Json {
  mergeCopy(document, 'TagsItem', 'Tags');
  openRecords(document);
  nameExamples(document);
  declareVersionHeader(document);
  describeFrames(document);
  dropUnreachable(document, ['Advice', 'OutputEvents', 'SessionEvents', 'ValidatorHeaders', 'VersionHeader']);
  return sortPaths(document);
}

/**
 * Returns the gateway's document as OpenAPI 3.2: the corrected 3.1 document with a schema for the items of
 * each stream. Throws if the emitted 3.2 document differs from the emitted 3.1 document in anything else.
 */
export function correctStreamedDocument(document: Json, corrected: Json, emitted: Json): Json {
  requireSameExceptStreams(document, emitted);
  const streamed = structuredClone(corrected);
  streamed.openapi = '3.2.0';
  const schemas = requireObject(streamed, 'components', 'schemas');
  for (const stream of streams) {
    const { description } = requireObject(schemas, stream.frames);
    delete schemas[stream.frames];
    // `EventFrames` are many of an `EventFrame`.
    const frame = stream.frames.slice(0, -1);
    schemas[frame] = buildStreamItem(stream, description);
    const content = getStreamContent(streamed, stream);
    const { examples } = requireObject(content, 'text/event-stream');
    content['text/event-stream'] = {
      itemSchema: { $ref: `#/components/schemas/${frame}` },
      examples: serializeExamples(examples),
    };
  }
  return streamed;
}

/** Corrects the agent's document. Throws if a rule no longer applies. */
export function correctAgentDocument(document: Json): Json {
  const agent = stripNamespace(document, 'TaskGateway.');
  openRecords(agent);
  nameExamples(agent);
  return agent;
}

/** Corrects the simulator's document; a fault names an operation of the gateway's. */
export function correctSimulatorDocument(document: Json, gateway: Json): Json {
  const simulator = stripNamespace(document, 'TaskGateway.');
  openRecords(simulator);
  nameExamples(simulator);
  dropUnreachable(simulator, ['RefusalDetails']);
  requireObject(simulator, 'components', 'schemas', 'OperationName').enum = [...listOperations(gateway)].map(
    ({ operation }) => operation.operationId,
  );
  return simulator;
}

/** Corrects the document of the probes; their problems are those of the document that they come into. */
export function correctProbesDocument(document: Json): Json {
  const probes = stripNamespace(document, 'TaskGateway.');
  nameExamples(probes);
  declareVersionHeader(probes);
  nameProblems(probes);
  return probes;
}

/**
 * Returns the gateway's document with the agent's operation as a webhook. Throws if a schema that both
 * documents have differs between them.
 */
export function mergePush(gateway: Json, agent: Json): Json {
  const merged = structuredClone(gateway);
  const schemas = requireObject(merged, 'components', 'schemas');
  for (const [name, schema] of Object.entries(requireObject(agent, 'components', 'schemas'))) {
    requireThat(
      JSON.stringify(schemas[name]) === JSON.stringify(schema),
      `${name} differs between the two services`,
    );
  }
  const { paths, components, ...head } = merged;
  const tags = [...asList(head.tags), ...asList(agent.tags)];
  return { ...head, tags, paths, webhooks: { pushTask: requireObject(agent, 'paths', '/') }, components };
}

/** Removes the copy, under a second name, that the emitter makes of a named array inside another array. */
function mergeCopy(document: Json, copy: string, original: string): void {
  const schemas = requireObject(document, 'components', 'schemas');
  const isSame = JSON.stringify(schemas[copy]) === JSON.stringify(schemas[original]);
  requireThat(copy in schemas && isSame, `${copy} is no longer a copy of ${original}`);
  delete schemas[copy];
  for (const object of walkObjects(document)) {
    if (object.$ref === `#/components/schemas/${copy}`) object.$ref = `#/components/schemas/${original}`;
  }
}

/**
 * Removes the `unevaluatedProperties` that the emitter writes for `Record<unknown>`: few tools support it,
 * and `additionalProperties` says the same.
 */
function openRecords(document: Json): void {
  let count = 0;
  for (const schema of walkObjects(requireObject(document, 'components', 'schemas'))) {
    if (!('unevaluatedProperties' in schema)) continue;
    const { unevaluatedProperties: values } = schema;
    if (isJson(values) && Object.keys(values).length > 0) schema.additionalProperties = values;
    requireThat(Boolean(schema.additionalProperties), 'a record lacks its additionalProperties');
    delete schema.unevaluatedProperties;
    count += 1;
  }
  requireThat(count > 0, 'no record has unevaluatedProperties');
}

/**
 * Reverses the order of named examples, which the emitter writes last first, and replaces their keys, which
 * it writes as titles: a mock server takes keys without spaces by name.
 */
function nameExamples(document: Json): void {
  let count = 0;
  for (const holder of [...walkObjects(document)]) {
    const { examples } = holder;
    if (!isJson(examples)) continue;
    const named = Object.entries(examples).reverse();
    if (!named.every(([title, example]) => isJson(example) && example.summary === title)) continue;
    holder.examples = Object.fromEntries(named.map(([title, example]) => [buildKey(title), example]));
    count += 1;
  }
  requireThat(count > 0, 'no example has its title as its key');
}

function buildKey(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-|-$/g, '');
}

/**
 * Marks the version header as required. In the sources it is optional, so that examples need not repeat it.
 */
function declareVersionHeader(document: Json): void {
  const header = { $ref: `#/components/headers/${versionHeader}` };
  let definition: Json | undefined;
  for (const { operation } of listOperations(document)) {
    for (const [status, response] of Object.entries(requireObject(operation, 'responses'))) {
      const headers = isJson(response) ? requireObject(response, 'headers') : {};
      requireThat(
        isJson(headers[versionHeader]),
        `${operation.operationId} ${status} lacks ${versionHeader}`,
      );
      definition ??= { ...requireObject(headers, versionHeader), required: true, example: '1.0.0' };
      headers[versionHeader] = header;
    }
  }
  requireThat(definition !== undefined, `no response has ${versionHeader}`);
  requireObject(document, 'components').headers = { [versionHeader]: definition };
}

function getStreamContent(document: Json, { path }: Stream): Json {
  return requireObject(document, 'paths', path, 'get', 'responses', '200', 'content');
}

/**
 * Builds the schema of an event. The emitter's schema requires `event`, which is never sent, and lacks `id`.
 */
function buildStreamItem({ frames, data }: Stream, description: unknown): Json {
  const event = { type: 'string', description: '`gap`, without an `id`; a `task_done` has no such line.' };
  return {
    type: 'object',
    description,
    required: ['data'],
    properties: {
      ...(frames === 'EventFrames' && { event }),
      id: { type: 'string', description: 'Send it as `Last-Event-ID` to continue after this event.' },
      data: {
        type: 'string',
        contentMediaType: 'application/json',
        contentSchema: referToAny(data),
      },
    },
  };
}

function referToAny(names: readonly string[]): Json {
  const references = names.map((name) => ({ $ref: `#/components/schemas/${name}` }));
  return references.length === 1 ? { ...references[0] } : { anyOf: references };
}

/** Moves examples that are bytes on the wire, not JSON, to the field that OpenAPI 3.2 has for them. */
function serializeExamples(examples: unknown): Json {
  const serialized = Object.entries(isJson(examples) ? examples : {}).map(([key, example]) => {
    requireThat(
      isJson(example) && typeof example.value === 'string',
      'the stream has an example that is not a string',
    );
    return [key, { summary: example.summary, serializedValue: example.value }];
  });
  requireThat(serialized.length > 0, 'the stream has no example');
  return Object.fromEntries(serialized);
}

/**
 * Throws if the emitted documents differ in more than the streams: the published 3.2 document is made from
 * the 3.1 document, so any other difference would be lost.
 */
function requireSameExceptStreams(streamed: Json, plain: Json): void {
  const streamedRest = structuredClone(streamed);
  const plainRest = structuredClone(plain);
  for (const stream of streams) {
    const { itemSchema } = requireObject(getStreamContent(streamedRest, stream), 'text/event-stream');
    requireThat(
      isJson(itemSchema) && String(itemSchema.required) === 'event',
      'an itemSchema no longer requires `event`',
    );
    for (const document of [streamedRest, plainRest]) {
      delete getStreamContent(document, stream)['text/event-stream'];
      delete requireObject(document, 'components', 'schemas')[stream.frames];
    }
  }
  for (const document of [streamedRest, plainRest]) delete document.openapi;
  requireThat(
    JSON.stringify(streamedRest) === JSON.stringify(plainRest),
    '3.1 and 3.2 differ in more than the streams',
  );
}

/** Says what the frames of each stream hold, which 3.1 can't describe frame by frame. */
function describeFrames(document: Json): void {
  for (const { frames: name, data } of streams) {
    const frames = requireObject(document, 'components', 'schemas', name);
    requireThat(!('contentSchema' in frames), 'the frames have a contentSchema');
    frames.contentMediaType = 'text/event-stream';
    frames.contentSchema = referToAny(data);
  }
}

/**
 * Removes schemas without references: the emitter writes them for models that are only spread into others.
 */
function dropUnreachable(document: Json, expected: readonly string[]): void {
  const schemas = requireObject(document, 'components', 'schemas');
  const reachable = findReachableParts(document);
  const dropped = Object.keys(schemas).filter((name) => !reachable.has(`schemas/${name}`));
  requireThat(
    dropped.join() === expected.join(),
    `the schemas without references are ${dropped.join()}, not ${expected.join()}`,
  );
  for (const name of dropped) delete schemas[name];
}

/** Removes the namespace that the emitter puts before the names of the other service's types. */
function stripNamespace(document: Json, prefix: string): Json {
  const text = JSON.stringify(document);
  const stripped = text.replaceAll(`"${prefix}`, '"').replaceAll(`/schemas/${prefix}`, '/schemas/');
  requireThat(stripped !== text, `no name begins with ${prefix}`);
  return JSON.parse(stripped);
}

/** Sorts paths by `order`, and tags as these use them first; the emitter sorts both alphabetically. */
function sortPaths(document: Json): Json {
  const operations = [...listOperations(document)].map(({ path, operation }) => ({
    path,
    tag: asList(operation.tags)[0],
    place: order.indexOf(String(operation.operationId)),
  }));
  requireThat(
    operations.every(({ place }) => place >= 0) && operations.length === order.length,
    'the operations are not those of `order`',
  );
  const sorted = operations.toSorted((a, b) => a.place - b.place);
  const place = (tag: unknown) => sorted.findIndex((one) => isJson(tag) && one.tag === tag.name);
  const paths = requireObject(document, 'paths');
  return {
    ...document,
    tags: asList(document.tags).toSorted((a, b) => place(a) - place(b)),
    paths: Object.fromEntries(sorted.map(({ path }) => [path, paths[path]])),
  };
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Throws if a rule's assumption about the emitted document does not hold. */
function requireThat(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(`A rule of spec/corrections.ts no longer fits: ${message}.`);
}

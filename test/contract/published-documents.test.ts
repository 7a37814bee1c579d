/**
 * The two documents that a gateway publishes: together they are the whole one, and each is complete, no
 * larger than it must be, and speaks of its own operations.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  findReachableParts,
  isJson,
  type Json,
  listOperations,
  requireObject,
  walkObjects,
} from '../../spec/document.ts';
import { cutAdminDocument, cutClientDocument, requireUnion } from '../../spec/published-documents.ts';
import { listWords, readTable } from './guide.ts';

const FOLDER = join(import.meta.dirname, '../../generated/openapi');
const FILES = {
  whole: 'task-gateway.3.1.json',
  clients: 'clients-and-agents.3.1.json',
  admin: 'admin.3.1.json',
};
const read = (of: keyof typeof FILES): Json => JSON.parse(readFileSync(join(FOLDER, FILES[of]), 'utf8'));
const published = ['clients', 'admin'] as const;

/** A schema and those in it, each with the name it has as a component. */
function* listSchemas(schema: unknown, name = ''): Generator<{ name: string; schema: Json }> {
  if (!isJson(schema)) return;
  yield { name, schema };
  const { properties, items, additionalProperties, contentSchema, anyOf = [], allOf = [] } = schema;
  const fields = isJson(properties) ? Object.values(properties) : [];
  const parts = [...fields, items, additionalProperties, contentSchema, [anyOf, allOf].flat(2)].flat();
  for (const part of parts) yield* listSchemas(part);
}

test.each(readdirSync(FOLDER).filter((file) => file.endsWith('.json')))(
  '%s has a name for each schema of objects with fields, and for that of any JSON value',
  (file) => {
    const text = readFileSync(join(FOLDER, file), 'utf8');
    // An example may have a field of the same name.
    const { components, ...rest } = JSON.parse(text, (key, value) =>
      key === 'examples' ? undefined : value,
    );
    const { schemas, ...others } = isJson(components) ? components : {};
    const bodies = [...walkObjects([rest, others])].flatMap(({ schema, itemSchema }) => [schema, itemSchema]);
    const named = Object.entries(isJson(schemas) ? schemas : {});
    const all = [
      ...bodies.flatMap((schema) => [...listSchemas(schema)]),
      ...named.flatMap(([name, schema]) => [...listSchemas(schema, name)]),
    ];
    expect(all.length).toBeGreaterThan(20);
    const isFree = (schema: Json) => !['type', '$ref', 'anyOf', 'allOf', 'enum'].some((key) => key in schema);
    const unnamed = all.filter(
      ({ name, schema }) => name === '' && ('properties' in schema || isFree(schema)),
    );
    expect(unnamed).toEqual([]);
    const free = all.filter(({ schema }) => isFree(schema));
    expect(free).toEqual(free.map(() => ({ name: 'JsonValue', schema: {} })));
  },
);

/** The size that a program downloads or a model reads: without line breaks, and without the code samples. */
function measureBytes(document: Json): number {
  return Buffer.byteLength(
    JSON.stringify(document, (key, value) => (key === 'x-codeSamples' ? undefined : value)),
  );
}

test('that of clients and agents is at most 150 kB without code samples', () => {
  for (const of of ['whole', ...published] as const)
    console.log(`figure: document ${of}, bytes without code samples: ${measureBytes(read(of))}`);
  expect(measureBytes(read('clients'))).toBeLessThanOrEqual(150_000);
});

test('both begin with the nine calls that every gateway has', () => {
  const begin = (of: keyof typeof FILES, count: number) =>
    Object.keys(requireObject(read(of), 'paths')).slice(0, count);
  expect([...begin('clients', 8), ...begin('admin', 1)]).toEqual([
    ...[
      '/api/cli/tasks',
      '/api/cli/events',
      '/api/cli/tasks/{request_id}',
      '/api/cli/tasks/{request_id}/cancel',
    ],
    ...['/api/agent/register', '/api/agent/heartbeat', '/api/agent/result', '/api/agent/unregister'],
    '/api/admin/agents',
  ]);
  const core = [...listOperations(read('whole'))].filter(
    ({ operation }) => String(operation.tags) === 'core',
  );
  expect(core).toEqual([...listOperations(read('whole'))].slice(0, 9));
});

describe('the two together', () => {
  test('are the whole, cut by path', () => {
    const [whole, clients, published] = [read('whole'), read('clients'), read('admin')];
    const admin = cutAdminDocument(whole);
    expect(cutClientDocument(whole)).toEqual(clients);
    // The published one has the probes beside, which are no operations of the API.
    const { '/livez': _, '/readyz': __, '/metrics': ___, ...paths } = requireObject(published, 'paths');
    expect(paths).toEqual(requireObject(admin, 'paths'));
    expect(published.info).toEqual(admin.info);
    expect(() => requireUnion(whole, [clients, admin])).not.toThrow();
    for (const [document, isAdmin] of [[clients, false] as const, [admin, true] as const]) {
      const paths = Object.keys(requireObject(document, 'paths'));
      expect(paths.filter((path) => path.startsWith('/api/admin/') !== isAdmin)).toEqual([]);
    }
  });

  const mistakes: readonly {
    readonly what: string;
    readonly says: string;
    spoil(clients: Json, admin: Json): void;
  }[] = [
    {
      what: 'an operation is in neither',
      says: 'paths /api/cli/tasks is in no published document',
      spoil: (clients) => delete requireObject(clients, 'paths')['/api/cli/tasks'],
    },
    {
      what: 'an operation is in both',
      says: 'paths /api/cli/match is in both published documents',
      spoil: (clients, admin) => {
        requireObject(admin, 'paths')['/api/cli/match'] = requireObject(clients, 'paths', '/api/cli/match');
      },
    },
    {
      what: 'a schema is in neither',
      says: 'schemas OverviewSeries is in no published document',
      spoil: (_, admin) => delete requireObject(admin, 'components', 'schemas').OverviewSeries,
    },
    {
      what: 'a problem differs in one of them',
      says: 'responses Unauthorized of a published document is not as in the whole',
      spoil: (clients) => {
        requireObject(clients, 'components', 'responses', 'Unauthorized').description = 'Other.';
      },
    },
    {
      what: 'a row of the guide is in neither',
      says: 'guide, What to do with an error: | `read_only`',
      spoil: (_, admin) => {
        const info = requireObject(admin, 'info');
        info.description = String(info.description).replace(/^\| `read_only`.*\n/m, '');
      },
    },
  ];

  test.each(mistakes)('are not, and it is said what is wrong, where $what', ({ says, spoil }) => {
    const [clients, admin] = [read('clients'), cutAdminDocument(read('whole'))];
    spoil(clients, admin);
    expect(() => requireUnion(read('whole'), [clients, admin])).toThrow(says);
  });
});

describe.each(published)('of %s', (of) => {
  const document = read(of);

  test('each part that is needed is there, and no other', () => {
    const parts = Object.entries(requireObject(document, 'components')).flatMap(([kind, named]) =>
      Object.keys(isJson(named) ? named : {}).map((name) => `${kind}/${name}`),
    );
    expect(parts.toSorted()).toEqual([...findReachableParts(document)].toSorted());
  });
});

test('no text of clients and agents names an operation of the administrator, but one rule of bodies', () => {
  const document = read('clients');
  const own = [...listOperations(document)].map(({ operation }) => operation.operationId);
  const ids = [...listOperations(read('whole'))].map(({ operation }) => operation.operationId);
  const others = ids.filter((id) => !own.includes(id));
  const { description } = requireObject(document, 'info');
  const lines = [...String(description).split('\n'), ...listDescriptions({ ...document, info: {} })];
  const naming = lines.filter((line) => others.some((id) => line.includes(`\`${id}\``)));
  expect(naming).toEqual([expect.stringContaining('the `filter` of `cancelTasks`')]);
});

function* listDescriptions(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* listDescriptions(item);
  if (!isJson(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (key === 'description' && typeof item === 'string') yield item;
    else yield* listDescriptions(item);
  }
}

test('that of the administrator names the other calls that take the administrator’s secret', () => {
  const takesBoth = [...listOperations(read('clients'))].flatMap(({ operation }) =>
    JSON.stringify(operation.security).includes('AdminAuth') ? [String(operation.operationId)] : [],
  );
  const { description } = requireObject(read('admin'), 'info');
  const [, named] = /Of its calls, ([^.]*) take the administrator’s secret/s.exec(String(description)) ?? [];
  expect(listWords(named)).toEqual(takesBoth);
});

test('the guide of clients and agents opens with an agent in five calls, which name no option', () => {
  const clients = read('clients');
  const { description } = requireObject(clients, 'info');
  expect(/^# (.*)$/m.exec(String(description))?.[1]).toBe('An agent in five calls');
  const rows = readTable('An agent in five calls');
  expect(rows).toHaveLength(5);
  for (const { Call, Body } of rows) {
    const [path = ''] = listWords(Call);
    const { content } = requireObject(clients, 'paths', path, 'post', 'requestBody');
    const { schema } = requireObject({ content }, 'content', 'application/json');
    const [name = ''] = JSON.stringify(schema).match(/\w+(?="})/) ?? [];
    const { required } = requireObject(clients, 'components', 'schemas', name);
    // The secret, which the gateway may require, and what the work came to.
    const needed = [...(Array.isArray(required) ? required : []), 'auth', 'result'];
    const [body = ''] = listWords(Body);
    expect(needed, path).toEqual(expect.arrayContaining(Object.keys(JSON.parse(body))));
  }
});

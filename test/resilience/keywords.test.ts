/**
 * What the published document asks of a request, as a computed list of (operation, place, keyword): each is broken once
 * and answered with the place; and calls made at random within the schemas are taken.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildCall, type Call, type OperationId } from '../contract/usual-calls.ts';
import { printFigure } from '../harness/figures.ts';
import { pointersOf, sendChecked } from '../http/checked-call.ts';
import { createFakeGateway } from '../http/fake-gateway.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../http/http-harness.ts';
import { bodies, operations, resolve, type Schema } from '../http/wrong-values.ts';

const gateway = createFakeGateway();
const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway);
});
afterAll(() => server.stop());

/** One demand of the document, and a value that breaks it: undefined leaves the field out. */
type Demand = { readonly pointer: string; readonly keyword: string; readonly wrong: unknown };

/** Keywords that hold others, or ask for nothing by themselves. */
const SILENT = [
  'properties',
  'items',
  '$ref',
  'description',
  'default',
  'additionalProperties',
  'example',
  'examples',
];
/** `password`, `double`: said to people and to generators; every value of the type has the format. */
const FORMATS: Readonly<Record<string, number>> = { int32: 2 ** 31, int64: 1e19 };
const SAMPLES: Readonly<Record<string, unknown>> = {
  string: 7,
  number: '60',
  integer: '60',
  boolean: 'true',
};

function listDemands(given: Schema, pointer: string): readonly Demand[] {
  const schema = resolve(given);
  const own = Object.keys(schema).flatMap((keyword) => breakKeyword(schema, keyword, pointer));
  const inner = [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, one]) =>
      listDemands(one, `${pointer}/${name}`),
    ),
    ...(schema.items ? listDemands(schema.items, `${pointer}/0`) : []),
    // What the choices ask for by themselves is the choice's; only what is inside of them is theirs.
    ...(schema.anyOf ?? [])
      .flatMap((one) => listDemands(one, pointer))
      .filter((one) => one.pointer !== pointer),
  ];
  return [...own, ...inner];
}

function breakKeyword(schema: Schema, keyword: string, pointer: string): readonly Demand[] {
  const demand = (wrong: unknown, at = pointer): readonly Demand[] => [{ pointer: at, keyword, wrong }];
  switch (keyword) {
    case 'type':
      return demand(SAMPLES[schema.type ?? ''] ?? 7);
    case 'anyOf':
      return demand(7);
    case 'enum':
      return demand('none');
    case 'minimum':
      return demand((schema.minimum ?? 0) - 1);
    case 'exclusiveMinimum':
      return demand(schema.exclusiveMinimum);
    case 'maximum':
      return demand((schema.maximum ?? 0) + 1);
    case 'minLength':
      return demand('');
    case 'maxLength':
      return demand('😀'.repeat((schema.maxLength ?? 0) + 1));
    case 'maxItems':
      return demand(Array((schema.maxItems ?? 0) + 1).fill('a'));
    case 'pattern':
      return demand('ü');
    case 'format':
      return FORMATS[schema.format ?? ''] === undefined ? [] : demand(FORMATS[schema.format ?? '']);
    case 'required':
      return (schema.required ?? []).flatMap((name) => demand(undefined, `${pointer}/${name}`));
    default:
      if (SILENT.includes(keyword)) return [];
      throw new Error(`The document has a keyword at ${pointer} that nothing here breaks: ${keyword}.`);
  }
}

/** The value with another put in at a pointer; what the way there lacks is made. */
function putAt(value: unknown, [step, ...rest]: readonly string[], wrong: unknown): unknown {
  if (step === undefined) return wrong;
  if (/^\d+$/.test(step)) return [putAt(undefined, rest, wrong)];
  const object: Record<string, unknown> = { ...(value as Record<string, unknown> | undefined) };
  object[step] = putAt(object[step], rest, wrong);
  return object;
}

/** What a broken demand is answered, but for two: a text for a secret is a wrong one, and agents name themselves first. */
function expectAnswer(operationId: OperationId, { pointer, keyword, wrong }: Demand): string {
  if (pointer === '/auth' && typeof wrong === 'string') return '401 ';
  const isAgentFirst = ['claimTask', 'heartbeatAgent', 'reportResult', 'unregisterAgent'].includes(
    operationId,
  );
  return isAgentFirst && keyword === 'required' && pointer === '/agent_id' ? '400 ' : `422 ${pointer}`;
}

/** The usual call with one parameter replaced; undefined leaves it out. */
function withParameter(operationId: OperationId, place: string, name: string, value: unknown): Call {
  const call = buildCall(operationId, secrets);
  if (place === 'header') return { ...call, headers: { ...call.headers, [name]: toHeader(String(value)) } };
  const url = new URL(call.path, server.url);
  url.searchParams.delete(name);
  if (value !== undefined) url.searchParams.set(name, String(value));
  return { ...call, path: url.pathname + url.search };
}

/** No character of two bytes goes into a header. */
const toHeader = (text: string): string => text.replaceAll('😀', 'k');

test('every keyword of every schema of a request is broken once, and answered with its place', async () => {
  const done: string[] = [];
  gateway.calls.length = 0;
  for (const { operationId, schema } of bodies) {
    const call = buildCall(operationId, secrets);
    const usual = JSON.parse(String(call.body));
    for (const demand of listDemands(schema, '')) {
      const name = `${operationId} ${demand.pointer} ${demand.keyword}`;
      const body = putAt(usual, demand.pointer.split('/').slice(1), demand.wrong);
      const answer = await sendChecked(server.url, { ...call, body: JSON.stringify(body) });
      expect(`${answer.status} ${pointersOf(answer).join()}`, name).toBe(expectAnswer(operationId, demand));
      done.push(name);
    }
  }
  for (const { operationId, parameters } of operations) {
    for (const { name, in: place, schema } of parameters) {
      // Everything in a path or a query is text, and a path without its last part is another path.
      const isText = resolve(schema).type === 'string';
      const demands = listDemands(schema, `/${name}`).filter(({ keyword }) => keyword !== 'type' || !isText);
      const isRequired = (operations.find((one) => one.operationId === operationId)?.parameters ?? []).some(
        (one) => one.name === name && 'required' in one && one.required === true && place === 'query',
      );
      const missing: readonly Demand[] = isRequired
        ? [{ pointer: `/${name}`, keyword: 'required', wrong: undefined }]
        : [];
      for (const demand of [...demands, ...missing]) {
        const wrong = demand.keyword === 'type' ? 'sixty' : demand.wrong;
        const answer = await sendChecked(server.url, withParameter(operationId, place, name, wrong));
        const told = `${operationId} ${place} ${demand.pointer} ${demand.keyword}`;
        expect(`${answer.status} ${pointersOf(answer).join()}`, told).toBe(`422 ${demand.pointer}`);
        done.push(told);
      }
    }
  }
  expect(gateway.calls).toEqual([]);
  expect(new Set(done).size).toBe(done.length);
  expect(done.length).toBeGreaterThanOrEqual(100);
  printFigure('schema-keywords-broken', done.length, 'keywords');
});

/** Values of a schema, within all its bounds. */
function arbitraryOf(given: Schema): fc.Arbitrary<unknown> {
  const schema = resolve(given);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(arbitraryOf));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const { minLength = 0, maxLength = 40, minimum, maximum, exclusiveMinimum, maxItems = 5 } = schema;
  switch (schema.type) {
    case 'string':
      return fc.string({ unit: 'grapheme-composite', minLength, maxLength: Math.min(maxLength, 40) });
    case 'integer':
      return fc.integer({ min: minimum ?? -1_000, max: maximum ?? 2 ** 31 - 1 });
    case 'number':
      return fc.double({
        ...{
          noNaN: true,
          noDefaultInfinity: true,
          min: minimum ?? exclusiveMinimum ?? -1e9,
          max: maximum ?? 1e300,
        },
        minExcluded: exclusiveMinimum !== undefined,
      });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(arbitraryOf(schema.items ?? {}), { maxLength: Math.min(maxItems, 8) });
    default: {
      const fields = Object.entries(schema.properties ?? {}).map(
        ([name, one]) => [name, arbitraryOf(one)] as const,
      );
      if (fields.length === 0)
        return fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 });
      const requiredKeys = [...(schema.required ?? [])];
      return fc.record(Object.fromEntries(fields), { requiredKeys, noNullPrototype: true });
    }
  }
}

const VALID_RUNS = Number(process.env.VALID_RUNS ?? 150);

test.each(bodies)(
  '$operationId takes whatever its schema allows',
  { timeout: 60_000 + VALID_RUNS * 10 },
  async (body) => {
    const { operationId, schema } = body;
    // The one thing the schema cannot say of a field: what an endpoint is; and the secret is a certain one.
    const own = { endpoint: fc.constantFrom('pull', 'http://127.0.0.1:1/', 'https://[::1]:8443/a?b=c') };
    const values = fc.tuple(arbitraryOf(schema), own.endpoint).map(([value, endpoint]) => ({
      ...(value as object),
      auth: SECRET,
      ...(operationId === 'registerAgent' && { endpoint }),
    }));
    await fc.assert(
      fc.asyncProperty(values, async (value) => {
        const answer = await sendChecked(server.url, {
          ...buildCall(operationId, secrets),
          body: JSON.stringify(value),
        });
        expect([answer.status, answer.text]).toEqual([
          answer.status < 300 ? answer.status : 200,
          answer.text,
        ]);
      }),
      { numRuns: VALID_RUNS },
    );
  },
);

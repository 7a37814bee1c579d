/**
 * What the published document requires of a request, as a computed list of (operation, location, keyword):
 * each is broken once and refused with its location; and random calls within the schemas are accepted.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildCall, type Call, type OperationId } from '../contract/usual-calls.ts';
import { printFigure } from '../harness/figures.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { pointersOf, sendChecked } from '../http/checked-call.ts';
import { createFakeGateway } from '../http/fake-gateway.ts';
import { bodies, operations, resolve, type Schema } from '../http/wrong-values.ts';

const gateway = createFakeGateway();
const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway);
});
afterAll(() => server.stop());

/** One requirement of the document, and a value that breaks it: undefined leaves the field out. */
type Requirement = { readonly pointer: string; readonly keyword: string; readonly wrong: unknown };

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

function listRequirements(given: Schema, pointer: string): readonly Requirement[] {
  const schema = resolve(given);
  const own = Object.keys(schema).flatMap((keyword) => breakKeyword(schema, keyword, pointer));
  const inner = [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, one]) =>
      listRequirements(one, `${pointer}/${name}`),
    ),
    ...(schema.items ? listRequirements(schema.items, `${pointer}/0`) : []),
    // What an alternative requires as a whole belongs to the choice; only what is inside of it counts here.
    ...(schema.anyOf ?? [])
      .flatMap((one) => listRequirements(one, pointer))
      .filter((one) => one.pointer !== pointer),
  ];
  return [...own, ...inner];
}

function breakKeyword(schema: Schema, keyword: string, pointer: string): readonly Requirement[] {
  const requirement = (wrong: unknown, at = pointer): readonly Requirement[] => [
    { pointer: at, keyword, wrong },
  ];
  switch (keyword) {
    case 'type':
      return requirement(SAMPLES[schema.type ?? ''] ?? 7);
    case 'anyOf':
      return requirement(7);
    case 'enum':
      return requirement('none');
    case 'minimum':
      return requirement((schema.minimum ?? 0) - 1);
    case 'exclusiveMinimum':
      return requirement(schema.exclusiveMinimum);
    case 'maximum':
      return requirement((schema.maximum ?? 0) + 1);
    case 'minLength':
      return requirement('');
    case 'maxLength':
      return requirement('😀'.repeat((schema.maxLength ?? 0) + 1));
    case 'maxItems':
      return requirement(
        Array((schema.maxItems ?? 0) + 1).fill(resolve(schema.items ?? {}).enum?.[0] ?? 'a'),
      );
    case 'minItems':
      return requirement([]);
    case 'pattern':
      return requirement('ü');
    case 'format':
      return FORMATS[schema.format ?? ''] === undefined ? [] : requirement(FORMATS[schema.format ?? '']);
    case 'required':
      return (schema.required ?? []).flatMap((name) => requirement(undefined, `${pointer}/${name}`));
    default:
      if (SILENT.includes(keyword)) return [];
      throw new Error(`The document has a keyword at ${pointer} that nothing here breaks: ${keyword}.`);
  }
}

/** All that a question has: each part of it is broken beside the others. */
const QUESTION = { key: 'k', prompt: '?', schema: { type: 'object', properties: { a: { type: 'string' } } } };

/** The value with another put in at a pointer; what the way there lacks is made. */
function putAt(value: unknown, [step, ...rest]: readonly string[], wrong: unknown): unknown {
  if (step === undefined) return wrong;
  if (/^\d+$/.test(step))
    return [putAt(rest[0] === 'question' ? { question: QUESTION } : undefined, rest, wrong)];
  const object: Record<string, unknown> = { ...(value as Record<string, unknown> | undefined) };
  object[step] = putAt(object[step], rest, wrong);
  return object;
}

/**
 * The status and location of a refusal: 422, but 401 for a wrong secret, and 400 for an agent without its id.
 */
function expectAnswer(operationId: OperationId, { pointer, keyword, wrong }: Requirement): string {
  if (pointer === '/auth' && typeof wrong === 'string') return '401 ';
  const isAgentFirst = [
    'claimTask',
    'heartbeatAgent',
    'reportResult',
    'unregisterAgent',
    'writeOutput',
    'claimAnswer',
  ].includes(operationId);
  return isAgentFirst && keyword === 'required' && pointer === '/agent_id' ? '400 ' : `422 ${pointer}`;
}

/** The usual call with one parameter replaced; undefined leaves it out. */
function withParameter(operationId: OperationId, location: string, name: string, value: unknown): Call {
  const call = buildCall(operationId, secrets);
  if (location === 'header')
    return { ...call, headers: { ...call.headers, [name]: toHeader(String(value)) } };
  const url = new URL(call.path, server.url);
  url.searchParams.delete(name);
  if (value !== undefined) url.searchParams.set(name, String(value));
  return { ...call, path: url.pathname + url.search };
}

/** What is long in characters, in fewer bytes: a head has room for 16 KiB. */
const toQuery = (value: unknown): unknown =>
  typeof value === 'string' && value.length > 2_000 ? value.replaceAll('😀', 'k') : value;

/** No character of two bytes goes into a header. */
const toHeader = (text: string): string => text.replaceAll('😀', 'k');

test('every keyword of every schema of a request is broken once, and refused with its location', async () => {
  const done: string[] = [];
  gateway.calls.length = 0;
  for (const { operationId, schema } of bodies) {
    const call = buildCall(operationId, secrets);
    const usual = JSON.parse(String(call.body));
    for (const requirement of listRequirements(schema, '')) {
      const name = `${operationId} ${requirement.pointer} ${requirement.keyword}`;
      const steps = requirement.pointer.split('/').slice(1);
      // A filter takes the place of the ids that a cancellation usually names.
      const base = steps[0] === 'filter' ? { ...usual, request_ids: undefined } : usual;
      const body = putAt(base, steps, requirement.wrong);
      const answer = await sendChecked(server.url, { ...call, body: JSON.stringify(body) });
      expect(`${answer.status} ${pointersOf(answer).join()}`, name).toBe(
        expectAnswer(operationId, requirement),
      );
      done.push(name);
    }
  }
  for (const { operationId, parameters } of operations) {
    for (const { name: parameter, in: location, schema } of parameters) {
      // Everything in a path or a query is text, or texts between commas; and a path without its last part is
      // another path. None between commas is one that is empty.
      const isText = ['string', 'array'].includes(resolve(schema).type ?? '');
      const requirements = listRequirements(schema, `/${parameter}`).filter(
        ({ keyword }) => !isText || (keyword !== 'type' && keyword !== 'minItems'),
      );
      const isRequired = (operations.find((one) => one.operationId === operationId)?.parameters ?? []).some(
        (one) => one.name === parameter && 'required' in one && one.required === true && location === 'query',
      );
      const missing: readonly Requirement[] = isRequired
        ? [{ pointer: `/${parameter}`, keyword: 'required', wrong: undefined }]
        : [];
      for (const requirement of [...requirements, ...missing]) {
        const wrong = requirement.keyword === 'type' ? 'sixty' : toQuery(requirement.wrong);
        const answer = await sendChecked(server.url, withParameter(operationId, location, parameter, wrong));
        const name = `${operationId} ${location} ${requirement.pointer} ${requirement.keyword}`;
        expect(`${answer.status} ${pointersOf(answer).join()}`, name).toBe(`422 ${requirement.pointer}`);
        done.push(name);
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
  const { minLength = 0, maxLength = 40, minimum, maximum, exclusiveMinimum } = schema;
  const { minItems = 0, maxItems = 5 } = schema;
  switch (schema.type) {
    case 'string':
      return fc.string({ unit: 'grapheme-composite', minLength, maxLength: Math.min(maxLength, 40) });
    case 'integer':
      return fc.integer({ min: minimum ?? -1_000, max: maximum ?? 2 ** 31 - 1 });
    case 'number':
      return fc.double({
        noNaN: true,
        noDefaultInfinity: true,
        min: minimum ?? exclusiveMinimum ?? -1e9,
        max: maximum ?? 1e300,
        minExcluded: exclusiveMinimum !== undefined,
      });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(arbitraryOf(schema.items ?? {}), {
        minLength: minItems,
        maxLength: Math.min(maxItems, 8),
      });
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

type Cancellation = {
  readonly filter?: object | null;
  readonly request_ids?: readonly string[] | null;
  readonly cursor?: string | null;
};

/** The ids where there are any, else the filter; without one, the filter that matches all. */
function chooseTasks({ filter, request_ids }: Cancellation): Cancellation {
  const cursor = null;
  return request_ids
    ? { filter: null, request_ids, cursor }
    : { filter: filter ?? {}, request_ids: null, cursor };
}

type Write = { readonly pieces: readonly { readonly text?: string; readonly data?: unknown }[] };

/** The text of a piece that has one, else its data. */
function choosePieces({ pieces }: Write): Write['pieces'] {
  return pieces.map(({ text, data = null }) => (text === undefined ? { data } : { text }));
}

const VALID_RUNS = Number(process.env.VALID_RUNS ?? 150);

test.each(bodies)(
  '$operationId accepts all that its schema allows',
  { timeout: 240_000 + VALID_RUNS * 10 },
  async (body) => {
    const { operationId, schema } = body;
    // What the schema can't express: what an endpoint is, that no agent is called `.` or `..`, which secret
    // is right, that a cancellation has either a filter or ids, and a cursor only of a call before it, and
    // that a piece has a text or data.
    const own = { endpoint: fc.constantFrom('pull', 'http://127.0.0.1:1/', 'https://[::1]:8443/a?b=c') };
    const values = fc
      .tuple(arbitraryOf(schema), own.endpoint)
      .filter(([value]) => !/^\.\.?$/.test((value as { agent_id?: string }).agent_id ?? ''))
      .map(([value, endpoint]) => ({
        ...(value as object),
        auth: SECRET,
        ...(operationId === 'registerAgent' && { endpoint }),
        ...(operationId === 'writeOutput' && { pieces: choosePieces(value as Write) }),
        ...(operationId === 'cancelTasks' && chooseTasks(value as Cancellation)),
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

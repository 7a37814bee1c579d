/** Random calls within the schemas of the document: the gateway accepts all that they allow. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildCall } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { sendChecked } from './checked-call.ts';
import { createFakeGateway } from './fake-gateway.ts';
import { bodies, resolve, type Schema } from './wrong-values.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(createFakeGateway());
});
afterAll(() => server.stop());

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

/** Every query parameter, wrong in every way: 422 with its name, also when it can't be decoded. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCall, type OperationId } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { pointersOf, sendChecked } from './checked-call.ts';
import { createFakeGateway } from './fake-gateway.ts';
import { breakSchema, operations, type Parameter, resolve } from './wrong-values.ts';

const gateway = createFakeGateway();
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway);
});
afterAll(() => server.stop());

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };

/** Texts that are no value of these types. */
const NO_VALUES: Readonly<Record<string, readonly string[]>> = {
  number: ['', 'soon', '0x10', 'Infinity', 'NaN', '+1', '%201', '1,5', '1e400'],
  integer: ['', 'ten', '1.5', '-1', '1e400'],
  boolean: ['', 'yes', 'TRUE', '1'],
};

/** Every wrong text of a parameter with its location, broken like a field, as it stands in a query. */
function listWrong({ name, schema, required }: Parameter): readonly (readonly [string, string])[] {
  const { type = 'string' } = resolve(schema);
  const broken = breakSchema(schema, `/${name}`).flatMap(({ pointer, keyword, json }) => {
    // All in a query is text, or texts between commas, of which there is always one.
    if (json === undefined || keyword === 'type' || keyword === 'minItems') return [];
    const value: unknown = JSON.parse(json);
    if (typeof value === 'string' && !value.isWellFormed()) return [];
    // A head has room for 16 KiB.
    return [[pointer, encodeURIComponent(String(value).replaceAll('😀', 'k'))] as const];
  });
  const texts = [...(NO_VALUES[type] ?? []), '%ff', '%ed%a0%80', `1&${name}=1`];
  const own = type === 'array' ? [] : texts.map((text) => [`/${name}`, text] as const);
  return [...broken, ...own, ...(required ? [[`/${name}`, ''] as const] : [])];
}

const inQuery = operations.flatMap(({ operationId, parameters }) =>
  parameters.filter((one) => one.in === 'query').map((parameter) => ({ operationId, parameter })),
);

describe('every query parameter', () => {
  test.each(inQuery)(
    '$operationId refuses $parameter.name wrong in every way',
    async ({ operationId, parameter }) => {
      const call = buildCall(operationId, secrets);
      const [path = '', query = ''] = call.path.split('?');
      const others = new URLSearchParams(query);
      others.delete(parameter.name);
      // Without one, no cursor of agents is right.
      if (operationId === 'listAgents' && parameter.name === 'cursor') others.set('limit', '9');
      const wrong = listWrong(parameter);
      expect(wrong.length).toBeGreaterThan(0);
      for (const [pointer, text] of wrong) {
        const wrongPath = `${path}?${others}&${parameter.name}=${text}`;
        const response = await sendChecked(server.url, { ...call, path: wrongPath });
        expect(`${response.status} ${pointersOf(response).join()}`, text.slice(0, 40)).toBe(`422 ${pointer}`);
      }
    },
  );

  test.each([
    ['status=', '/status/0'],
    ['status=pending,none', '/status/1'],
    ['outcome=timeout,', '/outcome/1'],
    ['status=pending,pending,pending,pending,pending', '/status'],
    ['status=%ff', '/status'],
  ])('a list of %s is refused, with the item that is wrong', async (query, pointer) => {
    const call = buildCall('listTasks', secrets);
    const response = await sendChecked(server.url, { ...call, path: `${call.path}?${query}` });
    expect(`${response.status} ${pointersOf(response).join()}`).toBe(`422 ${pointer}`);
  });

  test('a cursor of agents is refused without a limit', async () => {
    const call = buildCall('listAgents', secrets);
    const response = await sendChecked(server.url, { ...call, path: `${call.path}?cursor=Yw` });
    expect(`${response.status} ${pointersOf(response).join()}`).toBe('422 /limit');
  });

  test('filters of rows are passed on as lists, numbers and truth values', async () => {
    gateway.calls.length = 0;
    const ask = async (operationId: OperationId, query: string): Promise<void> => {
      const call = buildCall(operationId, secrets);
      expect((await sendChecked(server.url, { ...call, path: `${call.path}?${query}` })).status).toBe(200);
    };
    await ask('listTasks', 'status=pending%2Cfailed&outcome=no_agent&created_after=1.5&id=12345678');
    await ask('listAgents', 'full=true&failing=false&state=offline&limit=100');
    await ask('listAgents', 'tag=a');
    await ask('getOverview', '');
    expect(gateway.calls.map(({ args }) => args[0])).toEqual([
      {
        status: ['pending', 'failed'],
        outcome: ['no_agent'],
        created_after: 1.5,
        id: '12345678',
        limit: 100,
      },
      { full: true, failing: false, state: 'offline', sort: 'trouble', limit: 100 },
      // Without a limit all are read, by id, part by part.
      { tag: 'a', sort: 'id', limit: 1_000 },
      100,
    ]);
  });

  test.each([
    ['', 0],
    ['wait=0', 0],
    ['wait=0.25', 250],
    ['wait=60', 60_000],
    ['wait=61', 60_000],
    ['wait=1e9', 60_000],
    ['unknown=%ff&%ff=1&=&&wait=2', 2_000],
  ])('a wait of "%s" is one of %d ms', async (query, waitMs) => {
    gateway.calls.length = 0;
    const { path } = buildCall('getTask', secrets);
    expect((await sendChecked(server.url, { method: 'GET', path: `${path}&${query}` })).status).toBe(200);
    expect(gateway.calls[0]?.args[1]).toBe(waitMs);
  });

  test('filters of a listing are passed on decoded, with the default limit', async () => {
    gateway.calls.length = 0;
    const path =
      '/api/admin/tasks?status=failed&counts=true&type=a+b&tag=%E4%B8%AD&session=%2B&agent=a%26b&cursor=Yw';
    expect((await sendChecked(server.url, { ...buildCall('listTasks', secrets), path })).status).toBe(200);
    expect(gateway.calls[0]?.args[0]).toEqual({
      status: ['failed'],
      type: 'a b',
      tag: '中',
      session: '+',
      agent: 'a&b',
      cursor: 'Yw',
      counts: true,
      limit: 100,
    });
  });
});

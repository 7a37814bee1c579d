/** Every query parameter, wrong in every way: 422 with its name, also when it can't be decoded. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCall, type OperationId } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { pointersOf, sendChecked } from './checked-call.ts';
import { createFakeGateway } from './fake-gateway.ts';

const gateway = createFakeGateway();
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway);
});
afterAll(() => server.stop());

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };

describe('every query parameter', () => {
  const refused: readonly (readonly [OperationId, string, string])[] = [
    ...['', 'soon', '-1', '1e400', '0x10', 'Infinity', 'NaN', '+1', '%201', '1,5', '%ff', '1&wait=1'].map(
      (text) => ['getTask', 'wait', text] as const,
    ),
    ...['', '0', '201', '1.5', '-1', 'ten', '1e400', '%ff', '1&limit=2'].map(
      (text) => ['listTasks', 'limit', text] as const,
    ),
    ...['', 'yes', '1', 'true&counts=true'].map((text) => ['listTasks', 'counts', text] as const),
    ...['type', 'tag', 'session', 'agent'].flatMap((name) =>
      ['', '%ff', '%ed%a0%80', 'x'.repeat(257), `a&${name}=a`].map(
        (text) => ['listTasks', name, text] as const,
      ),
    ),
    ...['', '%ff', 'x'.repeat(1_025)].map((text) => ['listTasks', 'cursor', text] as const),
    ...['', 'soon', '1e400', '%ff'].map((text) => ['listTasks', 'created_after', text] as const),
    ...['', '1234567', '%ff', 'x'.repeat(257)].map((text) => ['listTasks', 'id', text] as const),
    ...['', 'yes', 'TRUE', '1', 'true&full=true'].map((text) => ['listAgents', 'full', text] as const),
    ...['', '0', '201', '1.5'].map((text) => ['listAgents', 'limit', text] as const),
    ...['', '%ff', 'x'.repeat(2_049)].map((text) => ['listAgents', 'cursor', `${text}&limit=9`] as const),
    ...['0', '1001', 'all'].map((text) => ['getOverview', 'tags', text] as const),
  ];

  test.each(refused)('%s refuses %s=%s', async (operationId, name, text) => {
    const call = buildCall(operationId, secrets);
    const [path = '', query = 'x='] = call.path.split('?');
    const response = await sendChecked(server.url, { ...call, path: `${path}?${name}=${text}&${query}` });
    expect(`${response.status} ${pointersOf(response).join()}`).toBe(`422 /${name}`);
  });

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

  test.each(['', '%ff', '%ed%a0%80', 'x'.repeat(257), 'a&cli_session_id=a'])(
    'a subscription to %j is refused',
    async (text) => {
      const path = `/api/cli/events?cli_session_id=${text}&auth=${encodeURIComponent(SECRET)}`;
      const response = await sendChecked(server.url, { method: 'GET', path });
      expect(`${response.status} ${pointersOf(response).join()}`).toBe('422 /cli_session_id');
    },
  );

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

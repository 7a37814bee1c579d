/**
 * Authorisation (§5): where each secret is looked for, which ones are right, and what depends on a right one.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createSecrets } from '../../server/http/request/secrets.ts';
import { buildCall, type Call, type OperationId } from '../contract/usual-calls.ts';
import {
  ADMIN_SECRET,
  OLDER_SECRET,
  SECRET,
  startTestServer,
  type TestServer,
} from '../harness/http-server.ts';
import { sendChecked } from './checked-call.ts';
import { createFakeGateway } from './fake-gateway.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const gateway = createFakeGateway();
const AUTH = encodeURIComponent(SECRET);
let server: TestServer;
let strict: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway);
  strict = await startTestServer(gateway, { settings: { isAgentAuthRequired: true } });
});
afterAll(() => Promise.all([server.stop(), strict.stop()]));
beforeEach(() => {
  gateway.calls.length = 0;
});

const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });
const get = (query: string, headers: Record<string, string> = {}): Call => ({
  method: 'GET',
  path: `/api/cli/tasks/x${query}`,
  headers,
});
const submit = (query: string, headers: Record<string, string> = {}, body: object = {}): Call => ({
  ...buildCall('submitTask', secrets, { ...body }),
  path: `/api/cli/tasks${query}`,
  headers,
});

describe('the gateway secret in query and header', () => {
  test.each([
    [`?auth=${AUTH}`, {}, 200],
    [`?auth=${OLDER_SECRET}`, {}, 200],
    ['', bearer(SECRET), 200],
    ['', bearer(OLDER_SECRET), 200],
    ['', { authorization: `bearer  ${SECRET}` }, 200],
    [`?auth=${AUTH}`, bearer('wrong'), 200],
    ['?auth=wrong', bearer(SECRET), 401],
    ['?auth=', bearer(SECRET), 401],
    ['', {}, 401],
    ['?auth', {}, 401],
    ['?Auth=x', {}, 401],
    [`?auth=${AUTH}&auth=${AUTH}`, {}, 401],
    [`?auth=${AUTH}&%61uth=wrong`, {}, 401],
    [`?auth[]=${AUTH}`, {}, 401],
    ['?auth=%ff', {}, 401],
    [`?auth=${SECRET.toUpperCase()}`, {}, 401],
    [`?auth=${AUTH}%00`, {}, 401],
    [`?auth=${encodeURIComponent(ADMIN_SECRET)}`, {}, 401],
    ['', bearer(''), 401],
    ['', { authorization: SECRET }, 401],
    ['', { authorization: `Basic ${btoa(`:${SECRET}`)}` }, 401],
    ['', { 'x-admin-auth': ADMIN_SECRET }, 200],
    ['?auth=wrong', { 'x-admin-auth': ADMIN_SECRET }, 401],
    ['', { 'x-admin-auth': ADMIN_SECRET, ...bearer('wrong') }, 401],
    ['', { 'x-admin-auth': SECRET }, 401],
    [`?auth=${AUTH}`, { 'x-admin-auth': 'wrong' }, 200],
  ])('a read of a task with %j and %j gets %d', async (query, headers, status) => {
    expect((await sendChecked(server.url, get(query, headers))).status).toBe(status);
  });

  test.each([
    ['', {}, {}, 200],
    [`?auth=${AUTH}`, {}, {}, 200],
    ['', bearer(SECRET), {}, 200],
    ['', { authorization: 'Basic eDp5' }, {}, 200],
    ['?auth=wrong', {}, {}, 401],
    ['', bearer('wrong'), {}, 401],
    [`?auth=${AUTH}`, {}, { auth: 'wrong' }, 401],
    [`?auth=${AUTH}`, {}, { auth: OLDER_SECRET }, 200],
    ['', {}, { auth: '' }, 401],
    // A right one in the query does not replace the one in the body (§4.1).
    [`?auth=${AUTH}`, {}, { auth: undefined }, 422],
    ['', bearer(SECRET), { auth: null }, 422],
    ['', {}, { auth: [SECRET] }, 422],
  ])('a submission with %j, %j and the body %j gets %d', async (query, headers, body, status) => {
    expect((await sendChecked(server.url, submit(query, headers, body))).status).toBe(status);
  });

  test.each(['registerAgent', 'claimTask'] as const)(
    '%s takes a secret in the query or the header only if it is right',
    async (operationId) => {
      const call = buildCall(operationId, secrets);
      expect((await sendChecked(server.url, { ...call, headers: bearer('wrong') })).status).toBe(401);
      expect((await sendChecked(server.url, { ...call, headers: bearer(SECRET) })).status).toBeLessThan(300);
      expect(
        (await sendChecked(server.url, { ...call, path: `${call.path}?auth=${AUTH}` })).status,
      ).toBeLessThan(300);
      expect((await sendChecked(server.url, { ...call, path: `${call.path}?auth=wrong` })).status).toBe(401);
    },
  );
});

describe('the secret of an agent', () => {
  test.each(['heartbeatAgent', 'reportResult', 'unregisterAgent'] as const)(
    '%s takes it from header and query, and a wrong one is refused before the body is read',
    async (operationId) => {
      const call = buildCall(operationId, secrets, { auth: undefined });
      const inQuery = (auth: string): typeof call => ({ ...call, path: `${call.path}?auth=${auth}` });
      for (const on of [server, strict]) {
        expect((await sendChecked(on.url, { ...call, headers: bearer(SECRET) })).status).toBe(200);
        expect((await sendChecked(on.url, inQuery(AUTH))).status).toBe(200);
      }
      for (const wrong of [{ ...call, headers: bearer('wrong') }, inQuery('wrong')])
        expect((await sendChecked(server.url, { ...wrong, body: '{' })).status).toBe(401);
    },
  );

  const agentCalls = ['heartbeatAgent', 'reportResult', 'unregisterAgent'] as const;
  const status = async (on: TestServer, operationId: OperationId, body: object): Promise<number> =>
    (await sendChecked(on.url, buildCall(operationId, secrets, { ...body }))).status;

  test.each(agentCalls)('%s may be sent without one, but not with a wrong one', async (operationId) => {
    expect(await status(server, operationId, {})).toBe(200);
    expect(await status(server, operationId, { auth: SECRET })).toBe(200);
    expect(await status(server, operationId, { auth: 'wrong' })).toBe(401);
    expect(await status(server, operationId, { auth: '' })).toBe(401);
    expect(await status(server, operationId, { auth: null })).toBe(422);
  });

  test.each(agentCalls)('%s needs one where the gateway is configured to require it', async (operationId) => {
    expect(await status(strict, operationId, { auth: SECRET })).toBe(200);
    for (const auth of [undefined, null, 1, 'wrong', [SECRET]])
      expect(await status(strict, operationId, { auth })).toBe(401);
    const call = buildCall(operationId, secrets);
    expect((await sendChecked(strict.url, { ...call, path: `${call.path}?auth=${AUTH}` })).status).toBe(200);
    expect((await sendChecked(strict.url, { ...call, headers: bearer(SECRET) })).status).toBe(200);
  });

  test.each(['registerAgent', 'claimTask'] as const)('%s always needs one', async (operationId) => {
    expect(await status(server, operationId, { auth: undefined })).toBe(422);
    expect(await status(server, operationId, { auth: 'wrong' })).toBe(401);
    expect(await status(strict, operationId, { auth: undefined })).toBe(422);
  });

  test('the optional fields of a heartbeat count only with a right one, wherever it stands', async () => {
    const more = { current_load: 3, request_ids: ['r'], draining: true };
    await status(server, 'heartbeatAgent', more);
    await status(server, 'heartbeatAgent', { ...more, auth: SECRET });
    const call = buildCall('heartbeatAgent', secrets, more);
    await sendChecked(server.url, { ...call, headers: bearer(SECRET) });
    await sendChecked(server.url, { ...call, path: `${call.path}?auth=${AUTH}` });
    const counted = { agent_id: 'a', ...more };
    expect(gateway.calls.map(({ args }) => args[0])).toEqual([{ agent_id: 'a' }, counted, counted, counted]);
  });
});

test('a heartbeat without a secret learns of no task where other machines may send it', async () => {
  const known = createFakeGateway({
    heartbeatAgent: async ({ agent_id }) => ({
      ok: true,
      agent_id,
      state: 'ready',
      cancelled_request_ids: ['task-1'],
    }),
  });
  const learnt = async (on: TestServer, auth?: string): Promise<unknown> =>
    (await sendChecked(on.url, buildCall('heartbeatAgent', secrets, { auth }))).json.cancelled_request_ids;
  for (const areStrangersServed of [true, false]) {
    const open = await startTestServer(known, { settings: { areStrangersServed } });
    expect(await learnt(open)).toEqual(areStrangersServed ? [] : ['task-1']);
    expect(await learnt(open, SECRET)).toEqual(['task-1']);
    await open.stop();
  }
});

describe('the administrator’s secret', () => {
  test.each([
    [{ 'x-admin-auth': ADMIN_SECRET }, '', 200],
    [{ 'x-admin-auth': ADMIN_SECRET }, '?auth=wrong', 200],
    [{}, '', 401],
    [{ 'x-admin-auth': '' }, '', 401],
    [{ 'x-admin-auth': SECRET }, '', 401],
    [{ 'x-admin-auth': `${ADMIN_SECRET}, ${ADMIN_SECRET}` }, '', 401],
    [bearer(ADMIN_SECRET), '', 401],
    [bearer(SECRET), `?auth=${AUTH}`, 401],
  ])('a listing with %j and %j gets %d', async (headers, query, status) => {
    for (const path of ['/api/admin/agents', '/api/admin/tasks']) {
      expect((await sendChecked(server.url, { method: 'GET', path: path + query, headers })).status).toBe(
        status,
      );
    }
  });
});

describe('secrets', () => {
  test('an empty secret never matches, nor does a value that is not a string', () => {
    const { isGatewaySecret, isAdminSecret } = createSecrets({ gateway: ['', 'a'], admin: [''] });
    expect([isGatewaySecret('a'), isGatewaySecret(''), isAdminSecret('')]).toEqual([true, false, false]);
    for (const value of [undefined, null, 0, ['a'], { toString: () => 'a' }, new String('a')]) {
      expect(isGatewaySecret(value)).toBe(false);
    }
  });

  test('an administrator’s secret that is also a gateway secret authorises no administrator’s call', () => {
    const { isAdminSecret } = createSecrets({ gateway: ['same'], admin: ['same', 'own'] });
    expect([isAdminSecret('same'), isAdminSecret('own')]).toEqual([false, true]);
  });
});

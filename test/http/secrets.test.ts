/**
 * Authorisation (§5): where each secret is looked for, which ones are right, and what depends on a right one.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createSecrets } from '../../server/http/request/secrets.ts';
import { buildCall, type OperationId } from '../contract/usual-calls.ts';
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

/** The whole matrix of places and secrets is in `guide.test.ts`. */
describe('the gateway secret in query and header', () => {
  test.each([
    ['', { authorization: `bearer  ${SECRET}` }, 200],
    ['?auth=', bearer(SECRET), 401],
    ['', bearer(''), 401],
    ['', { authorization: SECRET }, 401],
    ['', { authorization: `Basic ${btoa(`:${SECRET}`)}` }, 401],
    ...[`auth=${AUTH}&auth=${AUTH}`, `auth=${AUTH}&auth=wrong`, `auth=wrong&auth=${AUTH}`, 'auth', 'auth=%ff']
      .concat([`auth=${AUTH}&%61uth=${AUTH}`, `auth=${AUTH}&auth`, `auth=${AUTH}%ff`, `auth[]=${AUTH}`])
      .concat([`auth[0]=${AUTH}`, `Auth=${AUTH}`, `auth%00=${AUTH}`, `a=${AUTH}`])
      .map((query) => [`?${query}`, {}, 401] as const),
    [`?auth=${encodeURIComponent(OLDER_SECRET)}`, {}, 200],
    ['', { authorization: `Bearer ${OLDER_SECRET}` }, 200],
  ] as const)('a read of a task with %j and %j gets %d', async (query, headers, status) => {
    const call = { method: 'GET', path: `/api/cli/tasks/x${query}`, headers } as const;
    expect((await sendChecked(server.url, call)).status).toBe(status);
  });
});

describe('the secret of an agent', () => {
  const agentCalls = ['heartbeatAgent', 'reportResult', 'unregisterAgent'] as const;
  const status = async (on: TestServer, operationId: OperationId, body: object): Promise<number> =>
    (await sendChecked(on.url, buildCall(operationId, secrets, { ...body }))).status;

  test.each(agentCalls)('%s with a wrong one beside its body is refused before that is read', async (id) => {
    const call = { ...buildCall(id, secrets, { auth: undefined }), body: '{' };
    for (const wrong of [
      { ...call, headers: bearer('wrong') },
      { ...call, path: `${call.path}?auth=wrong` },
    ])
      expect((await sendChecked(server.url, wrong)).status).toBe(401);
  });

  test.each(agentCalls)('%s that is not a text is missing where one must be', async (operationId) => {
    for (const auth of [1, [SECRET]]) expect(await status(strict, operationId, { auth })).toBe(401);
  });

  test.each(['registerAgent', 'claimTask'] as const)('%s without one is invalid there too', async (id) => {
    expect(await status(strict, id, { auth: undefined })).toBe(422);
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

test.each(['getTask', 'readOutput', 'subscribeEvents', 'listAgents', 'listTasks', 'getOverview'] as const)(
  '%s with a wrong secret learns nothing of its parameters',
  async (operationId) => {
    const { path } = buildCall(operationId, { gateway: 'wrong', admin: 'wrong' });
    const query = `${path.includes('?') ? '&' : '?'}wait=-1&limit=-1&tags=-1&status=ended&cli_session_id=`;
    const call = { method: 'GET', path: path + query, headers: { 'x-admin-auth': 'wrong' } } as const;
    expect((await sendChecked(server.url, call)).status).toBe(401);
  },
);

test('a secret that agents must have is missed behind the bytes of a body, and before what is in it', async () => {
  for (const operationId of ['heartbeatAgent', 'reportResult', 'unregisterAgent'] as const) {
    const call = buildCall(operationId, secrets);
    const codeOf = async (body: string) => (await sendChecked(strict.url, { ...call, body })).json.code;
    expect(await codeOf('{')).toBe('malformed_body');
    for (const body of ['{}', '[]', '{"agent_id":1}']) expect(await codeOf(body), body).toBe('unauthorized');
  }
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

test('an administrator’s secret that is empty is wrong', async () => {
  for (const path of ['/api/admin/agents', '/api/admin/tasks']) {
    const call = { method: 'GET', path, headers: { 'x-admin-auth': '' } } as const;
    expect((await sendChecked(server.url, call)).status).toBe(401);
  }
});

/** Texts that are almost the secret. */
function listNearly(secret: string, other: string): readonly string[] {
  const middle = Math.floor(secret.length / 2);
  return [
    ...['', ' ', secret.slice(1), secret.slice(0, -1), `${secret}x`, `x${secret}`, secret + secret],
    ...[
      secret.toUpperCase(),
      `${secret} `,
      ` ${secret}`,
      `${secret}\n`,
      `${secret}\u0000`,
      `\u0000${secret}`,
    ],
    ...[`${secret.slice(0, middle)}\u200b${secret.slice(middle)}`, `\ufeff${secret}`, `${secret}\u00ad`],
    // Look-alikes: a Cyrillic е, the full-width forms that normalization folds back, a combining mark.
    ...[secret.replace('e', 'е'), toFullWidth(secret), `${secret}\u0301`, `${secret}\u2028`],
    ...[`"${secret}"`, `'${secret}'`, `Bearer ${secret}`, encodeURIComponent(secret), btoa(secret)],
    ...[
      `${secret},${secret}`,
      `${secret},wrong`,
      `wrong,${secret}`,
      `${secret};`,
      other,
      `${secret}${other}`,
    ],
    ...['null', 'undefined', 'true', '0', '*', '%', '.*', '__proto__', 'constructor', '[object Object]'],
    `${secret}${'x'.repeat(8_000)}`,
  ].filter((text) => text !== secret);
}

function toFullWidth(text: string): string {
  return [...text].map((char) => String.fromCodePoint((char.codePointAt(0) ?? 0) + 0xfee0)).join('');
}

describe('secrets', () => {
  test('an empty secret never matches, nor does a value that is not a string', () => {
    const { isGatewaySecret, isAdminSecret } = createSecrets({ gateway: ['', 'a'], admin: [''] });
    expect([isGatewaySecret('a'), isGatewaySecret(''), isAdminSecret('')]).toEqual([true, false, false]);
    for (const value of [undefined, null, 0, ['a'], { toString: () => 'a' }, new String('a')]) {
      expect(isGatewaySecret(value)).toBe(false);
    }
  });

  test('nothing that is almost a secret is one, and each of two is', () => {
    const { isGatewaySecret, isAdminSecret } = createSecrets({
      gateway: [SECRET, 'b'],
      admin: [ADMIN_SECRET],
    });
    for (const text of listNearly(SECRET, ADMIN_SECRET)) expect(isGatewaySecret(text), text).toBe(false);
    for (const text of listNearly(ADMIN_SECRET, SECRET)) expect(isAdminSecret(text), text).toBe(false);
    expect([SECRET, 'b'].map(isGatewaySecret)).toEqual([true, true]);
    expect([ADMIN_SECRET, SECRET].map(isAdminSecret)).toEqual([true, false]);
  });

  test('an administrator’s secret that is also a gateway secret authorises no administrator’s call', () => {
    const { isAdminSecret } = createSecrets({ gateway: ['same'], admin: ['same', 'own'] });
    expect([isAdminSecret('same'), isAdminSecret('own')]).toEqual([false, true]);
  });
});

describe('the comparison', () => {
  test('is made in one function, of digests of one length, in constant time, and of all secrets', () => {
    const source = readFileSync('server/http/request/secrets.ts', 'utf8');
    expect(source.match(/timingSafeEqual\(/g)).toHaveLength(1);
    // Every right secret is compared, whichever matches: no early end reveals which of two it was.
    expect(source).toMatch(
      /for \(const secret of digests\) isEqual = timingSafeEqual\(secret, candidate\) \|\| isEqual;/,
    );
    expect(source).toMatch(/hash\('sha256'/);
    const own = join('http', 'request', 'secrets.ts');
    const others = readdirSync('server', { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && file !== own)
      .map((file) => [file, readFileSync(join('server', file), 'utf8')] as const);
    expect(others.length).toBeGreaterThan(50);
    for (const [file, text] of others) {
      expect(text, file).not.toMatch(/timingSafeEqual/);
      expect(text, file).not.toMatch(/[!=]==? *(secret|gatewayAuth|adminAuth|auth)\b/);
    }
  });
});

/**
 * Every operation of the document against every way in which a secret can be almost right, wherever a request
 * may carry it; both secrets of a rotation are right; and there is one comparison, of digests, in constant
 * time.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCall, OPERATIONS, type OperationId } from '../contract/usual-calls.ts';
import {
  ADMIN_SECRET,
  OLDER_SECRET,
  SECRET,
  startTestServer,
  type TestServer,
} from '../harness/http-server.ts';
import { createFakeGateway } from '../http/fake-gateway.ts';
import { exchange } from '../http/raw-connection.ts';
import { operations } from '../http/wrong-values.ts';

type Location = 'body' | 'query' | 'bearer' | 'admin';

/**
 * Where each operation takes its secret (§5.2). An operation that is added to the document must get a row.
 */
const LOCATIONS: Readonly<Record<OperationId, readonly Location[]>> = {
  submitTask: ['body', 'query', 'bearer'],
  getTask: ['query', 'bearer', 'admin'],
  explainTask: ['query', 'bearer', 'admin'],
  previewMatch: ['body', 'query', 'bearer', 'admin'],
  cancelTask: ['query', 'bearer'],
  answerTask: ['query', 'bearer'],
  subscribeEvents: ['query', 'bearer'],
  registerAgent: ['body', 'query', 'bearer'],
  heartbeatAgent: ['body', 'query', 'bearer'],
  claimTask: ['body', 'query', 'bearer'],
  claimAnswer: ['body', 'query', 'bearer'],
  reportResult: ['body', 'query', 'bearer'],
  unregisterAgent: ['body', 'query', 'bearer'],
  writeOutput: ['body', 'query', 'bearer'],
  readOutput: ['query', 'bearer', 'admin'],
  listAgents: ['admin'],
  listTasks: ['admin'],
  getOverview: ['admin'],
  cancelTasks: ['admin'],
  getAgent: ['admin'],
  drainAgent: ['admin'],
};

const gateway = createFakeGateway();
const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway);
});
afterAll(() => server.stop());

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

/** Whether a text can stand in a header and come out as it went in. */
const isHeaderText = (text: string): boolean => /^[\x21-\xff]([\x20-\xff]*[\x21-\xff])?$/.test(text);

/** The usual request with the secret in one location, and with more headers. */
function writeCall(
  operationId: OperationId,
  location: Location,
  secret: string,
  more: readonly string[] = [],
): string {
  const { method, path, body } = buildCall(
    operationId,
    secrets,
    location === 'body' ? { auth: secret } : location === 'admin' ? { auth: undefined } : {},
    'x',
  );
  const lines = [...more];
  const [bare = '', query = ''] = path.split('?');
  const rest = new URLSearchParams(query);
  rest.delete('auth');
  if (location === 'query') rest.set('auth', secret);
  if (location === 'bearer') lines.push(`Authorization: Bearer ${secret}`);
  if (location === 'admin') lines.push(`X-Admin-Auth: ${secret}`);
  const text = body === undefined ? '' : String(body);
  if (text !== '') lines.push(`Content-Length: ${Buffer.byteLength(text)}`);
  const glue = rest.size > 0 ? `?${rest}` : '';
  const head = [`${method} ${bare}${glue} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines].join('\r\n');
  return `${head}\r\n\r\n${text}`;
}

/** The status; of a stream as soon as it begins. */
async function askStatus(request: string): Promise<number> {
  const isStream = request.startsWith('GET /api/cli/events');
  const answer = await exchange(server.port, isStream ? request.replace('GET', 'HEAD') : request);
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
}

const rows = OPERATIONS.flatMap((operationId) =>
  LOCATIONS[operationId].map((location) => ({ operationId, location })),
);

describe('every operation of the document', () => {
  test('has a row here', () => {
    const documented = operations.map(({ operationId }) => operationId);
    expect([...documented].sort()).toEqual(Object.keys(LOCATIONS).sort());
    expect([...OPERATIONS].sort()).toEqual([...documented].sort());
  });

  test.each(rows)(
    '$operationId refuses a secret that is almost right in its $location',
    async ({ operationId, location }) => {
      const [right, other] = location === 'admin' ? [ADMIN_SECRET, SECRET] : [SECRET, ADMIN_SECRET];
      expect(await askStatus(writeCall(operationId, location, right))).toBe(
        200 + (operationId === 'claimTask' ? 4 : 0),
      );
      gateway.calls.length = 0;
      const inHeader = location === 'admin' || location === 'bearer';
      const nearly = listNearly(right, other).filter((text) => !inHeader || isHeaderText(text));
      expect(nearly.length).toBeGreaterThan(inHeader ? 15 : 30);
      for (const text of nearly)
        expect([text, await askStatus(writeCall(operationId, location, text))]).toEqual([text, 401]);
      expect(gateway.calls).toEqual([]);
    },
  );

  test.each(rows.filter(({ location }) => location === 'query'))(
    '$operationId refuses a secret that is repeated or an array in its query',
    async ({ operationId }) => {
      gateway.calls.length = 0;
      const right = encodeURIComponent(SECRET);
      const marked = writeCall(operationId, 'query', 'MARK');
      for (const query of [
        ...[
          `auth=${right}&auth=${right}`,
          `auth=${right}&auth=wrong`,
          `auth=wrong&auth=${right}`,
          'auth',
          'auth=',
        ],
        ...[`auth=${right}&%61uth=${right}`, `auth=${right}&auth`, 'auth=%ff', `auth=${right}%ff`],
      ]) {
        expect([query, await askStatus(marked.replace('auth=MARK', query))]).toEqual([query, 401]);
      }
      // Another name is no secret at all: where the query must have one, there is none.
      if (!LOCATIONS[operationId].includes('body')) {
        for (const query of [
          `auth[]=${right}`,
          `auth[0]=${right}`,
          `Auth=${right}`,
          `auth%00=${right}`,
          `a=${right}`,
        ])
          expect([query, await askStatus(marked.replace('auth=MARK', query))]).toEqual([query, 401]);
      }
      expect(gateway.calls).toEqual([]);
    },
  );

  test.each(rows.filter(({ location }) => location === 'body'))(
    '$operationId refuses a secret that is not a string in its body',
    async ({ operationId }) => {
      gateway.calls.length = 0;
      const text = JSON.stringify(SECRET);
      for (const json of [
        `[${text}]`,
        `{"0":${text}}`,
        `{"toString":${text}}`,
        '1',
        'true',
        'null',
        '[]',
        '{}',
      ]) {
        const call = writeCall(operationId, 'body', 'MARK').replace('"MARK"', json);
        const fitting = call.replace(
          /Content-Length: \d+/,
          `Content-Length: ${Buffer.byteLength(call.split('\r\n\r\n')[1] ?? '')}`,
        );
        expect([json, await askStatus(fitting)]).toEqual([json, 422]);
      }
      expect(gateway.calls).toEqual([]);
    },
  );

  test.each(rows.filter(({ location }) => location === 'admin'))(
    '$operationId refuses a secret header that is given twice',
    async ({ operationId }) => {
      const twice = writeCall(operationId, 'admin', ADMIN_SECRET, [`X-Admin-Auth: ${ADMIN_SECRET}`]);
      expect(await askStatus(twice)).toBe(401);
    },
  );

  test.each(rows.filter(({ location }) => location !== 'admin'))(
    '$operationId accepts the previous secret too in its $location',
    async ({ operationId, location }) => {
      expect(await askStatus(writeCall(operationId, location, OLDER_SECRET))).toBeLessThan(300);
    },
  );
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
    // One file has the function itself, for the simulator's bundle: no platform brings it there.
    const own = [join('http', 'request', 'secrets.ts'), join('simulator', 'bundled', 'node-crypto.ts')];
    const others = readdirSync('server', { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !own.includes(file))
      .map((file) => [file, readFileSync(join('server', file), 'utf8')] as const);
    expect(others.length).toBeGreaterThan(50);
    for (const [file, text] of others) {
      expect(text, file).not.toMatch(/timingSafeEqual/);
      expect(text, file).not.toMatch(/[!=]==? *(secret|gatewayAuth|adminAuth|auth)\b/);
    }
  });
});

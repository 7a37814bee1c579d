/**
 * How a body is read: what is refused, that framing makes no difference, and what happens to the connection.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { buildCall } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { sendChecked } from './checked-call.ts';
import { createFakeGateway } from './fake-gateway.ts';
import { openConnection, type RawConnection } from './raw-connection.ts';

const BODY_BYTES_MAX = 200_000;
const gateway = createFakeGateway();
const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const submit = buildCall('submitTask', secrets);
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway, { limits: { bodyBytesMax: BODY_BYTES_MAX } });
});
afterAll(() => server.stop());
beforeEach(() => {
  gateway.calls.length = 0;
});

/** A body of exactly this many bytes. */
function buildBody(bytes: number): Buffer {
  const empty = JSON.stringify({ ...JSON.parse(String(submit.body)), fill: '' });
  const fill = 'x'.repeat(bytes - Buffer.byteLength(empty));
  return Buffer.from(JSON.stringify({ ...JSON.parse(String(submit.body)), fill }));
}

type Framing = 'length' | 'chunks';

/** Sends a body in one framing over a raw connection, which the caller closes. */
async function post(
  framing: Framing,
  body: Uint8Array,
  headers = '',
): Promise<{ connection: RawConnection; status: number; code: string }> {
  const connection = await openConnection(server.port);
  const head = `POST /api/cli/tasks HTTP/1.1\r\nHost: a\r\n${headers}`;
  if (framing === 'length') {
    connection.write(`${head}Content-Length: ${body.length}\r\n\r\n`);
    connection.write(body);
  } else {
    connection.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    const half = Math.ceil(body.length / 2);
    for (const part of [body.subarray(0, half), body.subarray(half)]) {
      if (part.length === 0) continue;
      connection.write(`${part.length.toString(16)}\r\n`);
      connection.write(part);
      connection.write('\r\n');
    }
    connection.write('0\r\n\r\n');
  }
  const text = await connection.readUntil(/\r\n\r\n.*\}$/s);
  return {
    connection,
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]),
    code: /"code":"(\w+)"/.exec(text)?.[1] ?? 'none',
  };
}

const bytes = (...parts: readonly (string | readonly number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));

const cases: readonly (readonly [string, Buffer, string])[] = [
  ['a valid body', bytes(String(submit.body)), '200 none'],
  ['a valid body of the largest size', buildBody(BODY_BYTES_MAX), '200 none'],
  ['a body one byte larger', buildBody(BODY_BYTES_MAX + 1), '413 payload_too_large'],
  ['nothing', bytes(), '400 malformed_body'],
  ['a byte-order mark', bytes([0xef, 0xbb, 0xbf], String(submit.body)), '400 malformed_body'],
  ['UTF-16', Buffer.from(`\ufeff${String(submit.body)}`, 'utf16le'), '400 malformed_body'],
  ['an invalid UTF-8 sequence', bytes('{"auth":"', [0xc3, 0x28], '"}'), '400 malformed_body'],
  ['half a character, encoded', bytes('{"auth":"', [0xed, 0xa0, 0x80], '"}'), '400 malformed_body'],
  ['Latin-1', Buffer.from('{"auth":"ü"}', 'latin1'), '400 malformed_body'],
  ['a form', bytes('auth=x&task_type=t'), '400 malformed_body'],
  ['two values', bytes('{}{}'), '400 malformed_body'],
  ['a comment', bytes('{/**/}'), '400 malformed_body'],
  ['a trailing comma', bytes('{"a":1,}'), '400 malformed_body'],
  ['NaN', bytes('{"timeout":NaN}'), '400 malformed_body'],
];

describe('reading a body', () => {
  test.each(cases)('%s gets the same response in every framing', async (_what, body, expected) => {
    for (const framing of ['length', 'chunks'] as const) {
      const { connection, status, code } = await post(framing, body);
      expect(`${status} ${code}`, framing).toBe(expected);
      connection.close();
    }
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'nonsense',
    'application/json; charset=latin1',
    '',
  ])('the content type %j does not matter without an Origin', async (type) => {
    for (const framing of ['length', 'chunks'] as const) {
      const { connection, status } = await post(
        framing,
        bytes(String(submit.body)),
        `Content-Type: ${type}\r\n`,
      );
      expect(status, framing).toBe(200);
      connection.close();
    }
  });

  test.each([
    ['Origin: http://page\r\nContent-Type: text/plain\r\n', 415],
    ['Origin: http://page\r\n', 415],
    ['Origin: null\r\nContent-Type: application/jsonp\r\n', 415],
    ['Origin: http://page\r\nContent-Type: Application/JSON ; charset=utf-8\r\n', 200],
    ['Content-Encoding: gzip\r\n', 415],
    ['Content-Encoding: deflate, identity\r\n', 415],
    ['Content-Encoding: Identity\r\n', 200],
  ])('with the headers %j the response is %d', async (headers, expected) => {
    for (const framing of ['length', 'chunks'] as const) {
      const { connection, status } = await post(framing, bytes(String(submit.body)), headers);
      expect(status, framing).toBe(expected);
      connection.close();
    }
  });

  test('text outside ASCII arrives as it was sent, in every framing', async () => {
    const task = { ...JSON.parse(String(submit.body)), payload: { text: '你好 😀 \u2028\u0000' } };
    for (const framing of ['length', 'chunks'] as const)
      (await post(framing, bytes(JSON.stringify(task)))).connection.close();
    expect(gateway.calls.map(({ args }) => args[0])).toEqual([
      expect.objectContaining({ payload: task.payload }),
      expect.objectContaining({ payload: task.payload }),
    ]);
  });

  test('a key called __proto__ stays data and pollutes nothing', async () => {
    const body = String(submit.body).replace(
      '"payload":{',
      '"__proto__":{"timeout":5},"payload":{"__proto__":{"x":1},',
    );
    expect((await sendChecked(server.url, { ...submit, body })).status).toBe(200);
    const [asked] = gateway.calls;
    expect(asked?.args[0]).toMatchObject({ timeout: 600 });
    expect(JSON.stringify(asked?.args[0])).toContain('"__proto__":{"x":1}');
    expect(Reflect.get({}, 'x')).toBeUndefined();
  });
});

/** What can be wrong with a body, in the order of the checks: fields, headers, and what follows it. */
const FAULTS: readonly (readonly [expected: string, fields: object, headers: object, rest: string])[] = [
  ['413 payload_too_large', { more: 'x'.repeat(BODY_BYTES_MAX) }, {}, ''],
  ['415 unsupported_media_type', {}, { 'content-encoding': 'br' }, ''],
  ['400 malformed_body', {}, {}, '}'],
  ['401 unauthorized', { auth: 'wrong' }, {}, ''],
  ['422 validation_failed', { payload: 1 }, {}, ''],
];
const pairs = FAULTS.flatMap((first, n) =>
  FAULTS.slice(n).map((second) => [first[0], second[0], first, second] as const),
);

test.each(pairs)('a %s comes before a %s, and no task begins', async (expected, _, first, second) => {
  const [, fields, headers, rest] = first;
  const text = JSON.stringify({ ...JSON.parse(String(submit.body)), ...second[1], ...fields });
  const { status, json } = await sendChecked(server.url, {
    ...submit,
    headers: { ...submit.headers, ...second[2], ...headers },
    body: text + rest + second[3],
  });
  expect(`${status} ${json.code}`).toBe(expected);
  expect(gateway.calls).toEqual([]);
});

describe('a body that was not read', () => {
  test('that is too large in chunks is refused while it is still arriving', async () => {
    const connection = await openConnection(server.port);
    connection.write('POST /api/cli/tasks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunk = `${(50_000).toString(16)}\r\n${'x'.repeat(50_000)}\r\n`;
    for (let count = 0; count < 5; count += 1) connection.write(chunk);
    const text = await connection.readUntil(/\r\n\r\n.*\}$/s);
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    // The caller sends the rest, and the connection serves its next call.
    for (let count = 0; count < 5; count += 1) connection.write(chunk);
    connection.write('0\r\n\r\nGET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    expect(await connection.readAll()).toMatch(/\}HTTP\/1\.1 /);
  });

  test('that is too large gets a response that an ordinary client can read', async () => {
    const response = await sendChecked(server.url, { ...submit, body: 'x'.repeat(3_000_000) });
    expect(response.json.code).toBe('payload_too_large');
  });

  test('of a cancel is ignored', async () => {
    const cancel = buildCall('cancelTask', secrets);
    for (const body of ['', '{', 'x'.repeat(300_000)]) {
      const response = await sendChecked(server.url, {
        ...cancel,
        body,
        headers: { 'content-type': 'application/json' },
      });
      expect(response.status).toBe(200);
    }
  });
});

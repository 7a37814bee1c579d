/**
 * The bytes of responses, whole: which headers there are, in which order and spelling. Each operation is
 * called with and without an `Origin`, to which no caller may see a difference where no page is allowed.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayError } from '../../server/ports/gateway.ts';
import { buildCall, type Call, OPERATIONS, type OperationId } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import {
  AGENT,
  CANCELLATION,
  createFakeGateway,
  EXPLANATION,
  FOUND,
  OVERVIEW,
  PREVIEW,
  TASK,
} from './fake-gateway.ts';
import { openConnection } from './raw-connection.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const document = fileURLToPath(import.meta.resolve('@task-gateway/contract/openapi.whole.json'));
const VERSION: string = JSON.parse(readFileSync(document, 'utf8')).info.version;
const ORIGIN = 'https://page.example';

const TASK_JSON =
  '{"request_id":"task-1","task_type":"t","task_tags":["a"],"payload":{"text":"你好"},"status":"pending",' +
  '"agent_id":null,"cli_session_id":"s","create_time":1700000000.123,"timeout":600,"progress":0,"result":null,' +
  '"error_info":null}';

const { time, ...overview } = OVERVIEW;

/** The success of each operation behind its headers; null is a response without a body. */
const BODIES: Readonly<Record<OperationId, string | null>> = {
  submitTask: TASK_JSON,
  getTask: TASK_JSON,
  explainTask: JSON.stringify(EXPLANATION),
  previewMatch: JSON.stringify(PREVIEW),
  cancelTask: '{"ok":true,"request_id":"x1"}',
  subscribeEvents: '16\r\nretry: 2000\n\n: ready\n\n\r\n',
  registerAgent:
    '{"ok":true,"agent_id":"a","state":"ready","registration":"r1","heartbeat_interval":15,' +
    '"offline_after":90,"cancelled_request_ids":[]}',
  heartbeatAgent: '{"ok":true,"agent_id":"a","state":"ready","cancelled_request_ids":[]}',
  claimTask: null,
  reportResult: '{"ok":true,"request_id":"x1","status":"success","accepted":true}',
  unregisterAgent: '{"ok":true,"agent_id":"a"}',
  listTasks: '{"time":1700000000.123,"tasks":[],"next_cursor":null,"counts":null}',
  getOverview: JSON.stringify({ time, version: VERSION, ...overview }),
  cancelTasks: JSON.stringify(CANCELLATION),
  listAgents:
    '{"time":1700000000.123,"agents":[],"total":0,"counts":{"total":0,"ready":0,"processing":0,"draining":0,' +
    '"offline":0,"full":0,"failing":0},"next_cursor":null}',
  getAgent: JSON.stringify(AGENT),
};

/** Reads with an `ETag`, which names the content without its `time`. */
const TAGGED: ReadonlySet<string> = new Set(['getOverview', 'listTasks', 'getAgent']);

const JSON_HEAD = `HTTP/1.1 200 OK
Task-Gateway-Version: VERSION
Cache-Control: no-store
Referrer-Policy: no-referrer
X-Content-Type-Options: nosniff
Content-Type: application/json
Content-Length: LENGTH
Date: DATE
Connection: keep-alive
Keep-Alive: timeout=20

`;
const TAGGED_HEAD = JSON_HEAD.replace('no-store', 'no-cache').replace(
  '\nContent-Length',
  '\nETag: ETAG\nContent-Length',
);
const UNCHANGED_HEAD = `HTTP/1.1 304 Not Modified
Task-Gateway-Version: VERSION
Cache-Control: no-cache
Referrer-Policy: no-referrer
X-Content-Type-Options: nosniff
ETag: ETAG
Date: DATE
Connection: keep-alive
Keep-Alive: timeout=20

`;
const EMPTY_HEAD = `HTTP/1.1 204 No Content
Task-Gateway-Version: VERSION
Cache-Control: no-store
Referrer-Policy: no-referrer
X-Content-Type-Options: nosniff
Date: DATE
Connection: keep-alive
Keep-Alive: timeout=20

`;
const STREAM_HEAD = `HTTP/1.1 200 OK
Task-Gateway-Version: VERSION
Cache-Control: no-store, no-transform
Referrer-Policy: no-referrer
X-Content-Type-Options: nosniff
Content-Type: text/event-stream
X-Accel-Buffering: no
Date: DATE
Connection: keep-alive
Keep-Alive: timeout=20
Transfer-Encoding: chunked

`;
const PAGE_HEAD = JSON_HEAD.replace(
  '\nContent-Type',
  `\nAccess-Control-Allow-Origin: ${ORIGIN}
Access-Control-Expose-Headers: Task-Gateway-Version, Retry-After, ETag, Task-Outcome
Vary: Origin
Content-Type`,
);
const PROBLEM_HEAD = `HTTP/1.1 404 Not Found
Task-Gateway-Version: VERSION
Cache-Control: no-store
Referrer-Policy: no-referrer
X-Content-Type-Options: nosniff
Content-Type: application/problem+json
Content-Length: LENGTH
Date: DATE
Connection: keep-alive
Keep-Alive: timeout=20

`;

let server: TestServer;
let open: TestServer;
const long = { ...TASK, payload: { text: 'x'.repeat(30_000) } };
const gateway = createFakeGateway({
  async getTask(id) {
    if (id === 'long') return { task: long, outcome: 'failed' };
    if (id === 'none') throw new GatewayError('task_not_found', 'There is none.');
    return FOUND;
  },
});
beforeAll(async () => {
  server = await startTestServer(gateway);
  open = await startTestServer(gateway, { settings: { corsOrigins: [ORIGIN] } });
});
afterAll(() => Promise.all([server.stop(), open.stop()]));

type More = { readonly headers?: Readonly<Record<string, string>>; readonly http?: string };

/** The bytes of a request. */
function write({ method, path, headers, body }: Call, more: More = {}): Buffer {
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const lines = Object.entries({ Host: 'a', ...headers, ...length, ...more.headers });
  const head = `${method} ${path} HTTP/${more.http ?? '1.1'}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}`;
  return Buffer.concat([Buffer.from(`${head}\r\n`), Buffer.from(body ?? '')]);
}

/** Sends it and returns the whole response: up to a pattern, or all that its length announces. */
async function read(port: number, request: Buffer, end: RegExp = /\r\n\r\n/): Promise<string> {
  const connection = await openConnection(port);
  try {
    connection.write(request);
    const begun = await connection.readUntil(end);
    const bytes = Number(/\r\nContent-Length: (\d+)\r\n/.exec(begun)?.[1] ?? 0);
    const isHead = request.toString('latin1').startsWith('HEAD ');
    for (let text = begun; ; text = await connection.readUntil(new RegExp(`^.{${text.length + 1}}`, 's'))) {
      const from = text.indexOf('\r\n\r\n') + 4;
      if (isHead || connection.isClosed() || Buffer.byteLength(text.slice(from)) >= bytes) return text;
    }
  } finally {
    connection.close();
  }
}

/** The bytes that are expected, in the same form as the text above. */
function expectBytes(text: string, head: string, body: string): void {
  const [lines = '', ...rest] = text.split('\r\n\r\n');
  expect(lines).not.toMatch(/[^\r]\n/);
  const seen = lines
    .replaceAll('\r\n', '\n')
    .replace(/^ETag: W\/"[\w-]{22}"$/m, 'ETag: ETAG')
    .replace(/^Date: [A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/m, 'Date: DATE');
  const expected = head.replace('VERSION', VERSION).replace('LENGTH', String(Buffer.byteLength(body)));
  expect(`${seen}\n\n${rest.join('\r\n\r\n')}`).toBe(`${expected}${body}`);
}

const poll = (id: string): Call => buildCall('getTask', secrets, {}, id);

describe('the bytes of a response are those that stand here', () => {
  test.each(OPERATIONS)('%s', async (operationId) => {
    const call = buildCall(operationId, secrets, {}, 'x1');
    const body = BODIES[operationId];
    const isStream = operationId === 'subscribeEvents';
    const jsonHead = TAGGED.has(operationId) ? TAGGED_HEAD : JSON_HEAD;
    const head = isStream ? STREAM_HEAD : body === null ? EMPTY_HEAD : jsonHead;
    const end = isStream ? /: ready\n\n\r\n/ : /\r\n\r\n/;
    expectBytes(await read(server.port, write(call), end), head, body ?? '');
    const fromPage = write(call, { headers: { Origin: ORIGIN } });
    expectBytes(await read(server.port, fromPage, end), head, body ?? '');
  });

  test.each([...TAGGED] as OperationId[])('%s, which has not changed since', async (operationId) => {
    const call = buildCall(operationId, secrets, {}, 'x1');
    const first = await read(server.port, write(call));
    const tag = /ETag: (\S+)/.exec(first)?.[1] ?? '';
    for (const sent of [tag, tag.replace('W/', ''), `"other", ${tag}`, '*']) {
      const again = write(call, { headers: { 'If-None-Match': sent } });
      expectBytes(await read(server.port, again), UNCHANGED_HEAD, '');
    }
    const other = write(call, { headers: { 'If-None-Match': '"other"' } });
    expectBytes(await read(server.port, other), TAGGED_HEAD, BODIES[operationId] ?? '');
  });

  test('one after the other on one connection, whatever came before', async () => {
    const connection = await openConnection(server.port);
    const calls = ['a', 'none', 'long', 'a'].map(poll).map((call) => write(call));
    connection.write(Buffer.concat(calls));
    const text = await connection.readUntil(/(?:HTTP.*){4}"error_info":null\}$/s);
    connection.close();
    const [first = '', second = '', third = '', fourth = ''] = text.split(/(?=HTTP\/1\.1 )/);
    expectBytes(first, JSON_HEAD, TASK_JSON);
    expect(second).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
    expectBytes(third, JSON_HEAD.replace('LENGTH', 'LENGTH\nTask-Outcome: failed'), JSON.stringify(long));
    expectBytes(fourth, JSON_HEAD, TASK_JSON);
  });

  test('before a connection closes', async () => {
    const closing = JSON_HEAD.replace('Connection: keep-alive\nKeep-Alive: timeout=20', 'Connection: close');
    for (const operationId of ['submitTask', 'getTask'] as const) {
      const call = buildCall(operationId, secrets, {}, 'x1');
      const asked = write(call, { headers: { Connection: 'close' } });
      expectBytes(await read(server.port, asked), closing, TASK_JSON);
      expectBytes(await read(server.port, write(call, { http: '1.0' })), closing, TASK_JSON);
    }
  });

  test('to HEAD, to a page of an allowed origin, and of a problem', async () => {
    const head = write({ ...poll('x1'), method: 'HEAD' as 'GET' });
    expectBytes(await read(server.port, head), JSON_HEAD.replace('LENGTH', '229'), '');
    const fromPage = { headers: { Origin: ORIGIN } };
    for (const operationId of ['submitTask', 'getTask'] as const) {
      const call = buildCall(operationId, secrets, {}, 'x1');
      expectBytes(await read(open.port, write(call, fromPage)), PAGE_HEAD, TASK_JSON);
      expectBytes(await read(open.port, write(call)), JSON_HEAD, TASK_JSON);
    }
    const problem =
      '{"type":"urn:task-gateway:problem:task_not_found","title":"Task not found","status":404,' +
      '"detail":"There is none.","code":"task_not_found"}';
    expectBytes(await read(server.port, write(poll('none'))), PROBLEM_HEAD, problem);
  });

  test('while the server drains', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let begun = (): void => {};
    const submitted = new Promise<void>((resolve) => (begun = resolve));
    const draining = await startTestServer(
      createFakeGateway({
        async submitTask() {
          begun();
          await held;
          return TASK;
        },
      }),
    );
    const text = read(draining.port, write(buildCall('submitTask', secrets)));
    await submitted;
    const stopped = draining.stop();
    release();
    const rest = 'Date: DATE\nConnection: keep-alive\nKeep-Alive: timeout=20';
    expectBytes(await text, JSON_HEAD.replace(rest, 'Connection: close\nDate: DATE'), TASK_JSON);
    await stopped;
  });
});

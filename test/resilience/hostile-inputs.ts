/**
 * Hostile inputs for the gateway's socket, any number of them from one seed: mutated JSON, arbitrary bytes as
 * bodies, mixtures of headers, paths and queries, and bytes that are not HTTP. None of them asks for a
 * response that takes time: no stream, and no wait for something that exists.
 */
import { buildCall, type Call, type OperationId, type Secrets } from '../contract/usual-calls.ts';

type Kind = 'json' | 'bytes' | 'head' | 'wire';

export type Input = {
  readonly kind: Kind;
  readonly bytes: Buffer;
  /** A HEAD request: its response has no body, whatever length it declares. */
  readonly isHead: boolean;
};

/** A number from 0 to below `below`, the same ones for the same seed. */
export type Random = (below: number) => number;

/** Mulberry32: small and fast, and good enough to be hostile. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

const WITH_BODY: readonly OperationId[] = [
  ...(['submitTask', 'registerAgent', 'heartbeatAgent'] as const),
  ...(['claimTask', 'reportResult', 'writeOutput', 'unregisterAgent'] as const),
];

/** Values as JSON text, so that also what no serializer writes can be sent. */
const VALUES: readonly string[] = [
  ...['null', 'true', 'false', '0', '-0', '-1', '1', '0.5', '1e400', '-1e400', '1e308', '5e-324'],
  ...['9007199254740993', '2147483648', '100', '101', '""', '"\\u0000"', '"\\ud800"', '"\\udfff x"'],
  ...['"success"', '"failed"', '"running"', '"pull"', '"__proto__"', '"constructor"', '"../../etc"'],
  ...['"http://127.0.0.1:1/"', '"http://[::1"', '"javascript:0"', '"\\r\\nSet-Cookie: a=b"', '"\\u2028"'],
  ...['[]', '{}', '[null]', '["a"]', '[[]]', '{"__proto__":{"polluted":1}}', '{"":{}}', '["a","a"]'],
  ...['{"constructor":{"prototype":{"polluted":1}}}', '{"toJSON":1}', '{"then":1}', '{"length":-1}'],
  JSON.stringify('x'.repeat(257)),
  JSON.stringify('😀'.repeat(256)),
  JSON.stringify(Array(65).fill('a')),
  `${'['.repeat(150)}${']'.repeat(150)}`,
  `${'{"a":'.repeat(101)}1${'}'.repeat(101)}`,
];

const FIELDS: readonly string[] = [
  ...['auth', 'agent_id', 'task_type', 'task_tags', 'payload', 'timeout', 'queue_timeout', 'cli_session_id'],
  ...['endpoint', 'agent_tags', 'max_concurrent', 'current_load', 'request_ids', 'lost_after', 'draining'],
  ...['wait', 'request_id', 'status', 'progress', 'result', 'error_info', '__proto__', 'constructor', ''],
];

const PATHS: readonly string[] = [
  ...['/', '/livez', '/readyz', '/api/cli/tasks', '/api/cli/tasks/x', '/api/cli/tasks/x/cancel', '/nowhere'],
  ...['/api/admin/agents', '/api/admin/tasks', '/api/agent/result', '/openapi.agent.json', '//', '*', '/%'],
  ...[
    '/api/cli/tasks/%ff',
    '/api/cli/tasks/%00',
    '/api/cli/tasks/..%2f..',
    '/api/cli/tasks/../../etc/passwd',
  ],
  ...['/api/cli/tasks/%2e%2e/cancel', '/api/cli/tasks/__proto__', '/api/cli/tasks/%F0%9F%98%80', '/api//cli'],
  ...[
    'http://other.example/api/cli/tasks/x',
    'http://',
    'other.example:80',
    '/api/cli/tasks/x#y',
    '/API/CLI',
  ],
];

const PARAMETERS: readonly string[] = [
  ...['auth=', 'auth', 'auth[]=x', 'auth=%ff', 'auth=%00', 'wait=60', 'wait=-1', 'wait=1e400', 'limit=0'],
  ...['limit=1e9', 'limit=2', 'cursor=x', 'cursor=%ff', 'status=none', 'status=failed', 'tag=', 'tag=a', '='],
  ...['&&', '__proto__=1', 'constructor=1', 'wait=1&wait=2', '%=%', '%61uth=x', 'last_event_id=0', '+', '?'],
];

const METHODS: readonly string[] = [
  ...[
    'GET',
    'GET',
    'GET',
    'POST',
    'POST',
    'POST',
    'POST',
    'HEAD',
    'OPTIONS',
    'PUT',
    'DELETE',
    'PATCH',
    'TRACE',
    'PROPFIND',
  ],
];

const HEADERS: readonly string[] = [
  ...[
    'Origin: null',
    'Origin: https://evil.example',
    'Content-Type: text/plain',
    'Content-Type:',
    'Accept: */*',
  ],
  ...['Content-Type: application/json; charset=utf-16', 'Content-Encoding: gzip', 'Content-Encoding:'],
  ...['Content-Encoding: br', 'Content-Encoding: zstd', 'Content-Encoding: deflate', 'Content-Encoding: x'],
  ...['Content-Encoding: gzip, gzip', 'Content-Encoding: *'],
  ...['Idempotency-Key:', 'Idempotency-Key: \xff', `Idempotency-Key: ${'k'.repeat(256)}`, 'Last-Event-ID: x'],
  ...['Authorization: Bearer', 'Authorization: Bearer x', 'Authorization: Basic Og==', 'X-Admin-Auth:'],
  ...['X-Admin-Auth: x', 'Expect: 100-continue', 'Expect: x', 'Connection: keep-alive, x', 'TE: trailers'],
  ...[
    'Cookie: auth=x',
    'Range: bytes=0-0',
    'If-None-Match: *',
    'X-HTTP-Method-Override: DELETE',
    'A: \t \xe9',
  ],
  ...['X-Forwarded-Host: evil.example', 'X-Forwarded-For: ::1', '__proto__: x', 'constructor: x', 'Accept:'],
  ...['Access-Control-Request-Method: POST', `X-Long: ${'x'.repeat(16_400)}`, 'traceparent: 00-x', 'Via: x'],
];

/** What breaks the framing, or might. */
const WIRE_PIECES: readonly string[] = [
  ...[
    'GET ',
    'POST ',
    '/livez',
    ' HTTP/1.1',
    ' HTTP/1.0',
    ' HTTP/9.9',
    ' HTTP/2.0',
    '\r\n',
    '\n',
    '\r',
    '\0',
  ],
  ...[
    'Host: a\r\n',
    ': ',
    'Content-Length: 3\r\n',
    'Content-Length: -1\r\n',
    'Content-Length: 1\r\n',
    '\r\n\r\n',
  ],
  ...[
    'Content-Length: 99999999999999999999\r\n',
    'Transfer-Encoding: chunked\r\n',
    '0\r\n\r\n',
    'ffffffffff\r\n',
  ],
  ...[
    'Transfer-Encoding: gzip, chunked\r\n',
    '3\r\nabc\r\n',
    'Upgrade: h2c\r\n',
    'Connection: Upgrade\r\n',
    ' x\r\n',
  ],
  ...[
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01',
    `X: ${'x'.repeat(20_000)}\r\n`,
    '{"auth":',
  ],
];

/**
 * Ends whatever of a request is unfinished with something that is no HTTP, so that the server answers or
 * closes.
 */
const WIRE_END = Buffer.from('\r\n\r\n\0\r\n\r\n');

function pickBytes(random: Random, most: number): Buffer {
  return Buffer.from(Array.from({ length: random(most) }, () => random(256)));
}

/** Bytes flipped, cut out, doubled or inserted. */
function mutateBytes(random: Random, given: Buffer): Buffer {
  let bytes = given;
  for (let count = random(4); count >= 0; count -= 1) {
    const at = random(bytes.length + 1);
    const to = Math.min(bytes.length, at + 1 + random(8));
    const middle = [
      Buffer.alloc(0),
      pickBytes(random, 4),
      Buffer.from(bytes.subarray(at, to).map((byte) => byte ^ (1 << random(8)))),
      Buffer.concat([bytes.subarray(at, to), bytes.subarray(at, to)]),
    ][random(4)] as Buffer;
    bytes = Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(to)]);
  }
  return bytes;
}

/** Creates a source of inputs. The secrets are right ones, so that what is behind them is reached as well. */
export function createInputs(random: Random, secrets: Secrets): () => Input {
  const pick = <T>(all: readonly T[]): T => all[random(all.length)] as T;

  const pickCall = (): Call => {
    const operation = pick(WITH_BODY);
    // No agent of this id registers: its claim would wait for a task.
    const agent_id = operation === 'claimTask' ? 'nobody' : `agent-${random(40)}`;
    const own = operation === 'submitTask' ? {} : { agent_id };
    return buildCall(operation, secrets, { ...own, ...(random(4) === 0 && { auth: secrets.gateway }) });
  };

  /**
   * One to three fields replaced, left out, added or repeated; never into a claim of an agent that exists.
   */
  const mutateFields = (body: string, isClaim: boolean): string => {
    const fields = Object.entries(JSON.parse(body)).map(([key, value]) => [key, JSON.stringify(value)]);
    for (let count = random(3); count >= 0; count -= 1) {
      const at = random(fields.length + 1);
      const name = random(3) === 0 ? pick(FIELDS) : (fields[at]?.[0] ?? pick(FIELDS));
      if (random(4) === 0) fields.splice(at, 1);
      else if (isClaim && name === 'agent_id') fields.push(['agent_id', '"nobody"']);
      else if (random(2) === 0) fields.push([name, pick(VALUES)]);
      else fields.splice(at, 1, [name, pick(VALUES)]);
    }
    return `{${fields.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
  };

  const json = (): Buffer => {
    const { path, body } = pickCall();
    const mutated = mutateFields(String(body), path.includes('claim'));
    return frame(
      'POST',
      path,
      [],
      random(3) === 0 ? mutateBytes(random, Buffer.from(mutated)) : Buffer.from(mutated),
    );
  };
  const bytes = (): Buffer => frame('POST', pickCall().path, [], pickBytes(random, 200));
  const head = (): Input => {
    const method = pick(METHODS);
    const query = Array.from({ length: Math.max(0, random(6) - 2) }, () => pick(PARAMETERS)).join('&');
    const headers = Array.from({ length: random(6) }, () => pick(HEADERS));
    if (random(3) === 0) headers.push(`X-Admin-Auth: ${secrets.admin}`);
    if (random(3) === 0) headers.push(`Authorization: Bearer ${secrets.gateway}`);
    const body = method === 'POST' || random(8) === 0 ? pickBytes(random, 40) : null;
    const target = pick(PATHS) + (query === '' ? '' : `?${query}`);
    return { kind: 'head', bytes: frame(method, target, headers, body), isHead: method === 'HEAD' };
  };
  const wire = (): Buffer => {
    if (random(2) === 0) {
      const { path, body } = pickCall();
      return Buffer.concat([
        mutateBytes(random, frame('POST', path, [], Buffer.from(String(body)))),
        WIRE_END,
      ]);
    }
    const pieces = Array.from({ length: random(12) }, () =>
      random(3) === 0 ? pickBytes(random, 30) : Buffer.from(pick(WIRE_PIECES), 'latin1'),
    );
    return Buffer.concat([...pieces, WIRE_END]);
  };

  return () => {
    const kind = random(20);
    if (kind < 10) return { kind: 'json', bytes: json(), isHead: false };
    if (kind < 14) return { kind: 'bytes', bytes: bytes(), isHead: false };
    return kind < 18 ? head() : { kind: 'wire', bytes: wire(), isHead: false };
  };
}

/** A request whose framing is right, so that the next one on the connection is understood. */
function frame(method: string, target: string, headers: readonly string[], body: Buffer | null): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: a', ...headers];
  if (body) lines.push(`Content-Length: ${body.length}`);
  const start = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return body ? Buffer.concat([start, body]) : start;
}

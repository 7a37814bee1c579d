/**
 * The requests whose responses are recorded, byte by byte, in `records/`: a broad set of what
 * callers send, proper and not. Which server a request goes to is in its group.
 */
import { buildCall, type Call, OPERATIONS, type OperationId } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET } from '../harness/http-server.ts';

export const ORIGIN = 'https://page.example';

/** A request as it goes over the wire. */
export type RecordedRequest = { readonly title: string; readonly bytes: Buffer };

type Headers = Readonly<Record<string, string>>;
type Sent = { readonly headers?: Headers; readonly body?: string | Buffer; readonly http?: string };

export const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
export const AUTH = `auth=${encodeURIComponent(SECRET)}`;
export const ADMIN = { 'X-Admin-Auth': ADMIN_SECRET };

/** Writes a request; a body has its length before it unless the headers say how it is sent. */
export function writeRequest(method: string, target: string, { headers, body, http }: Sent = {}): Buffer {
  const isSized = body !== undefined && !Object.keys(headers ?? {}).some((name) => SIZES.test(name));
  const lines = Object.entries({
    Host: 'a',
    ...headers,
    ...(isSized && { 'Content-Length': String(Buffer.byteLength(body)) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${target} HTTP/${http ?? '1.1'}\r\n${lines.join('')}\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body ?? '')]);
}

const SIZES = /^(content-length|transfer-encoding)$/i;

export const writeCall = (
  { method, path, headers, body }: Call,
  more: Headers = {},
  as: string = method,
): Buffer =>
  writeRequest(as, path, {
    headers: { ...headers, ...more },
    ...(typeof body === 'string' && as !== 'HEAD' && { body }),
  });

export const usual = (operationId: OperationId, id = 'x1'): Call => buildCall(operationId, secrets, {}, id);
const isRead = (operationId: OperationId): boolean => usual(operationId).method === 'GET';
export const record = (title: string, bytes: Buffer): RecordedRequest => ({ title, bytes });
export const read = (id: string, more?: Headers): Buffer => writeCall(usual('getTask', id), more);
export const submit = (body: string | Buffer, headers?: Headers): Buffer =>
  writeRequest('POST', '/api/cli/tasks', { body, ...(headers && { headers }) });

/** Each operation as it is usually called, and in the ways that HTTP has beside that. */
export function listUsualRequests(): readonly RecordedRequest[] {
  return [
    ...OPERATIONS.map((one) => record(`${one}`, writeCall(usual(one)))),
    ...OPERATIONS.filter(isRead).map((one) => record(`${one}, by HEAD`, writeCall(usual(one), {}, 'HEAD'))),
    ...OPERATIONS.map((one) =>
      record(`${one}, by OPTIONS`, writeRequest('OPTIONS', usual(one).path.split('?')[0] ?? '')),
    ),
    ...OPERATIONS.map((one) =>
      record(
        `${one}, without a secret`,
        writeRequest(usual(one).method, usual(one).path.split('?')[0] ?? '', { body: '{}' }),
      ),
    ),
    ...OPERATIONS.filter(isRead).map((one) =>
      record(`${one}, if it has changed`, writeCall(usual(one), { 'If-None-Match': '*' })),
    ),
    record(
      'getOverview, by HEAD if it has changed',
      writeCall(usual('getOverview'), { 'If-None-Match': '*' }, 'HEAD'),
    ),
    record('listAgents, a page', writeRequest('GET', `/api/admin/agents?limit=9`, { headers: ADMIN })),
    record(
      'listAgents, a page if it has changed',
      writeRequest('GET', `/api/admin/agents?limit=9`, { headers: { ...ADMIN, 'If-None-Match': '*' } }),
    ),
    record(
      'claimTask of a task with a trace',
      writeCall(buildCall('claimTask', secrets, { agent_id: 'traced' })),
    ),
    ...['long', 'large'].flatMap((id) => [
      record(`a task that is ${id}`, read(id)),
      record(`a task that is ${id}, by HEAD`, writeCall(usual('getTask', id), {}, 'HEAD')),
      record(`a task that is ${id}, from a page`, read(id, { Origin: ORIGIN })),
    ]),
    record('before the connection closes', read('x1', { Connection: 'close' })),
    record('of HTTP/1.0', writeRequest('GET', `/api/cli/tasks/x1?${AUTH}`, { http: '1.0' })),
    record(
      'of HTTP/1.0 that keeps its connection',
      writeRequest('GET', `/api/cli/tasks/x1?${AUTH}`, {
        http: '1.0',
        headers: { Connection: 'keep-alive' },
      }),
    ),
    record(
      'submitTask in chunks',
      submit(chunk(String(usual('submitTask').body)), { 'Transfer-Encoding': 'chunked' }),
    ),
    record(
      'submitTask that expects 100',
      submit(String(usual('submitTask').body), { Expect: '100-continue' }),
    ),
    record(
      'submitTask of 100 kB',
      writeCall(buildCall('submitTask', secrets, { payload: { text: 'x'.repeat(100_000) } })),
    ),
  ];
}

const chunk = (body: string): string => `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`;

/** Requests that are refused, in the order of the checks. */
export function listRefusedRequests(): readonly RecordedRequest[] {
  const submission = JSON.parse(String(usual('submitTask').body));
  const json = (fields: object): string => JSON.stringify({ ...submission, ...fields });
  const post = (path: string, body: object, headers: Headers = {}): Buffer =>
    writeRequest('POST', path, { body: JSON.stringify(body), headers });
  return [
    record('401: a wrong secret in the query', writeRequest('GET', '/api/cli/tasks/x1?auth=wrong')),
    record(
      '401: a wrong bearer',
      writeRequest('GET', '/api/cli/tasks/x1', { headers: { Authorization: 'Bearer wrong' } }),
    ),
    record('401: a wrong secret in the body', submit(json({ auth: 'wrong' }))),
    record(
      '401: a wrong secret of the administrator',
      writeRequest('GET', '/api/admin/agents', { headers: { 'X-Admin-Auth': 'wrong' } }),
    ),
    record('413: a length above the limit', submit('{', { 'Content-Length': '1048577' })),
    record(
      '413: chunks above the limit',
      submit(`110000\r\n${'x'.repeat(0x110000)}\r\n`, { 'Transfer-Encoding': 'chunked' }),
    ),
    record('415: a compressed body', submit('{}', { 'Content-Encoding': 'gzip' })),
    record('415: a page that sends text', submit('{}', { Origin: ORIGIN, 'Content-Type': 'text/plain' })),
    record('400: no body', writeRequest('POST', '/api/cli/tasks')),
    record('400: no JSON', submit('{"auth":')),
    record('400: a byte-order mark', submit(Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]))),
    record('400: no UTF-8', submit(Buffer.from([0x22, 0xff, 0x22]))),
    record('400: no agent_id', post('/api/agent/heartbeat', {})),
    record('422: fields', submit(json({ task_type: '', task_tags: 7 }))),
    record(
      '422: too many tags',
      submit(json({ task_tags: Array.from({ length: 1_000 }, (_, n) => `t${n}`) })),
    ),
    record('422: nested too deep', submit(json({ payload: JSON.parse('['.repeat(101) + ']'.repeat(101)) }))),
    record('422: a query', writeRequest('GET', `/api/cli/tasks/x1?${AUTH}&wait=x`)),
    record(
      '422: a query that is not UTF-8',
      writeRequest('GET', '/api/admin/tasks?limit=%ff', { headers: ADMIN }),
    ),
    record('422: a used key', submit(json({ task_type: 'used' }), { 'Idempotency-Key': 'k' })),
    record(
      '400: a task of another agent',
      post('/api/agent/result', { request_id: 'other', agent_id: 'a', status: 'running' }),
    ),
    ...['none', 'unavailable', 'broken'].flatMap((id) => [
      record(`a task that is ${id}`, read(id)),
      record(`a task that is ${id}, by HEAD`, writeCall(usual('getTask', id), {}, 'HEAD')),
      record(`a task that is ${id}, from a page`, read(id, { Origin: ORIGIN })),
      record(`a submission that is ${id}`, submit(json({ task_type: id }))),
    ]),
    record('a feed that fails at once', writeCall(usual('subscribeEvents', 'fails'))),
    record(
      '404: a refused request with chunks to come',
      writeRequest('POST', '/nowhere', { headers: { 'Transfer-Encoding': 'chunked' } }),
    ),
    record(
      '401: a refused call with chunks to come',
      writeRequest('POST', '/api/cli/match?auth=wrong', { headers: { 'Transfer-Encoding': 'chunked' } }),
    ),
    record(
      '204: OPTIONS with chunks to come',
      writeRequest('OPTIONS', '/api/cli/match', { headers: { 'Transfer-Encoding': 'chunked' } }),
    ),
    record(
      '200: a read with chunks to come',
      writeRequest('GET', `/api/cli/tasks/x1?${AUTH}`, { headers: { 'Transfer-Encoding': 'chunked' } }),
    ),
    record(
      '200: a list with chunks to come',
      writeRequest('GET', '/api/admin/agents', { headers: { ...ADMIN, 'Transfer-Encoding': 'chunked' } }),
    ),
    record('404: a small body that is not read', writeRequest('POST', '/nowhere', { body: '{}' })),
  ];
}

/**
 * A server on a real socket that answers every request of the contract with the same wrong thing. The first
 * segment of the path names the answer, so that a client or a command selects one by its address.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

export type HostileGateway = {
  /** Returns the address of an answer. With `registers`, registrations still get a correct response. */
  baseUrl(answer: string, options?: { readonly registers: boolean }): string;
  /** Returns how many requests were answered so. */
  requests(answer: string): number;
  close(): Promise<void>;
};

const REGISTERS = 'registers-';
const REGISTERED = { ok: true, agent_id: 'a', state: 'ready', heartbeat_interval: 15, offline_after: 90 };
const HUGE_BYTES = 80_000_000;
const JSON_HEADERS = { 'content-type': 'application/json' };
/** What every operation of the contract needs, with a wrong type in each field. */
const WRONG_TYPES = {
  ok: 'yes',
  request_id: 5,
  agent_id: [],
  task_type: {},
  task_tags: 'zh',
  payload: 7,
  status: 'done',
  heartbeat_interval: 'soon',
  cancelled_request_ids: 5,
  registration: {},
  accepted: 'yes',
  agents: {},
  tasks: { length: 3 },
  total: null,
  next_cursor: 9,
  event: 'task_done',
  errors: 4,
};
/** Correct types, with values that no client may obey. */
const WRONG_VALUES = {
  ok: true,
  request_id: 't',
  agent_id: 'a',
  task_type: 'x',
  task_tags: [],
  payload: {},
  status: 'running',
  cli_session_id: '',
  create_time: 1,
  timeout: 1e9,
  progress: 0,
  result: null,
  error_info: null,
  heartbeat_interval: 1e-9,
  cancelled_request_ids: ['t'],
  accepted: true,
  agents: [],
  total: 0,
  time: 1,
  tasks: [],
  next_cursor: null,
  counts: null,
};

const send = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  function answer(response: ServerResponse): void {
    response.writeHead(status, { ...JSON_HEADERS, ...headers }).end(JSON.stringify(body));
  };
const sendText = (text: string, headers: Record<string, string> = JSON_HEADERS) =>
  function answer(response: ServerResponse): void {
    response.writeHead(200, headers).end(text);
  };

/** Every answer by its name. */
export const HOSTILE_ANSWERS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'no-json': sendText('{"request_id":'),
  'no-utf-8': (response) => void response.writeHead(200, JSON_HEADERS).end(Buffer.from([0xff, 0xfe, 0x00])),
  null: send(200, null),
  'a-list': send(200, []),
  'a-number': send(200, 7),
  'empty-object': send(200, {}),
  'nothing-at-once': (response) => void response.writeHead(204).end(),
  'empty-body': sendText(''),
  'wrong-types': send(200, WRONG_TYPES),
  'wrong-values': send(200, WRONG_VALUES),
  'wrong-problem': send(422, { code: 'no', title: 'no', detail: 'no', errors: [null, 5] }),
  'retry-at-once': send(503, {}, { 'retry-after': '0' }),
  'retry-in-the-past': send(429, {}, { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }),
  'retry-never': send(503, {}, { 'retry-after': '99999999999999999999' }),
  'agent-not-found': send(404, { code: 'agent_not_found', title: 'x', detail: 'x' }),
  'task-not-found': send(404, { code: 'task_not_found', title: 'x', detail: 'x' }),
  'a-strange-status': (response) => void response.writeHead(999).end('{}'),
  redirect: (response) => void response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end(),
  deep: sendText('['.repeat(2_000_000)),
  huge: (response) => void response.writeHead(200, JSON_HEADERS).end(Buffer.alloc(HUGE_BYTES, 0x20)),
  'gzip-bomb': (response) =>
    void response.writeHead(200, { ...JSON_HEADERS, 'content-encoding': 'gzip' }).end(bomb()),
  endless(response) {
    response.writeHead(200, JSON_HEADERS);
    const write = (): void => {
      while (!response.destroyed && response.write(' '.repeat(65_536)));
      if (!response.destroyed) response.once('drain', write);
    };
    write();
  },
  cut: (response) => void response.destroy(),
  'cut-body'(response) {
    response.writeHead(200, { ...JSON_HEADERS, 'content-length': '100' });
    response.write('{"ok"', () => response.destroy());
  },
  slow: () => undefined,
  'a-stream-that-ends': sendText('retry: 0\n\ndata: {"event":"task_done","request_id":5}\n\n', {
    'content-type': 'text/event-stream',
  }),
  'a-stream-of-gaps': sendText(': gap\n\n'.repeat(1_000), { 'content-type': 'TEXT/Event-Stream ; a=b' }),
};

let zipped: Buffer | undefined;
function bomb(): Buffer {
  zipped ??= gzipSync(Buffer.alloc(HUGE_BYTES));
  return zipped;
}

/** Starts the server on a free port of the loopback. */
export async function startHostileGateway(): Promise<HostileGateway> {
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const [, first = ''] = request.url?.split('/') ?? [];
    const name = first.replace(REGISTERS, '');
    counts.set(name, (counts.get(name) ?? 0) + 1);
    response.on('error', () => undefined);
    request.resume();
    if (first.startsWith(REGISTERS) && request.url?.endsWith('/register')) send(200, REGISTERED)(response);
    else HOSTILE_ANSWERS[name]?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: (answer, options) => `http://127.0.0.1:${port}/${options?.registers ? REGISTERS : ''}${answer}`,
    requests: (answer) => counts.get(answer) ?? 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * The record of responses in `records/`: status line, headers by name, and short bodies, for a broad set of
 * requests, with what the observer was given of each. Below each head stand the requests that get it.
 * A change that means to leave responses alone leaves the record alone; after any other
 * `npm test -- test/http/response-record.test.ts -u` writes it anew.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GatewayError } from '../../server/ports/gateway.ts';
import type { ServedRequest } from '../../server/ports/observer.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { OPERATIONS } from '../contract/usual-calls.ts';
import { SECRET, startTestServer, type TestServer, type TestServerOptions } from '../harness/http-server.ts';
import { createFakeGateway, FOUND, subscribeTo, TASK } from './fake-gateway.ts';
import { openConnection } from './raw-connection.ts';
import {
  listForeignRequests,
  listInvalidRequests,
  listOriginRequests,
  listPageRequests,
} from './recorded-pages.ts';
import {
  listRefusedRequests,
  listUsualRequests,
  ORIGIN,
  type RecordedRequest,
  record,
  usual,
  writeCall,
  writeRequest,
} from './recorded-requests.ts';

const document = fileURLToPath(import.meta.resolve('@task-gateway/contract/openapi.whole.json'));
const VERSION: string = JSON.parse(readFileSync(document, 'utf8')).info.version;

/** Bodies above this many characters are not recorded; the lengths of all are what their heads say. */
const BODY_CHARS_MAX = 4_000;

const TEXT_CHARS: Readonly<Record<string, number>> = { long: 30_000, large: 200_000 };
const FAILURES: Readonly<Record<string, () => Error>> = {
  none: () => new GatewayError('task_not_found', 'There is none.'),
  busy: () => new GatewayError('busy', 'Too many.'),
  unavailable: () => new StoreUnavailable('down'),
  broken: () => new Error('a fault'),
  used: () => new GatewayError('idempotency_conflict', 'Used.'),
  other: () => new GatewayError('agent_mismatch', 'Of another agent.'),
};

function failIfAsked(name: string): void {
  const fail = FAILURES[name];
  if (fail) throw fail();
}

/** Resolves when a draining server has aborted the call. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

const gateway = createFakeGateway({
  async getTask(id, waitMs, signal) {
    if (waitMs > 0) await aborted(signal);
    failIfAsked(id);
    const text = TEXT_CHARS[id];
    return text === undefined
      ? FOUND
      : { task: { ...TASK, payload: { text: 'x'.repeat(text) } }, outcome: 'timeout' };
  },
  async submitTask({ task_type }) {
    failIfAsked(task_type);
    return TASK;
  },
  async reportResult({ request_id }) {
    failIfAsked(request_id);
    return { ok: true, request_id, status: 'success', accepted: true };
  },
  async claimTask({ agent_id, wait }, signal, onFound) {
    if (wait > 0) await aborted(signal);
    if (agent_id !== 'traced') return null;
    const trace = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`, tracestate: 'a=b' };
    onFound?.({ state: 'processing', trace });
    return { ...TASK, agent_id, assigned_time: 1, deadline_time: 2 } as never;
  },
  subscribeEvents: subscribeTo(async function* (session, _after, signal) {
    if (session === 'fails') throw new StoreUnavailable('down');
    await aborted(signal);
    yield* [];
  }),
});

/** A server and what it reported of each request. */
type Recorded = { readonly server: TestServer; readonly noted: ServedRequest[] };
const started: Recorded[] = [];

async function start(options: TestServerOptions = {}): Promise<Recorded> {
  const noted: ServedRequest[] = [];
  const server = await startTestServer(gateway, {
    ...options,
    // A slow machine is no slow caller.
    limits: { requestMs: 60_000, largeBodyMs: 60_000, ...options.limits },
    observer: { noteRequest: (request) => void noted.push(request) },
  });
  started.push({ server, noted });
  return { server, noted };
}

let plain: Recorded;
beforeAll(async () => {
  plain = await start();
});
afterAll(() => Promise.all(started.map(({ server }) => server.stop(0))));

/** Whether a whole response has been received; it is never longer than its head says. */
function isWhole(text: string, isHead: boolean): boolean {
  const last = text.slice(text.lastIndexOf('HTTP/1.1 '));
  const from = last.indexOf('\r\n\r\n');
  if (from < 0 || /^HTTP\/1\.1 100/.test(last)) return false;
  const head = last.slice(0, from + 2);
  const body = last.slice(from + 4);
  if (isHead || /^HTTP\/1\.1 (204|304)/.test(head)) return true;
  const bytes = /\r\nContent-Length: (\d+)\r\n/.exec(head)?.[1];
  if (bytes !== undefined) {
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(Number(bytes));
    return Buffer.byteLength(body) === Number(bytes);
  }
  return /(: ready\n\n\r\n|\r\n0\r\n\r\n|^0\r\n\r\n)$/.test(body);
}

/** Sends a request on a connection of its own and returns the whole response. */
async function exchangeWhole(port: number, bytes: Buffer): Promise<string> {
  const connection = await openConnection(port);
  try {
    connection.write(bytes);
    const isHead = bytes.toString('latin1', 0, 5) === 'HEAD ';
    let text = '';
    do {
      text = await connection.readUntil(new RegExp(`^.{${text.length + 1}}`, 's'));
    } while (!isWhole(text, isHead) && !connection.isClosed());
    return text;
  } finally {
    connection.close();
  }
}

/** A response without what differs from run to run and from version to version. */
type Described = { readonly head: string; readonly body: string };

function describeResponse(text: string): Described {
  const [lines = '', ...rest] = text.split(/\r\n\r\n(?!HTTP)/);
  expect(lines).not.toMatch(/[^\r]\n/);
  const body = rest
    .join('\r\n\r\n')
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/, 'REFERENCE')
    .replace(`"version":"${VERSION}"`, '"version":"VERSION"');
  const heads = lines.split('\r\n\r\n').map((one) => sortHeaders(one.split('\r\n')).join('\n'));
  const head = heads
    .join('\n\n')
    .replaceAll(`Task-Gateway-Version: ${VERSION}\n`, 'Task-Gateway-Version: VERSION\n')
    .replace(/^(ETag: (?:W\/)?)"[\w-]{22}"$/gm, '$1"TAG"')
    .replace(/^Date: [A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/gm, 'Date: DATE')
    .replace(/^(Content-Length): [1-9]\d*$/gm, '$1: LENGTH');
  const isShort = body.length <= BODY_CHARS_MAX && !/^Content-Type: text\/html/m.test(head);
  return { head, body: isShort ? body : '(long)' };
}

/** Their order says nothing. */
function sortHeaders([status = '', ...headers]: readonly string[]): readonly string[] {
  return [status, ...headers.sort()];
}

function describeNoted({ operation, method, path, status, code }: ServedRequest): string {
  return `noted: ${[operation ?? '-', method, path ?? '-', status ?? 'left', code ?? '-'].join(' ')}`;
}

/** Sends each request; lists it and what was noted, below the head and the body that came back. */
async function recordAll({ server, noted }: Recorded, requests: readonly RecordedRequest[]): Promise<string> {
  const byHead = new Map<string, Map<string, string[]>>();
  for (const { title, bytes } of requests) {
    noted.length = 0;
    const text = await exchangeWhole(server.port, bytes);
    const isNoted = !/HTTP\/1\.1 \d+ .*"code":"(malformed_request|headers_too_large)"/s.test(text);
    if (isNoted && !title.includes('headers that are slow')) {
      await expect.poll(() => noted.length, { interval: 1, message: title }).toBeGreaterThan(0);
    }
    const { head, body } = describeResponse(text);
    const byBody = byHead.get(head) ?? new Map<string, string[]>();
    const entries = byBody.get(body) ?? [];
    entries.push([title, ...noted.map(describeNoted)].join(' | '));
    byHead.set(head, byBody.set(body, entries));
  }
  const listEntries = ([body, entries]: [string, string[]]) => [
    `  ${body === '' ? '(no body)' : JSON.stringify(body)}`,
    ...entries.map((entry) => `    ${entry}`),
  ];
  return [...byHead]
    .map(([head, byBody]) => `${[head, ...[...byBody].flatMap(listEntries)].join('\n')}\n`)
    .join('\n');
}

const matchRecord = (name: string, text: string): Promise<void> =>
  expect(text).toMatchFileSnapshot(`./records/${name}.txt`);

test('each operation responds as recorded', async () => {
  await matchRecord('usual', await recordAll(plain, listUsualRequests()));
});

test('where no page is allowed each operation responds to one that has the secret as to others', async () => {
  const list = (headers: Readonly<Record<string, string>>) =>
    OPERATIONS.flatMap((one) => [
      record(one, writeCall(usual(one), headers)),
      record(`OPTIONS of ${one}`, writeRequest('OPTIONS', usual(one).path, { headers })),
    ]);
  const secret = { Authorization: `Bearer ${SECRET}` };
  expect(await recordAll(plain, list({ ...secret, Origin: ORIGIN }))).toBe(
    await recordAll(plain, list(secret)),
  );
});

test.each(['getOverview', 'listTasks', 'getAgent'] as const)(
  '%s has not changed by its tag, strong or weak, alone or among others',
  async (operationId) => {
    const ask = (sent: string) =>
      exchangeWhole(plain.server.port, writeCall(usual(operationId), { 'If-None-Match': sent }));
    const first = await ask('"other"');
    expect(first).toMatch(/^HTTP\/1\.1 200 /);
    const tag = /ETag: (\S+)/.exec(first)?.[1] ?? '';
    for (const sent of [tag, tag.replace('W/', ''), `"other", ${tag}`])
      expect(await ask(sent)).toMatch(/^HTTP\/1\.1 304 /);
  },
);

test('refused requests are responded to as recorded', async () => {
  const full = await start({ limits: { streamsOfOneMax: 0 } });
  const stream = listUsualRequests().filter(({ title }) => title === 'subscribeEvents');
  const [refused, tooMany] = [await recordAll(plain, listRefusedRequests()), await recordAll(full, stream)];
  await matchRecord('refused', `${refused}\n${tooMany}`);
});

test('pages, probes, documents and unknown paths respond as recorded', async () => {
  await matchRecord('pages', await recordAll(plain, listPageRequests()));
});

test('requests of web pages are responded to as recorded', async () => {
  const one = await start({ settings: { corsOrigins: [ORIGIN] } });
  const all = await start({ settings: { corsOrigins: ['*'] } });
  const texts = [
    await recordAll(one, listOriginRequests()),
    await recordAll(all, listOriginRequests().slice(0, 40)),
  ];
  await matchRecord('origins', texts.join('\n'));
});

test('requests under a foreign name are responded to as recorded', async () => {
  const open = await start({ settings: { isSecretPublic: true } });
  await matchRecord('foreign', await recordAll(open, listForeignRequests()));
});

test('what is no request is responded to as recorded', async () => {
  const strict = await start({ limits: { headersMs: 40, requestMs: 80, largeBodyMs: 80 } });
  await matchRecord('invalid', await recordAll(strict, listInvalidRequests()));
});

test('while the server drains responses are as recorded', async () => {
  const { server, noted } = await start();
  const polls = ['x1', 'none', 'long', 'large'].flatMap((id) => [
    writeRequest('GET', `/api/cli/tasks/${id}?auth=older-secret&wait=60`),
    writeRequest('HEAD', `/api/cli/tasks/${id}?auth=older-secret&wait=60`),
  ]);
  const claim = (agent_id: string): Buffer =>
    writeRequest('POST', '/api/agent/claim', {
      body: JSON.stringify({ auth: 'older-secret', agent_id, wait: 60 }),
    });
  const requests = [...polls, claim('a'), claim('traced')];
  gateway.calls.length = 0;
  const texts = requests.map((bytes) => exchangeWhole(server.port, bytes));
  await expect.poll(() => gateway.calls.length).toBe(requests.length);
  await server.stop(5_000);
  const entries = (await Promise.all(texts)).map(
    (text, index) =>
      `${requests[index]?.toString().split('\r\n')[0]}\n${describeResponse(text).head}\n${describeResponse(text).body}`,
  );
  const counts = noted.map(describeNoted).toSorted();
  await matchRecord('draining', `${[...entries, ...counts].join('\n\n')}\n`);
});

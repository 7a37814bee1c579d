/** Output over HTTP: pages, the frames of a stream wherever it is cut, slow readers, and limits. */
import { EventSource } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import type { Gateway, OutputItem } from '../../server/ports/gateway.ts';
import { buildCall, type Call } from '../contract/usual-calls.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import {
  ADMIN_SECRET,
  SECRET,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from '../harness/http-server.ts';
import { openFreshStore } from '../harness/stores.ts';
import { buildRegistration, createWorld } from '../harness/world.ts';
import { submit } from '../harness/world-calls.ts';
import { sendChecked } from './checked-call.ts';
import { createFakeGateway, idleFeed } from './fake-gateway.ts';
import { openConnection } from './raw-connection.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const STREAM = 'text/event-stream';
const START = 'retry: 2000\n\n: ready\n\n';

const servers: TestServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop(100)));
});

async function start(gateway: Gateway, options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startTestServer(gateway, options);
  servers.push(server);
  return server;
}

/** The call that reads the output of task `x`, with these headers and this query. */
function readCall(headers: Record<string, string> = {}, query = '', id = 'x'): Call {
  const call = buildCall('readOutput', secrets, {}, id);
  return { ...call, path: call.path + query, headers };
}

const followCall = (lastEventId: string, id = 'x'): Call =>
  readCall({ accept: STREAM, 'last-event-id': lastEventId }, '', id);

/** A gateway whose task `x` has these items, then waits. */
function createFollowed(...items: readonly OutputItem[]): Gateway {
  return createFakeGateway({
    followOutput: async () =>
      async function* (signal) {
        yield* items;
        yield* idleFeed(signal);
      },
  });
}

/** Reads a stream until it ends. */
async function readAll(server: TestServer, call: Call): Promise<{ status: number; text: string }> {
  const { path, headers = {} } = call;
  const response = await fetch(server.url + path, { headers });
  return { status: response.status, text: await response.text() };
}

/** A task of the real gateway with pieces of every kind, which has ended. */
async function startEnded(): Promise<{ server: TestServer; request_id: string }> {
  const clock = createFakeClock();
  const world = createWorld(await openFreshStore(clock), { clock });
  const { gateway } = world;
  await gateway.registerAgent(buildRegistration('A'));
  const request_id = await submit(world);
  const server = await start(gateway);
  const write = (writer: string, from: number, pieces: readonly unknown[]) =>
    sendChecked(
      server.url,
      buildCall('writeOutput', secrets, { agent_id: 'A', writer, from, pieces }, request_id),
    );
  await write('w', 0, [{ text: '第一行\n第二行 "😀" \u2028' }, { data: { page: 1, more: [null, 1e21] } }]);
  await write('v', 0, [{ data: null }, { text: 'id: 9\ndata: x\n\n' }]);
  await gateway.reportResult({ request_id, agent_id: 'A', status: 'success' });
  return { server, request_id };
}

const FRAMES = [
  '{"n":1,"text":"第一行\\n第二行 \\"😀\\" \\u2028"}',
  '{"n":2,"data":{"page":1,"more":[null,1e+21]}}',
  '{"n":3,"reset":true,"agent_id":"A"}',
  '{"n":4,"data":null}',
  '{"n":5,"text":"id: 9\\ndata: x\\n\\n"}',
  '{"n":6,"end":true,"status":"success","outcome":"success","missing":null}',
].map((data, index) => `id: ${index + 1}\ndata: ${data}\n\n`);

describe('the form', () => {
  test.each([
    [STREAM, true],
    ['TEXT/Event-Stream;q=0.5', true],
    [`application/json, ${STREAM}`, true],
    ['*/*', false],
    ['application/json', false],
    ['text/event-streams', false],
  ])('for Accept: %s is a stream: %s', async (accept, isStream) => {
    const server = await start(createFollowed({ status: 'running', progress: 40 }));
    const { status, headers } = await sendChecked(server.url, readCall({ accept }));
    expect([status, headers.get('content-type')]).toEqual([200, isStream ? STREAM : 'application/json']);
  });

  test('of the response to HEAD is the same, without a body', async () => {
    const server = await start(createFollowed());
    for (const accept of [STREAM, 'application/json']) {
      const { path } = readCall();
      const response = await fetch(server.url + path, { method: 'HEAD', headers: { accept } });
      expect([response.status, response.headers.get('content-type')]).toEqual([200, accept]);
      expect(await response.text()).toBe('');
    }
    expect(server.streamCount()).toBe(0);
  });
});

describe('a page', () => {
  test('passes on number and wait; the header of streams does not count', async () => {
    const gateway = createFakeGateway();
    const server = await start(gateway);
    await sendChecked(server.url, readCall({ 'last-event-id': '7' }, '&after=2&wait=61'));
    expect(gateway.calls[0]?.args.slice(0, 3)).toEqual(['x', 2, 60_000]);
  });

  test('has the pieces with their numbers in front', async () => {
    const { server, request_id } = await startEnded();
    const { text } = await sendChecked(server.url, readCall({}, '&after=3', request_id));
    expect(text).toBe(
      `{"request_id":"${request_id}","status":"success","progress":100,"outcome":"success","pieces":[` +
        '{"n":4,"data":null},{"n":5,"text":"id: 9\\ndata: x\\n\\n"}],"last":5,"complete":true,"missing":null}',
    );
  });
});

describe('a stream', () => {
  test('has a frame for each piece and the end, and closes', async () => {
    const { server, request_id } = await startEnded();
    const { text } = await readAll(server, followCall('', request_id));
    expect(text).toBe(START + FRAMES.join(''));
  });

  test('says how an open task stands without an id', async () => {
    const server = await start(createFollowed({ status: 'running', progress: 40 }));
    const { text } = await sendChecked(server.url, followCall(''));
    expect(text).toBe(`${START}data: {"status":"running","progress":40}\n\n`);
  });

  test.each([
    ['nothing', {}, '', 0],
    ['the query', {}, '&after=5', 5],
    ['the header', { 'last-event-id': '3' }, '&after=5', 3],
    ['an empty header', { 'last-event-id': '' }, '&after=5', 5],
    ['a header that is no number', { 'last-event-id': '1763611441310-0' }, '&after=5', 0],
    ['a negative header', { 'last-event-id': '-1' }, '', 0],
    ['a header beyond all numbers', { 'last-event-id': '9'.repeat(30) }, '', 0],
  ])('begins with %s behind the right number', async (_what, headers, query, after) => {
    const gateway = createFakeGateway({ followOutput: async () => null });
    const server = await start(gateway);
    const call = readCall({ accept: STREAM, ...headers } as Record<string, string>, query);
    expect((await sendChecked(server.url, call)).status).toBe(204);
    expect(gateway.calls[0]?.args.slice(0, 2)).toEqual(['x', after]);
  });

  test('that is cut at any byte goes on behind its last whole frame: each number once, in order', async () => {
    const { server, request_id } = await startEnded();
    const whole = Buffer.from(START + FRAMES.join(''));
    for (let cut = 0; cut <= whole.length; cut += 1) {
      // All that a reader has when its connection breaks there.
      const received = whole.subarray(0, cut).toString('latin1');
      const frames = received.split('\n\n').slice(0, -1);
      const ids = frames.flatMap((frame) => /^id: (\d+)$/m.exec(frame)?.[1] ?? []);
      const { status, text } = await readAll(server, followCall(ids.at(-1) ?? '', request_id));
      const later = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id);
      expect([...ids, ...later], `cut at ${cut}`).toEqual(['1', '2', '3', '4', '5', '6']);
      expect(status).toBe(ids.at(-1) === '6' ? 204 : 200);
    }
  });

  test('is read by EventSource to its end, and not again', async () => {
    const { server, request_id } = await startEnded();
    const path = readCall({}, '', request_id).path;
    const source = new EventSource(server.url + path);
    const seen: string[] = [];
    source.onmessage = ({ data, lastEventId }) => seen.push(`${lastEventId} ${JSON.parse(data).n}`);
    await expect.poll(() => source.readyState, { timeout: 60_000 }).toBe(2);
    expect(seen).toEqual(['1 1', '2 2', '3 3', '4 4', '5 5', '6 6']);
  });

  test('whose reader stands still costs one page, and is cut', async () => {
    let taken = 0;
    const json = JSON.stringify({ text: 'x'.repeat(250_000) });
    const gateway = createFakeGateway({
      followOutput: async () =>
        async function* () {
          for (;;) {
            taken += 1;
            yield { pieces: [{ n: taken, json }] };
          }
        },
    });
    const server = await start(gateway, { limits: { stallMs: 300 } });
    const connection = await openConnection(server.port);
    connection.write(`GET ${readCall().path} HTTP/1.1\r\nHost: a\r\nAccept: ${STREAM}\r\n\r\n`);
    await connection.readUntil(/: ready\n\n/);
    connection.socket.pause();
    await expect.poll(() => server.streamCount()).toBe(0);
    // As much as the buffers of a connection hold.
    expect(taken).toBeLessThan(100);
    connection.close();
  });

  test('ends when the server drains, with the time to come again', async () => {
    const server = await startTestServer(createFollowed({ status: 'running', progress: 40 }));
    const reading = readAll(server, followCall(''));
    await expect.poll(() => server.streamCount()).toBe(1);
    await server.stop();
    expect((await reading).text).toMatch(/"progress":40\}\n\nretry: \d+\n\n$/);
  });
});

describe('limits', () => {
  test('a task has no more streams than its limit; those of others and of sessions do not count', async () => {
    const server = await start(createFollowed({ status: 'running', progress: 0 }), {
      limits: { streamsOfOneMax: 1 },
    });
    const held = new AbortController();
    const open = ({ path, headers = {} }: Call) => fetch(server.url + path, { headers, signal: held.signal });
    expect((await open(followCall(''))).status).toBe(200);
    const refused = await sendChecked(server.url, followCall(''));
    expect([refused.status, refused.json.code, refused.json.detail]).toEqual([
      ...[429, 'too_many_streams'],
      'This task has 1 open streams. Close one before opening another.',
    ]);
    expect((await open(followCall('', 'y'))).status).toBe(200);
    expect((await open(buildCall('subscribeEvents', secrets, {}, 'x'))).status).toBe(200);
    held.abort();
    await expect.poll(() => server.streamCount()).toBe(0);
  });

  test('bytes that are written and not durable are bounded; then others are taken again', async () => {
    const durable = Promise.withResolvers<void>();
    const gateway = createFakeGateway();
    const { writeOutput } = gateway;
    const waiting = createFakeGateway({
      async writeOutput(write) {
        await durable.promise;
        return await writeOutput(write);
      },
    });
    const server = await start(waiting, { limits: { outputWritingBytesMax: 2_000 } });
    const write = (size: number) =>
      sendChecked(server.url, buildCall('writeOutput', secrets, { pieces: [{ text: 'x'.repeat(size) }] }));
    const first = [write(900), write(900)];
    await expect.poll(() => waiting.calls.length).toBe(2);
    const { status, json, headers } = await write(200);
    expect([status, json.code, headers.get('retry-after')]).toEqual([503, 'busy', '5']);
    durable.resolve();
    expect((await Promise.all(first)).map((one) => one.status)).toEqual([200, 200]);
    expect((await write(900)).status).toBe(200);
  });

  test('a body has at most 64 KiB, however it is sent and whatever its numbers grow to', async () => {
    const server = await start(createFakeGateway());
    const call = (pieces: readonly unknown[]) => buildCall('writeOutput', secrets, { pieces });
    const spare = 65_536 - Buffer.byteLength(String(call([{ text: '' }]).body));
    expect((await sendChecked(server.url, call([{ text: 'x'.repeat(spare) }]))).status).toBe(200);
    const long = call([{ text: 'x'.repeat(spare + 1) }]);
    const inParts = () => new Blob([String(long.body)]).stream() as ReadableStream<Uint8Array<ArrayBuffer>>;
    for (const sent of [long, { ...long, sendParts: inParts }])
      expect((await sendChecked(server.url, sent)).json).toMatchObject({
        code: 'payload_too_large',
        detail: 'The body is larger than 65536 bytes. Keep large data elsewhere and send a reference to it.',
      });
    const { body } = call([{ data: 'numbers' }]);
    const grown = String(body).replace(
      '"numbers"',
      JSON.stringify(Array(12_000).fill(1)).replaceAll('1', '1e20'),
    );
    expect((await sendChecked(server.url, { ...long, body: grown })).json.code).toBe('payload_too_large');
  });
});

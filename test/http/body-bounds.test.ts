/** What bounds a body: depth and parts, the memory of all bodies together, time, and what is stored. */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import Koa from 'koa';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLargeWork, type LargeWork } from '../../server/async/large-work.ts';
import { createBodyReader } from '../../server/http/request/body.ts';
import { buildCall } from '../contract/usual-calls.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { sendChecked } from './checked-call.ts';
import { createFakeGateway } from './fake-gateway.ts';
import { openConnection, type RawConnection } from './raw-connection.ts';
import { waitUntilStable } from './stream-harness.ts';

const gateway = createFakeGateway();
const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const submit = buildCall('submitTask', secrets);
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway, { limits: { bodyBytesMax: 200_000 } });
});
afterAll(() => server.stop());
beforeEach(() => {
  gateway.calls.length = 0;
});

describe('limits on the whole body', () => {
  const send = async (json: string): Promise<unknown> => {
    const body = String(submit.body).replace('"payload":{', `"payload":{"deep":${json},`);
    const response = await sendChecked(server.url, { ...submit, body });
    return response.status === 200 ? 200 : response.json.errors;
  };

  test('100 levels pass, and the error of one more names its pointer', async () => {
    expect(await send('['.repeat(98) + ']'.repeat(98))).toBe(200);
    expect(await send('['.repeat(99) + ']'.repeat(99))).toEqual([
      {
        pointer: `/payload/deep${'/0'.repeat(98)}`,
        detail: 'is nested too deep; the body may have 100 levels',
      },
    ]);
    expect(await send(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`)).toEqual([
      { pointer: `/payload/deep${'/a'.repeat(98)}`, detail: expect.stringContaining('nested too deep') },
    ]);
  });

  test('in a large body too, whose texts may hold brackets and escapes', async () => {
    const text = JSON.stringify({ text: '\\"[[{,:'.repeat(10_000) });
    expect(text.length).toBeGreaterThan(65_536);
    expect(await send(`[${text},{"k\\u0061/~":[${text}]}]`)).toBe(200);
    const deep = `${'['.repeat(97)}${']'.repeat(97)}`;
    expect(await send(`[${text},{"k\\u0061/~":[1,${deep}]}]`)).toEqual([
      { pointer: `/payload/deep/1/ka~1~0/1${'/0'.repeat(95)}`, detail: expect.stringContaining('too deep') },
    ]);
  });

  test('too many texts, arrays and objects are refused, in large bodies too', async () => {
    const few = await startTestServer(gateway, { limits: { partsMax: 20 } });
    const ask = async (list: string): Promise<unknown> => {
      const body = String(submit.body).replace('"payload":{', `"payload":{"list":${list},`);
      const response = await sendChecked(few.url, { ...submit, body });
      return response.status === 200 ? 200 : response.json.errors;
    };
    for (const numbers of ['1', Array(40_000).fill(1).join()]) {
      expect(await ask(`[${numbers},"a",[],{}]`)).toBe(200);
      for (const more of ['""', '[]', '{}', '{"a":""}'])
        expect(await ask(`[${numbers},${Array(20).fill(more).join()}]`)).toEqual([
          {
            pointer: expect.stringMatching(/^\/payload\/list\/\d+/),
            detail: 'has too many texts, arrays and objects; the body may have 20 in all',
          },
        ]);
    }
    await few.stop();
  });

  test('the error of a number that overflows names its pointer, at any depth', async () => {
    expect(await send('{"a/b":[1,{"c~d":-1e400}]}')).toEqual([
      { pointer: '/payload/deep/a~1b/1/c~0d', detail: 'must be a finite number' },
    ]);
  });

  test('in a large body too, however the number is written', async () => {
    const text = `"${'x'.repeat(70_000)}"`;
    const refused = [{ pointer: '/payload/deep/1/true/0', detail: 'must be a finite number' }];
    for (const number of ['1e400', '-1E+309', '2.5e0400', `1${'0'.repeat(309)}`, `-${'9'.repeat(400)}.5`]) {
      expect(await send(`[${text},{"true":[${number}]}]`), number).toEqual(refused);
      expect(await send(`[{"e":${text}},{"true":[ ${number} ,false]}]`), number).toEqual(refused);
    }
    for (const number of [
      '1e308',
      '1E-400',
      '9'.repeat(300),
      `1${'0'.repeat(308)}`,
      `0.${'1'.repeat(900)}`,
    ]) {
      expect(await send(`[${text},{"true":[${number},true,false,null]}]`), number).toBe(200);
    }
  });

  test('too many keys are refused, however they are spread', async () => {
    const few = await startTestServer(gateway, { limits: { keysMax: 10 } });
    const payload = { list: [{ a: 1 }, { a: 1 }, { a: 1 }] };
    const body = JSON.stringify({ ...JSON.parse(String(submit.body)), payload });
    expect((await sendChecked(few.url, { ...submit, body })).status).toBe(200);
    const more = JSON.stringify({
      ...JSON.parse(String(submit.body)),
      payload: { ...payload, b: { c: 1, d: 1 } },
    });
    const response = await sendChecked(few.url, { ...submit, body: more });
    expect(response.json.errors).toEqual([
      { pointer: '/payload/b', detail: 'has too many keys; the body may have 10 in all' },
    ]);
    await few.stop();
  });

  test('half a million wrong items make one error', async () => {
    const large = await startTestServer(gateway);
    const body = JSON.stringify({ ...JSON.parse(String(submit.body)), task_tags: Array(500_000).fill(1) });
    const response = await sendChecked(large.url, { ...submit, body });
    const tooLong = { pointer: '/task_tags', detail: 'must have at most 64 items' };
    expect(response.json.errors).toEqual([tooLong]);
    const wrong = body.replace(/^\{/, '{"timeout":0,');
    const both = await sendChecked(large.url, { ...submit, body: wrong });
    expect(both.json.errors).toEqual([tooLong, { pointer: '/timeout', detail: 'must be a number above 0' }]);
    await large.stop();
  });

  test.each([
    ['required', { required: Array(30_000).fill(0) }],
    ['enum', { properties: { a: { enum: Array(30_000).fill(0) } } }],
    ['properties', { properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`p${n}`, 1])) }],
  ])(
    'tens of thousands of wrong places within a piece make a hundred errors, at once: %s',
    async (_name, schema) => {
      const body = JSON.stringify({ agent_id: 'a', pieces: [{ question: { schema } }] });
      const call = { ...submit, path: '/api/agent/output', body };
      // The first call compiles what checks it.
      await sendChecked(server.url, call);
      const before = process.threadCpuUsage();
      const { status, json } = await sendChecked(server.url, call);
      const { user, system } = process.threadCpuUsage(before);
      expect(status).toBe(422);
      expect((json.errors as readonly unknown[]).length).toBeLessThanOrEqual(110);
      // It was a minute, in one piece.
      expect((user + system) / 1_000).toBeLessThan(3_000);
    },
  );

  test('a pointer through long keys is that of the nearest value around', async () => {
    const key = 'k'.repeat(700);
    expect(await send(`{"${key}":{"${key}":1e400}}`)).toEqual([
      { pointer: `/payload/deep/${key}`, detail: 'must be a finite number' },
    ]);
  });
});

test('a large body is parsed in one piece of work and checked in another', async () => {
  let pieces = 0;
  const work = createLargeWork();
  const largeWork: LargeWork = {
    run(piece) {
      pieces += 1;
      return work.run(piece);
    },
  };
  const counted = await startTestServer(gateway, { largeWork });
  for (const [chars, expected] of [
    [60_000, 0],
    [70_000, 2],
  ] as const) {
    const body = String(submit.body).replace('"payload":{', `"payload":{"text":"${'x'.repeat(chars)}",`);
    expect((await sendChecked(counted.url, { ...submit, body })).status).toBe(200);
    expect(pieces).toBe(expected);
  }
  await counted.stop();
});

describe('bodies that arrive at the same time', () => {
  const LARGE = 70_000;
  const head = (path: string, framing: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\n${framing}\r\nExpect: 100-continue\r\n\r\n`;
  const largeBody = `${String(submit.body)}${' '.repeat(LARGE)}`;

  /** Opens a body and sends this much of it, which is never all. */
  async function openBody(port: number, framing: string, start: string): Promise<RawConnection> {
    const connection = await openConnection(port);
    connection.write(head('/api/cli/tasks', framing));
    await connection.readUntil(/100 Continue/);
    connection.write(start);
    return connection;
  }

  test('hold what has arrived, whatever they announce', async () => {
    const tight = await startTestServer(gateway, { limits: { bodiesBytesMax: 1.3 * LARGE } });
    const senders = await Promise.all(
      Array.from({ length: 50 }, () => openBody(tight.port, 'Content-Length: 1000000', ' ')),
    );
    expect((await sendChecked(tight.url, { ...submit, body: largeBody })).status).toBe(200);
    for (const connection of senders) connection.close();
    await tight.stop();
  });

  test.each([
    ['Content-Length: 1000000', ' '.repeat(LARGE)],
    ['Transfer-Encoding: chunked', `${LARGE.toString(16)}\r\n${' '.repeat(LARGE)}\r\n`],
  ])('with %s: beyond the memory a large one is refused, and a small one is not', async (framing, start) => {
    const tight = await startTestServer(gateway, { limits: { bodiesBytesMax: 1.3 * LARGE } });
    const open = await openBody(tight.port, framing, start);
    const refused = async (): Promise<unknown> =>
      (await sendChecked(tight.url, { ...submit, body: largeBody })).json.code;
    await expect.poll(refused, { interval: 20 }).toBe('busy');
    expect((await sendChecked(tight.url, submit)).status).toBe(200);
    open.close();
    await expect.poll(refused, { interval: 20 }).toBe(undefined);
    await tight.stop();
  });

  test('one whose chunks come in one tick is refused once, and what is behind is dropped', async () => {
    const limits = { bodiesBytesMax: LARGE, largeBodyMs: 5_000 };
    const read = createBodyReader({ limits, clock: createFakeClock(), largeWork: createLargeWork() });
    const req = Object.assign(new IncomingMessage(new Socket()), { method: 'POST' });
    req.headers = { 'transfer-encoding': 'chunked' };
    for (const _ of [1, 2, 3, 4]) req.push(Buffer.alloc(LARGE));
    const reading = read(1_000_000)(new Koa().createContext(req, new ServerResponse(req)), async () => {});
    await expect(reading).rejects.toMatchObject({ code: 'busy' });
  });
});

describe('a body that is slow to arrive', () => {
  test('has a second more for each 64 KiB that arrived', async () => {
    const clock = createFakeClock();
    const strict = await startTestServer(gateway, { clock, limits: { largeBodyMs: 100 } });
    const connection = await openConnection(strict.port);
    connection.write('POST /api/cli/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n');
    connection.write(' '.repeat(131_072));
    await expect.poll(() => clock.sleeping()).toBe(1);
    await waitUntilStable(() => connection.socket.bytesWritten);
    for (const _ of [1, 2]) await clock.advance(1_000);
    expect(connection.isClosed()).toBe(false);
    await clock.advance(1_000);
    expect(await connection.readUntil(/\}$/)).toMatch(/^HTTP\/1\.1 408 .*64 KiB a second/s);
    connection.close();
    await strict.stop();
  });
});

describe('a value that would be written longer than it was sent', () => {
  const send = async (call: 'submitTask' | 'reportResult', value: object): Promise<unknown> => {
    const field = call === 'submitTask' ? 'payload' : 'result';
    const { body, ...rest } = buildCall(call, secrets);
    const text = JSON.stringify({ ...JSON.parse(String(body)), [field]: 0 });
    // JSON.stringify would write the numbers out.
    const numbers = JSON.stringify(value).replaceAll('"1e20"', '1e20');
    const response = await sendChecked(server.url, {
      ...rest,
      body: text.replace(`"${field}":0`, `"${field}":${numbers}`),
    });
    return response.status === 200 ? 200 : `${response.status} ${response.json.code}`;
  };

  test.each(['submitTask', 'reportResult'] as const)('is refused by %s beyond the limit', async (call) => {
    expect(await send(call, { n: Array(20_000).fill('1e20') })).toBe('413 payload_too_large');
    expect(gateway.calls).toEqual([]);
    expect(await send(call, { n: Array(5_000).fill('1e20') })).toBe(200);
    // Text that only looks like such numbers is as long as before.
    expect(await send(call, { n: Array(19_000).fill('1e5') })).toBe(200);
  });
});

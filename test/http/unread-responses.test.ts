/** Callers that do not read their responses: what they hold is bounded, and they are disconnected in time. */
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { isLong } from '../../server/http/middleware.ts';
import { createStallTimer, createUnreadBytes } from '../../server/http/response/unread-bytes.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { SECRET, startTestServer, type TestServer, type TestServerOptions } from '../harness/http-server.ts';
import { createFakeGateway, type FakeGateway, TASK } from './fake-gateway.ts';
import { openConnection, type RawConnection } from './raw-connection.ts';
import { passTicks } from './stream-harness.ts';

const AUTH = encodeURIComponent(SECRET);
const GET = `GET /api/cli/tasks/x?auth=${AUTH} HTTP/1.1\r\nHost: a\r\n\r\n`;
/** More than the buffers of a connection hold. */
const LARGE_CHARS = 14_000_000;

const open: { server: TestServer; wires: RawConnection[] }[] = [];
afterEach(async () => {
  for (const { server, wires } of open.splice(0)) {
    for (const wire of wires) wire.close();
    await server.stop(100);
  }
});

type Started = {
  gateway: FakeGateway;
  /** How many responses were rendered. */
  rendered: () => number;
  connect: (requests: string) => Promise<RawConnection>;
};

/** A server whose tasks are large, and callers that read nothing until they resume. */
async function start(options: TestServerOptions = {}, chars = LARGE_CHARS): Promise<Started> {
  const text = 'x'.repeat(chars);
  let rendered = 0;
  const toJSON = (): object => {
    rendered += 1;
    return { text };
  };
  const task = { ...TASK, payload: { text, toJSON } };
  const gateway = createFakeGateway({ getTask: async () => ({ task, outcome: null }) });
  const server = await startTestServer(gateway, options);
  const wires: RawConnection[] = [];
  open.push({ server, wires });
  return {
    gateway,
    rendered: () => rendered,
    async connect(requests) {
      const wire = await openConnection(server.port);
      wires.push(wire);
      wire.socket.pause();
      wire.write(requests);
      return wire;
    },
  };
}

/** Reads everything; resolves with whether the response was whole. */
function readWhole({ socket }: RawConnection): Promise<boolean> {
  let bytes = 0;
  return new Promise((resolve) => {
    socket.on('data', (part) => {
      bytes += part.length;
      if (bytes > LARGE_CHARS) resolve(true);
    });
    socket.on('close', () => resolve(false));
    socket.resume();
  });
}

describe('a response that is not read', () => {
  test('is given up after 30 s, not before', async () => {
    const clock = createFakeClock();
    const { connect } = await start({ clock });
    const [early, late] = [await connect(GET), await connect(GET)];
    // Responses are rendered one after the other, so once this one is there the others wait for their
    // readers.
    expect(await readWhole(await connect(GET))).toBe(true);
    await passTicks(clock, 5);
    expect(await readWhole(early)).toBe(true);
    await passTicks(clock, 2);
    expect(await readWhole(late)).toBe(false);
  });

  test('keeps the requests behind it waiting: nothing is read or rendered for them', async () => {
    const { gateway, connect } = await start();
    const wire = await connect(GET.repeat(500));
    await expect.poll(() => gateway.calls.length).toBe(1);
    const other = await connect(GET);
    expect(await readWhole(other)).toBe(true);
    expect(gateway.calls.length).toBe(2);
    wire.close();
  });

  test('beyond the budget the reader without progress for the longest time gives way', async () => {
    const { connect, rendered } = await start({ limits: { unreadBytesMax: 2.5 * LARGE_CHARS } });
    const wires: RawConnection[] = [];
    for (let n = 1; n <= 3; n += 1) {
      wires.push(await connect(GET));
      await expect.poll(rendered).toBe(n);
    }
    const whole: boolean[] = [];
    for (const wire of wires.reverse()) whole.push(await readWhole(wire));
    expect(whole).toEqual([true, true, false]);
  });
});

test('pipelined requests get their responses in order, however many there are', async () => {
  const { connect } = await start({}, 10);
  const paths = Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? '/livez' : '/nowhere'));
  const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const last = 'GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
  const wire = await connect(requests.join('') + last);
  wire.socket.resume();
  const text = await wire.readAll();
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  expect(statuses).toEqual([...paths.map((path) => (path === '/livez' ? '200' : '404')), '200']);
});

describe('the least rate', () => {
  /** A response of which the reader's side has taken this many bytes. */
  function buildResponse(): {
    response: ServerResponse;
    take: (bytes: number) => void;
    isCut: () => boolean;
  } {
    let isCut = false;
    const socket = { bytesWritten: 1_000_000 };
    const response = { socket, writableLength: 1_000_000, destroy: () => (isCut = true) };
    return {
      response: response as unknown as ServerResponse,
      take: (bytes) => (response.writableLength -= bytes),
      isCut: () => isCut,
    };
  }

  test.each([
    [65_536, false],
    [60_000, true],
    [1, true],
  ])('a reader that takes %i bytes in each 30 s is disconnected: %s', async (bytes, isCut) => {
    const clock = createFakeClock();
    const reader = buildResponse();
    const timer = createStallTimer(clock, 30_000, [reader.response]);
    timer.start();
    for (let round = 0; round < 5; round += 1) {
      await clock.advance(27_500);
      reader.take(bytes);
    }
    expect(reader.isCut()).toBe(isCut);
    timer.stop();
  });

  test('a reader that has taken all there was has the whole time again for what comes later', async () => {
    const clock = createFakeClock();
    const reader = buildResponse();
    const timer = createStallTimer(clock, 30_000, [reader.response]);
    reader.take(999_000);
    timer.start();
    await clock.advance(5_000);
    reader.take(1_000);
    await clock.advance(60_000);
    reader.take(-1_000);
    await clock.advance(25_000);
    expect(reader.isCut()).toBe(false);
    await clock.advance(10_000);
    expect(reader.isCut()).toBe(true);
    timer.stop();
  });
});

test('a reply of more bytes than a slice is counted while it waits, whatever it is written in', () => {
  expect(isLong('中'.repeat(5_000))).toBe(false);
  expect(isLong('中'.repeat(6_000))).toBe(true);
  expect(isLong('a'.repeat(16_384))).toBe(false);
  expect(isLong('a'.repeat(16_385))).toBe(true);
});

describe('the budget of unread bytes', () => {
  /** A response, and whether it was cut. */
  function buildResponse(): { response: ServerResponse; isCut: () => boolean } {
    let isCut = false;
    const response = { destroy: () => (isCut = true) };
    return { response: response as unknown as ServerResponse, isCut: () => isCut };
  }

  test('the reader goes that has taken nothing for the longest time', () => {
    const cut: number[] = [];
    const unread = createUnreadBytes(100, (bytes) => cut.push(bytes));
    const [one, two, late] = [buildResponse(), buildResponse(), buildResponse()];
    unread.hold(one.response, Buffer.alloc(40));
    unread.hold(two.response, Buffer.alloc(50));
    unread.noteProgress(one.response);
    unread.hold(late.response, Buffer.alloc(30));
    expect([one, two, late].map(({ isCut }) => isCut())).toEqual([false, true, false]);
    expect([cut, unread.heldBytes()]).toEqual([[50], 70]);
  });

  test('bytes that several readers share count once, until the last has taken them', () => {
    const unread = createUnreadBytes(100, () => undefined);
    const shared = Buffer.alloc(60);
    const readers = Array.from({ length: 10 }, () => buildResponse());
    for (const { response } of readers) unread.hold(response, shared);
    expect([unread.heldBytes(), readers.some(({ isCut }) => isCut())]).toEqual([60, false]);
    for (const { response } of readers) unread.release(response);
    expect(unread.heldBytes()).toBe(0);
  });
});

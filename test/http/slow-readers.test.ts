/** Readers that take little or nothing: what they cost is bounded, and they are disconnected in time. */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { createReaders } from '../../server/http/response/readers.ts';
import { renderItem } from '../../server/http/stream/event-frames.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { SECRET, startTestServer, type TestServer, type TestServerOptions } from '../harness/http-server.ts';
import { createFakeGateway, type Feed, idleFeed, TASK } from './fake-gateway.ts';
import { openConnection, type RawConnection } from './raw-connection.ts';
import {
  AUTH,
  buildItem,
  endStreams,
  startStreamServer,
  subscribe,
  waitUntilStable,
} from './stream-harness.ts';

const GET = `GET /api/cli/tasks/x?auth=${encodeURIComponent(SECRET)} HTTP/1.1\r\nHost: a\r\n\r\n`;
/** More than the buffers of a connection hold. */
const LARGE_CHARS = 14_000_000;

const open: { server: TestServer; wires: RawConnection[] }[] = [];
afterEach(async () => {
  await endStreams();
  for (const { server, wires } of open.splice(0)) {
    for (const wire of wires) wire.close();
    await server.stop(100);
  }
});

/** A server whose tasks are large, and callers that read nothing until they resume. */
async function start(options: TestServerOptions = {}, chars = LARGE_CHARS) {
  const text = 'x'.repeat(chars);
  const gateway = createFakeGateway({
    getTask: async () => ({ task: { ...TASK, payload: { text } }, outcome: null }),
  });
  const server = await startTestServer(gateway, options);
  const wires: RawConnection[] = [];
  open.push({ server, wires });
  return {
    gateway,
    async connect(requests: string): Promise<RawConnection> {
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
  test('is given up when its reader has taken nothing for the time', async () => {
    const readers = createReaders({ unreadBytesMax: 1_000_000, stallMs: 30_000 }, () => undefined);
    const timers: [ms: number, onTimeout: () => void][] = [];
    const res = Object.assign(new EventEmitter(), {
      destroyed: false,
      setTimeout: (ms: number, onTimeout: () => void) => timers.push([ms, onTimeout]),
      destroy: () => Object.assign(res, { destroyed: true }),
    });
    const respond = (length: number): unknown =>
      readers.bound({ res, length, body: Buffer.alloc(length) } as never, async () => {});
    await respond(65_536);
    expect(timers).toEqual([]);
    await respond(65_537);
    expect(timers.map(([ms]) => ms)).toEqual([30_000]);
    timers[0]?.[1]();
    expect(res.destroyed).toBe(true);
  });

  test('beyond the budget the reader without progress for the longest time is disconnected', async () => {
    const { connect, gateway } = await start({ limits: { unreadBytesMax: 2.5 * LARGE_CHARS } });
    const wires: RawConnection[] = [];
    for (let n = 1; n <= 3; n += 1) {
      wires.push(await connect(GET));
      await expect.poll(() => gateway.calls.length).toBe(n);
    }
    const whole: boolean[] = [];
    for (const wire of wires.reverse()) whole.push(await readWhole(wire));
    expect(whole).toEqual([true, true, false]);
  });
});

describe('a stream', () => {
  /** A feed of events of 64 kB, and how many of them were taken. */
  function countedFeed(count = Number.POSITIVE_INFINITY): { feed: Feed; taken: () => number } {
    let taken = 0;
    return {
      taken: () => taken,
      feed: async function* (_session, _after, signal) {
        while (taken < count && !signal.aborted) {
          taken += 1;
          yield buildItem(taken, 'x'.repeat(65_536));
        }
        yield* idleFeed(signal);
      },
    };
  }

  /** Asks for a stream over a raw connection and reads nothing. */
  async function stall(server: TestServer): Promise<RawConnection> {
    const connection = await openConnection(server.port);
    const ask = `GET /api/cli/events?cli_session_id=s&auth=${AUTH} HTTP/1.1\r\nHost: a\r\n\r\n`;
    connection.write(ask);
    await connection.readUntil(/: ready\n\n/);
    connection.socket.pause();
    return connection;
  }

  test('is read only as fast as its reader takes it', async () => {
    const { feed, taken } = countedFeed(400);
    const server = await startStreamServer(feed, { clock: createFakeClock() });
    const reader = await subscribe(server);
    await waitUntilStable(taken);
    expect(taken()).toBeLessThan(400);
    const text = await reader.readUntil('null}\n\n', 400);
    const indexes = [...text.matchAll(/"request_id":"r(\d+)"/g)].map(([, index]) => Number(index));
    expect(indexes).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
  });

  test('whose reader takes nothing for the time is cut, and its feed is closed', async () => {
    const { feed } = countedFeed();
    const server = await startStreamServer(feed, { limits: { stallMs: 300 } });
    const connection = await stall(server);
    await expect.poll(() => server.streamCount(), { timeout: 20_000 }).toBe(0);
    connection.close();
  });

  test('has no ping within an event, wherever its reader pauses', async () => {
    const clock = createFakeClock();
    const count = 30;
    const feed: Feed = async function* (_session, _after, signal) {
      for (let index = 1; index <= count; index += 1) yield buildItem(index, 'x'.repeat(300_000));
      yield* idleFeed(signal);
    };
    const server = await startStreamServer(feed, { clock, settings: { pingIntervalMs: 1 } });
    const reader = await subscribe(server);
    let events: readonly string[] = [];
    const readEvents = async (): Promise<void> => {
      for (let parts = count; events.length < count; parts += 1) {
        const text = await reader.readUntil('\n\n', parts);
        events = text.split('\n\n').filter((part) => part.startsWith('id: '));
      }
    };
    const reading = readEvents();
    while (events.length < count) {
      await clock.advance(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await reading;
    expect(events.map((event) => event.length)).toEqual(
      Array.from(
        { length: count },
        (_, index) => renderItem(buildItem(index + 1, 'x'.repeat(300_000))).length - 2,
      ),
    );
  });
});

describe('the budget of what is ready for readers', () => {
  function buildResponse() {
    const response = Object.assign(new EventEmitter(), { closed: false, isCut: false, destroy: () => {} });
    response.destroy = () => {
      response.isCut = true;
    };
    return response;
  }
  const as = (response: EventEmitter) => response as unknown as ServerResponse;

  test('a reader that has taken something is not the first to go', () => {
    const cut: number[] = [];
    const limits = { unreadBytesMax: 1_000_000, stallMs: 30_000 };
    const readers = createReaders(limits, (bytes) => cut.push(bytes));
    const [one, two, late] = [buildResponse(), buildResponse(), buildResponse()];
    readers.hold(as(one), 400_000);
    readers.hold(as(two), 500_000);
    readers.hold(as(one), 400_000);
    readers.hold(as(late), 300_000);
    expect([one.isCut, two.isCut, late.isCut, cut]).toEqual([false, true, false, [500_000]]);
  });

  test('is given back when a reader has taken all, or has left', () => {
    const readers = createReaders({ unreadBytesMax: 1_000_000, stallMs: 30_000 }, () => undefined);
    const all = Array.from({ length: 6 }, buildResponse);
    for (const [index, response] of all.entries()) {
      readers.hold(as(response), 900_000);
      if (index % 2 === 0) readers.hold(as(response), 10);
      else response.emit('close');
    }
    expect(all.some(({ isCut }) => isCut)).toBe(false);
  });
});

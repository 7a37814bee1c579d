/** Slow readers of event streams: what they cost is bounded, and those that take nothing are disconnected. */
import { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { EventSource } from '../../server/http/answers.ts';
import type { ResponseWriter } from '../../server/http/response/response-writer.ts';
import { createUnreadBytes } from '../../server/http/response/unread-bytes.ts';
import { renderItem } from '../../server/http/stream/event-frames.ts';
import { createPingTimer, createStreams } from '../../server/http/stream/sse.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import type { TestServer } from '../harness/http-server.ts';
import { type Feed, idleFeed, subscribeTo } from './fake-gateway.ts';
import { openConnection } from './raw-connection.ts';
import {
  AUTH,
  buildItem,
  endStreams,
  passTicks,
  startStreamServer,
  subscribe,
  waitUntilStable,
} from './stream-harness.ts';

afterEach(endStreams);

describe('slow readers', () => {
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

  /** Subscribes over a raw connection and reads nothing. */
  async function stall(server: TestServer): Promise<Awaited<ReturnType<typeof openConnection>>> {
    const connection = await openConnection(server.port);
    connection.write(`GET /api/cli/events?cli_session_id=s&auth=${AUTH} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await connection.readUntil(/: ready\n\n/);
    connection.socket.pause();
    return connection;
  }

  test('the feed is read only as fast as the reader takes it', async () => {
    const { feed, taken } = countedFeed(400);
    const server = await startStreamServer(feed, { clock: createFakeClock() });
    const reader = await subscribe(server);
    await waitUntilStable(taken);
    expect(taken()).toBeLessThan(400);
    const text = await reader.readUntil('null}\n\n', 400);
    const indexes = [...text.matchAll(/"request_id":"r(\d+)"/g)].map(([, index]) => Number(index));
    expect(indexes).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
  });

  test('a reader that takes nothing for 30 seconds is disconnected, and its feed is closed', async () => {
    const clock = createFakeClock();
    const { feed, taken } = countedFeed();
    const server = await startStreamServer(feed, { clock });
    const connection = await stall(server);
    await waitUntilStable(taken);
    await passTicks(clock, 6);
    expect(server.streamCount()).toBe(1);
    await passTicks(clock, 1);
    await expect.poll(() => server.streamCount()).toBe(0);
    connection.close();
  });

  test('a reader that takes a little now and then stays connected', async () => {
    const clock = createFakeClock();
    const { feed, taken } = countedFeed();
    const server = await startStreamServer(feed, { clock });
    const connection = await stall(server);
    for (let round = 0; round < 4; round += 1) {
      await waitUntilStable(taken);
      await passTicks(clock, 5);
      const before = taken();
      connection.socket.resume();
      await expect.poll(taken).toBeGreaterThan(before);
      connection.socket.pause();
    }
    expect(server.streamCount()).toBe(1);
    connection.close();
  });
});

test('a reader that has not taken all of it, or is within an event, is not pinged as well', async () => {
  const clock = createFakeClock();
  const pinged: string[] = [];
  const reader = (name: string, writableLength: number, isWithin: boolean) => {
    const response = { headersSent: true, writableLength, write: () => pinged.push(name) };
    const writer = { isWithin: () => isWithin } as unknown as ResponseWriter;
    return { response: response as unknown as ServerResponse, writer };
  };
  const readers = [reader('slow', 1, false), reader('within an event', 0, true), reader('quick', 0, false)];
  const timer = createPingTimer(clock, 5_000, readers);
  timer.start();
  for (const _ of [1, 2, 3]) await clock.advance(5_000);
  expect(pinged).toEqual(['quick', 'quick', 'quick']);
  timer.stop();
});

test('over a socket no ping comes within an event, wherever its reader pauses', async () => {
  const clock = createFakeClock();
  const count = 30;
  const feed: Feed = async function* (_session, _after, signal) {
    for (let index = 1; index <= count; index += 1) yield buildItem(index, 'x'.repeat(300_000));
    yield* idleFeed(signal);
  };
  const server = await startStreamServer(feed, { clock, settings: { pingIntervalMs: 1 } });
  const reader = await subscribe(server);
  let isRead = false;
  const reading = reader.readUntil('null}\n\n', count).finally(() => {
    isRead = true;
  });
  while (!isRead) {
    await clock.advance(1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const text = await reading;
  const events = text.split('\n\n').filter((part) => part.startsWith('id: '));
  expect(events.map((event) => event.length)).toEqual(
    Array.from(
      { length: count },
      (_, index) => renderItem(buildItem(index + 1, 'x'.repeat(300_000))).length - 2,
    ),
  );
});

describe('many readers', () => {
  /** A response that only counts what is written to it. */
  function buildResponse(written: string[]): ServerResponse {
    const response = Object.assign(new EventEmitter(), {
      headersSent: false,
      writableLength: 0,
      writableEnded: false,
      writeHead: () => Object.assign(response, { headersSent: true }),
      write: (text: string) => written.push(text) > 0,
      cork: () => undefined,
      uncork: () => undefined,
      flushHeaders: () => undefined,
      end: () => response.emit('close'),
    });
    return response as unknown as ServerResponse;
  }

  const buildDeps = (clock: FakeClock) => ({
    clock,
    random: () => 0,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    limits: { streamsMax: 2_000, streamsOfOneMax: 2_000 },
    pingIntervalMs: 5_000,
    writers: { unread: createUnreadBytes(1_000_000, () => undefined) },
  });

  test('that have ended and are not taken yet stay as they are when the gateway drains', async () => {
    const streams = createStreams(buildDeps(createFakeClock()));
    // Without a socket nothing that is written leaves it.
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const errors: unknown[] = [];
    response.on('error', (error) => errors.push(error));
    async function* one() {
      yield Buffer.from('data: {}\n\n');
    }
    await streams.serve({ of: { kind: 'session', id: 's' }, open: one }, response, []);
    await expect.poll(() => response.writableEnded).toBe(true);
    expect(streams.count()).toBe(1);
    streams.end();
    await new Promise((resolve) => setImmediate(resolve));
    expect(errors).toEqual([]);
  });

  test('that have half an event are cut when the gateway drains: it must not pass for a whole one', async () => {
    const streams = createStreams(buildDeps(createFakeClock()));
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    async function* one() {
      yield Buffer.from(`data: ${'x'.repeat(65_536)}\n\n`);
    }
    await streams.serve({ of: { kind: 'session', id: 's' }, open: one }, response, []);
    await expect.poll(() => response.writableLength).toBeGreaterThan(16_384);
    streams.end();
    expect([response.destroyed, response.writableEnded]).toEqual([true, false]);
  });

  test('are pinged 500 at a time, so that other work goes on', async () => {
    const clock = createFakeClock();
    const streams = createStreams(buildDeps(clock));
    const written: string[] = [];
    const subscribeEvents = subscribeTo((_session, _after, signal) => idleFeed(signal));
    const source: EventSource = {
      of: { kind: 'session', id: 's' },
      open: (signal) => subscribeEvents('s', null, renderItem, signal),
    };
    await Promise.all(Array.from({ length: 1_200 }, () => streams.serve(source, buildResponse(written), [])));
    written.length = 0;
    const perTurn: number[] = [];
    const passed = clock.advance(5_000);
    while (written.length < 1_200) {
      await new Promise((resolve) => setImmediate(resolve));
      perTurn.push(written.length - perTurn.reduce((sum, count) => sum + count, 0));
    }
    await passed;
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(500);
    streams.end();
    expect(streams.count()).toBe(0);
  });
});

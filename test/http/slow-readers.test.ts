/** Readers of event streams that are slow: what they cost is bounded, and who takes nothing is let go. */

import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { createStreams } from '../../server/http/stream/sse.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { idleFeed } from './fake-gateway.ts';
import type { Gate } from './http-harness.ts';
import { openWire } from './raw-connection.ts';
import {
  AUTH,
  awaitStill,
  buildItem,
  endStreams,
  type Feed,
  openStreamGate,
  passTicks,
  subscribe,
} from './stream-harness.ts';

afterEach(endStreams);

describe('slow readers', () => {
  /** Events of 64 kB without end; says how many were taken. */
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
  async function stall(gate: Gate): Promise<Awaited<ReturnType<typeof openWire>>> {
    const wire = await openWire(gate.port);
    wire.write(`GET /api/cli/events?cli_session_id=s&auth=${AUTH} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await wire.readUntil(/: ready\n\n/);
    wire.socket.pause();
    return wire;
  }

  test('the feed is read only as fast as the reader takes it', async () => {
    const { feed, taken } = countedFeed(400);
    const gate = await openStreamGate(feed, { clock: createFakeClock() });
    const reader = await subscribe(gate);
    await awaitStill(taken);
    expect(taken()).toBeLessThan(400);
    const text = await reader.readUntil('null}\n\n', 400);
    const places = [...text.matchAll(/"request_id":"r(\d+)"/g)].map(([, place]) => Number(place));
    expect(places).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
  });

  test('a reader that takes nothing for 30 seconds is disconnected, and its feed let go', async () => {
    const clock = createFakeClock();
    const { feed, taken } = countedFeed();
    const gate = await openStreamGate(feed, { clock });
    const wire = await stall(gate);
    await awaitStill(taken);
    await passTicks(clock, 6);
    expect(gate.streamCount()).toBe(1);
    await passTicks(clock, 1);
    await expect.poll(() => gate.streamCount()).toBe(0);
    wire.close();
  });

  test('a reader that takes a little now and then is not', async () => {
    const clock = createFakeClock();
    const { feed, taken } = countedFeed();
    const gate = await openStreamGate(feed, { clock });
    const wire = await stall(gate);
    for (let round = 0; round < 4; round += 1) {
      await awaitStill(taken);
      await passTicks(clock, 5);
      const before = taken();
      wire.socket.resume();
      await expect.poll(taken).toBeGreaterThan(before);
      wire.socket.pause();
    }
    expect(gate.streamCount()).toBe(1);
    wire.close();
  });
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
      end: () => response.emit('close'),
    });
    return response as unknown as ServerResponse;
  }

  test('are pinged 500 at a time, so that others get their turn', async () => {
    const clock = createFakeClock();
    const streams = createStreams({
      clock,
      random: () => 0,
      log: { debug() {}, info() {}, warn() {}, error() {} },
      limits: { streamsMax: 2_000, sessionStreamsMax: 2_000 },
      pingIntervalMs: 5_000,
    });
    const written: string[] = [];
    const events = { session: 's', open: idleFeed };
    await Promise.all(Array.from({ length: 1_200 }, () => streams.serve(events, buildResponse(written))));
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

/** The event streams: their bytes, resuming by id, pings, ends and limits. The clock is the test's. */
import { EventSource } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { FeedTrimmed, StoreUnavailable } from '../../server/ports/store.ts';
import { buildCall } from '../contract/usual-calls.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { ADMIN_SECRET, SECRET, startTestServer } from '../harness/http-server.ts';
import { sendChecked } from './checked-call.ts';
import { createFakeGateway, idleFeed } from './fake-gateway.ts';
import {
  buildItem,
  emptyFeed,
  endStreams,
  feedOf,
  passTicks,
  startStreamServer,
  subscribe,
} from './stream-harness.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
afterEach(endStreams);

const START = 'retry: 2000\n\n: ready\n\n';

describe('the bytes of a stream', () => {
  test('it opens at once with a reconnect time and a comment', async () => {
    const reader = await subscribe(await startStreamServer(emptyFeed));
    expect(await reader.readUntil(': ready\n\n')).toBe(START);
    expect(reader.response.headers.get('content-type')).toBe('text/event-stream');
    expect(reader.response.headers.get('content-encoding')).toBeNull();
  });

  test('an event is an id and one line of data with the five fields in order, its text as it is', async () => {
    const reader = await subscribe(
      await startStreamServer(feedOf(buildItem(0, '第一行\n第二行 "😀" \u2028'), buildItem(1, 'x'))),
    );
    expect(await reader.readUntil('"x"},"error_info":null}\n\n')).toBe(
      `${START}id: 1700000000000-0\n` +
        'data: {"event":"task_done","request_id":"r0","status":"success","result":{"output":"第一行\\n第二行 \\"😀\\" \\u2028"},"error_info":null}\n\n' +
        'id: 1700000000000-1\n' +
        'data: {"event":"task_done","request_id":"r1","status":"success","result":{"output":"x"},"error_info":null}\n\n',
    );
  });

  test('a replay that misses events opens with a gap that EventSource shows', async () => {
    const reader = await subscribe(await startStreamServer(feedOf({ gap: true }, buildItem(7, 'x'))));
    expect(await reader.readUntil('null}\n\n')).toContain(
      `${START}: gap\nevent: gap\ndata: {}\n\nid: 1700000000000-7\n`,
    );
    const { url } = await startStreamServer(feedOf({ gap: true }, buildItem(7, 'x')));
    const source = new EventSource(
      `${url}/api/cli/events?cli_session_id=s&auth=${encodeURIComponent(SECRET)}`,
    );
    const seen: string[] = [];
    source.addEventListener('gap', (event) => {
      const { type, data, lastEventId } = event as MessageEvent;
      seen.push(`${type} ${data} ${lastEventId}`);
    });
    source.onmessage = (event) => seen.push(`message ${event.lastEventId}`);
    await expect.poll(() => seen).toEqual(['gap {} ', 'message 1700000000000-7']);
    source.close();
  });

  test.each([0, 1, 2, 3])('a large event arrives whole, wherever it is cut (%d)', async (shift) => {
    const output = 'a'.repeat(shift) + '😀'.repeat(150_000);
    const reader = await subscribe(await startStreamServer(feedOf(buildItem(0, output))));
    const text = await reader.readUntil('null}\n\n');
    expect(JSON.parse(text.slice(text.indexOf('data: ') + 6)).result.output === output).toBe(true);
  });
});

describe('resuming by id', () => {
  test.each([
    ['nothing', {}, '', null],
    ['the header', { 'last-event-id': '1-0' }, '', '1-0'],
    ['the query', {}, '&last_event_id=1-1', '1-1'],
    ['both, of which the header wins', { 'last-event-id': '1-0' }, '&last_event_id=1-1', '1-0'],
    ['an empty header', { 'last-event-id': '' }, '&last_event_id=1-1', '1-1'],
    ['an empty query', {}, '&last_event_id=', null],
  ])('with %s the feed is opened after that id', async (_what, headers, more, after) => {
    const opened: unknown[] = [];
    const server = await startStreamServer((session, cursor, signal) => {
      opened.push([session, cursor]);
      return idleFeed(signal);
    });
    await subscribe(server, '%E4%BC%9A%E8%AF%9D', headers as Record<string, string>, more);
    expect(opened).toEqual([['会话', after]]);
  });
});

describe('pings', () => {
  test('one timer pings every stream every 15 seconds', async () => {
    const clock = createFakeClock();
    const server = await startStreamServer(emptyFeed, { clock });
    const readers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => subscribe(server, `s${index % 3}`)),
    );
    expect(clock.sleeping()).toBe(1);
    await passTicks(clock, 2);
    await passTicks(clock, 1);
    for (const reader of readers) expect(await reader.readUntil('ping\n\n')).toBe(`${START}: ping\n\n`);
    await passTicks(clock, 3);
    for (const reader of readers)
      expect(await reader.readUntil('ping\n\n: ping\n\n')).toBe(`${START}: ping\n\n: ping\n\n`);
  });

  test('the interval is a setting', async () => {
    const clock = createFakeClock();
    const server = await startStreamServer(emptyFeed, { clock, settings: { pingIntervalMs: 1_000 } });
    const reader = await subscribe(server);
    await clock.advance(1_000);
    expect(await reader.readUntil('ping\n\n')).toBe(`${START}: ping\n\n`);
  });

  test('the timer does not run while there is no stream', async () => {
    const clock = createFakeClock();
    const server = await startStreamServer(emptyFeed, { clock });
    expect(clock.sleeping()).toBe(0);
    const reader = await subscribe(server);
    expect(clock.sleeping()).toBe(1);
    reader.close();
    await expect.poll(() => server.streamCount()).toBe(0);
    expect(clock.sleeping()).toBe(0);
  });
});

describe('the end of a stream', () => {
  test('a reader that disconnects closes its feed', async () => {
    let signal: AbortSignal | undefined;
    const server = await startStreamServer((_session, _after, readerSignal) => {
      signal = readerSignal;
      return idleFeed(readerSignal);
    });
    const reader = await subscribe(server);
    expect([server.streamCount(), signal?.aborted]).toEqual([1, false]);
    reader.close();
    await expect.poll(() => signal?.aborted).toBe(true);
    await expect.poll(() => server.streamCount()).toBe(0);
  });

  test.each([
    ['its cursor was trimmed away', new FeedTrimmed('too slow')],
    ['the store becomes unavailable', new StoreUnavailable('down')],
  ])('a stream ends in good order when %s', async (_why, error) => {
    const server = await startStreamServer(async function* () {
      yield buildItem(0, 'x');
      throw error;
    });
    const reader = await subscribe(server);
    expect(await reader.readUntil('never')).toMatch(/null\}\n\n<end>$/);
    expect(server.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('an outage before the first byte is a 503, an unexpected error a 500', async () => {
    for (const [thrown, status] of [
      [new StoreUnavailable('down'), 503],
      [new Error('fault'), 500],
    ] as const) {
      const server = await startStreamServer(async function* () {
        yield await Promise.reject(thrown);
      });
      const response = await sendChecked(server.url, buildCall('subscribeEvents', secrets, {}, 's'));
      expect([response.status, server.streamCount()]).toEqual([status, 0]);
    }
    const unhealthy = createFakeGateway({
      health: () => ({ ok: false, outage: new StoreUnavailable('down') }),
    });
    const server = await startTestServer(unhealthy);
    expect((await sendChecked(server.url, buildCall('subscribeEvents', secrets, {}, 's'))).json.code).toBe(
      'store_unavailable',
    );
  });
});

/** The event streams: their bytes, how a place is found again, pings, ends and limits. Time is in the test's hands. */
import { afterEach, describe, expect, test } from 'vitest';
import { FeedTrimmed, StoreUnavailable } from '../../server/ports/store.ts';
import { buildCall } from '../contract/usual-calls.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { ask } from './checked-call.ts';
import { createFakeGateway, idleFeed } from './fake-gateway.ts';
import { ADMIN_SECRET, type Gate, openGate, SECRET } from './http-harness.ts';
import {
  buildItem,
  emptyFeed,
  endStreams,
  feedOf,
  openStreamGate,
  passTicks,
  subscribe,
} from './stream-harness.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
afterEach(endStreams);

const START = 'retry: 2000\n\n: ready\n\n';

describe('the bytes of a stream', () => {
  test('it opens at once with a time to come back and a comment', async () => {
    const reader = await subscribe(await openStreamGate(emptyFeed));
    expect(await reader.readUntil(': ready\n\n')).toBe(START);
    expect(reader.response.headers.get('content-type')).toBe('text/event-stream');
    expect(reader.response.headers.get('content-encoding')).toBeNull();
  });

  test('an event is an id and one line of data with the five fields in order, its text as it is', async () => {
    const reader = await subscribe(
      await openStreamGate(feedOf(buildItem(0, '第一行\n第二行 "😀" \u2028'), buildItem(1, 'x'))),
    );
    expect(await reader.readUntil('"x"},"error_info":null}\n\n')).toBe(
      `${START}id: 1700000000000-0\n` +
        'data: {"event":"task_done","request_id":"r0","status":"success","result":{"output":"第一行\\n第二行 \\"😀\\" \u2028"},"error_info":null}\n\n' +
        'id: 1700000000000-1\n' +
        'data: {"event":"task_done","request_id":"r1","status":"success","result":{"output":"x"},"error_info":null}\n\n',
    );
  });

  test('a replay that misses some opens with a comment', async () => {
    const reader = await subscribe(await openStreamGate(feedOf({ gap: true }, buildItem(7, 'x'))));
    expect(await reader.readUntil('null}\n\n')).toContain(`${START}: gap\n\nid: 1700000000000-7\n`);
  });

  test.each([0, 1, 2, 3])('a large event arrives whole, wherever it is cut (%d)', async (shift) => {
    const output = 'a'.repeat(shift) + '😀'.repeat(150_000);
    const reader = await subscribe(await openStreamGate(feedOf(buildItem(0, output))));
    const text = await reader.readUntil('null}\n\n');
    expect(JSON.parse(text.slice(text.indexOf('data: ') + 6)).result.output === output).toBe(true);
  });
});

describe('finding one’s place again', () => {
  test.each([
    ['nothing', {}, '', null],
    ['the header', { 'last-event-id': '1-0' }, '', '1-0'],
    ['the query', {}, '&last_event_id=1-1', '1-1'],
    ['both, of which the header wins', { 'last-event-id': '1-0' }, '&last_event_id=1-1', '1-0'],
    ['an empty header', { 'last-event-id': '' }, '&last_event_id=1-1', '1-1'],
    ['an empty query', {}, '&last_event_id=', null],
  ])('with %s the feed is asked for what follows', async (_what, headers, more, after) => {
    const asked: unknown[] = [];
    const gate = await openStreamGate((session, place, signal) => {
      asked.push([session, place]);
      return idleFeed(signal);
    });
    await subscribe(gate, '%E4%BC%9A%E8%AF%9D', headers as Record<string, string>, more);
    expect(asked).toEqual([['会话', after]]);
  });
});

describe('pings', () => {
  test('one timer pings every stream every 15 seconds', async () => {
    const clock = createFakeClock();
    const gate = await openStreamGate(emptyFeed, { clock });
    const readers = await Promise.all(
      Array.from({ length: 30 }, (_, place) => subscribe(gate, `s${place % 3}`)),
    );
    expect(clock.sleeping()).toBe(1);
    await passTicks(clock, 2);
    await passTicks(clock, 1);
    for (const reader of readers) expect(await reader.readUntil('ping\n\n')).toBe(`${START}: ping\n\n`);
    await passTicks(clock, 3);
    for (const reader of readers)
      expect(await reader.readUntil('ping\n\n: ping\n\n')).toBe(`${START}: ping\n\n: ping\n\n`);
  });

  test('the pause is a setting', async () => {
    const clock = createFakeClock();
    const gate = await openStreamGate(emptyFeed, { clock, settings: { pingIntervalMs: 1_000 } });
    const reader = await subscribe(gate);
    await clock.advance(1_000);
    expect(await reader.readUntil('ping\n\n')).toBe(`${START}: ping\n\n`);
  });

  test('the timer rests while there is no stream', async () => {
    const clock = createFakeClock();
    const gate = await openStreamGate(emptyFeed, { clock });
    expect(clock.sleeping()).toBe(0);
    const reader = await subscribe(gate);
    expect(clock.sleeping()).toBe(1);
    reader.leave();
    await expect.poll(() => gate.streamCount()).toBe(0);
    expect(clock.sleeping()).toBe(0);
  });
});

describe('the end of a stream', () => {
  test('a reader that leaves lets its feed go', async () => {
    let signal: AbortSignal | undefined;
    const gate = await openStreamGate((_session, _after, given) => {
      signal = given;
      return idleFeed(given);
    });
    const reader = await subscribe(gate);
    expect([gate.streamCount(), signal?.aborted]).toEqual([1, false]);
    reader.leave();
    await expect.poll(() => signal?.aborted).toBe(true);
    await expect.poll(() => gate.streamCount()).toBe(0);
  });

  test.each([
    ['its place was trimmed away', new FeedTrimmed('too slow')],
    ['the store went away', new StoreUnavailable('down')],
  ])('a stream is ended, not broken, when %s', async (_why, error) => {
    const gate = await openStreamGate(async function* () {
      yield buildItem(0, 'x');
      throw error;
    });
    const reader = await subscribe(gate);
    expect(await reader.readUntil('never')).toMatch(/null\}\n\n<end>$/);
    expect(gate.said.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('an outage before the first byte is a 503, a fault a 500', async () => {
    for (const [thrown, status] of [
      [new StoreUnavailable('down'), 503],
      [new Error('fault'), 500],
    ] as const) {
      const gate = await openStreamGate(async function* () {
        yield await Promise.reject(thrown);
      });
      const answer = await ask(gate.url, buildCall('subscribeEvents', secrets, {}, 's'));
      expect([answer.status, gate.streamCount()]).toEqual([status, 0]);
    }
    const ill = createFakeGateway({ health: () => ({ ok: false, reason: 'down' }) });
    const gate = await openGate(ill);
    expect((await ask(gate.url, buildCall('subscribeEvents', secrets, {}, 's'))).json.code).toBe(
      'store_unavailable',
    );
  });
});

describe('limits', () => {
  const refused = async (gate: Gate, session: string): Promise<unknown> => {
    const { status, json, headers } = await ask(gate.url, buildCall('subscribeEvents', secrets, {}, session));
    return [status, json.code, json.detail, headers.get('retry-after')];
  };

  test('a session has no more streams than it may, and gets its place back', async () => {
    const gate = await openStreamGate(emptyFeed, { limits: { sessionStreamsMax: 2 } });
    const first = await subscribe(gate);
    await subscribe(gate);
    const detail = 'This session has 2 open streams. Close one before opening another.';
    expect(await refused(gate, 's')).toEqual([429, 'too_many_streams', detail, '5']);
    expect((await subscribe(gate, 'other')).response.status).toBe(200);
    first.leave();
    await expect.poll(() => gate.streamCount()).toBe(2);
    expect((await subscribe(gate)).response.status).toBe(200);
  });

  test('all sessions together have no more than they may', async () => {
    const gate = await openStreamGate(emptyFeed, { limits: { streamsMax: 2 } });
    await subscribe(gate, 'a');
    await subscribe(gate, 'b');
    expect(await refused(gate, 'c')).toEqual([
      429,
      'too_many_streams',
      '2 streams are open. Try again later.',
      '5',
    ]);
  });
});

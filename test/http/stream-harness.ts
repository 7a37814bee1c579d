/**
 * A server with a feed of the test's choice, readers that read on demand, and a clock that moves tick by
 * tick.
 */
import type { StreamItem } from '../../server/ports/gateway.ts';
import type { FakeClock } from '../harness/fake-clock.ts';
import { SECRET, startTestServer, type TestServer, type TestServerOptions } from '../harness/http-server.ts';
import { createFakeGateway, type Feed, idleFeed, subscribeTo } from './fake-gateway.ts';

/** The gateway secret, encoded for a query. */
export const AUTH = encodeURIComponent(SECRET);
const servers: TestServer[] = [];
const readers: AbortController[] = [];

/** Closes every stream and stops every server that was started here. */
export async function endStreams(): Promise<void> {
  for (const reader of readers.splice(0)) reader.abort();
  await Promise.all(servers.splice(0).map((server) => server.stop(100)));
}

/** Starts a server whose gateway has this feed for every session. */
export async function startStreamServer(feed: Feed, options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startTestServer(createFakeGateway({ subscribeEvents: subscribeTo(feed) }), options);
  servers.push(server);
  return server;
}

export type Reader = {
  readonly response: Response;
  /**
   * Resolves with all text so far once it ends with `end` and holds it `count` times. When the stream has
   * ended before, `<end>` is appended.
   */
  readUntil(end: string, count?: number): Promise<string>;
  close(): void;
};

/** Subscribes as a web page does; reads only on demand. */
export async function subscribe(
  server: TestServer,
  session = 's',
  headers: Record<string, string> = {},
  more = '',
): Promise<Reader> {
  const closing = new AbortController();
  readers.push(closing);
  const path = `/api/cli/events?cli_session_id=${session}&auth=${AUTH}${more}`;
  const response = await fetch(server.url + path, { headers, signal: closing.signal });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  return {
    response,
    async readUntil(end, count = 1) {
      const parts = [text];
      let tail = text.slice(-end.length);
      for (let found = text.split(end).length - 1; reader && (found < count || tail !== end); ) {
        const { done, value } = await reader.read();
        if (done) return `${parts.join('')}<end>`;
        const part = decoder.decode(value, { stream: true });
        const seam = tail.slice(1 - end.length) + part;
        found += seam.split(end).length - 1;
        tail = seam.slice(-end.length);
        parts.push(part);
      }
      text = parts.join('');
      return text;
    },
    close: () => closing.abort(),
  };
}

/** An event of a session, with the number in its ids. */
export function buildItem(index: number, output: string): StreamItem {
  return {
    gap: false,
    cursor: `1700000000000-${index}`,
    event: {
      event: 'task_done',
      request_id: `r${index}`,
      status: 'success',
      result: { output },
      error_info: null,
    },
  };
}

/** A feed of these items, then without items until the signal fires. */
export const feedOf = (...items: readonly StreamItem[]): Feed =>
  async function* (_session, _after, signal) {
    yield* items;
    yield* idleFeed(signal);
  };

/** A feed without items. */
export const emptyFeed: Feed = (_session, _after, signal) => idleFeed(signal);

/** Moves the clock tick by tick, so that what was written is sent in between. */
export async function passTicks(clock: FakeClock, ticks: number): Promise<void> {
  for (let count = 0; count < ticks; count += 1) await clock.advance(5_000);
}

/** Waits until a number has not changed for 200 ticks of the event loop. */
export async function waitUntilStable(read: () => number): Promise<void> {
  for (let before = -1, stable = 0; stable < 200; stable = before === read() ? stable + 1 : 0) {
    before = read();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** `followFeed` alone: what it closes when its reader stops, and how it uses the clock and the cursor. */
import { expect, test } from 'vitest';
import type { TaskDone } from '../../sdk/contract.ts';
import { ConnectionError } from '../../sdk/errors.ts';
import { checkTaskDone } from '../../sdk/responses.ts';
import { type Cursor, type FeedItem, followFeed } from '../../sdk/stream/follow.ts';
import { createSharedFeeds } from '../../sdk/stream/shared.ts';
import { doneFrame } from './scripted-server.ts';
import { createSdkClock, pass } from './sdk-clock.ts';

const encoder = new TextEncoder();

/** Creates a feed of streams in memory. `open` returns the frames or the error of each attempt. */
function follow(open: (attempt: number) => readonly string[] | Error, lastEventId?: string) {
  const clock = createSdkClock();
  const controller = new AbortController();
  const cursor: Cursor = { lastEventId };
  const logged: string[] = [];
  const connections: {
    readonly after: string | undefined;
    readonly signal: AbortSignal;
  }[] = [];
  const openStream = async (after: string | undefined, signal: AbortSignal) => {
    connections.push({ after, signal });
    const frames = open(connections.length);
    if (frames instanceof Error) throw frames;
    return new ReadableStream<Uint8Array>({
      start: (stream) => {
        for (const frame of frames) stream.enqueue(encoder.encode(frame));
        signal.addEventListener('abort', () => stream.error(signal.reason));
      },
    });
  };
  const feed = followFeed({
    openStream,
    readEvent: (value) => (checkTaskDone(value) ? value : undefined),
    clock,
    log: (level, message) => void logged.push(`${level}: ${message}`),
    cursor,
    idleMs: 60_000,
    maxResponseBytes: 1_000_000,
    signal: controller.signal,
  });
  return { feed, clock, controller, connections, cursor, logged };
}

test('Leaving the loop closes the connection and stops its timers.', async () => {
  const { feed, clock, connections } = follow(() => [doneFrame('1')]);
  for await (const item of feed) if (item.kind === 'event') break;
  await clock.advance(0);
  expect(connections).toHaveLength(1);
  expect(connections[0]).toMatchObject({ signal: { aborted: true } });
  expect(clock.sleeping()).toBe(0);
});

test('A signal that fires while the loop waits ends the loop without an error.', async () => {
  const { feed, clock, controller, connections } = follow(() => []);
  const items: FeedItem<TaskDone>[] = [];
  const reading = (async () => {
    for await (const item of feed) items.push(item);
  })();
  await clock.advance(0);
  controller.abort();
  await reading;
  expect(connections[0]?.signal.aborted).toBe(true);
  expect(items).toEqual([{ kind: 'open' }]);
  expect(clock.sleeping()).toBe(0);
});

test('An event without an id leaves the position where it was.', async () => {
  const { feed, clock, connections, cursor } = follow((attempt) =>
    attempt === 1 ? [doneFrame('7'), doneFrame('8').replace(/^id: 8\n/, '')] : [doneFrame('9')],
  );
  let seen = 0;
  for await (const { kind } of feed) {
    if (kind === 'event') seen += 1;
    if (seen === 2 && connections.length === 1) {
      expect(cursor.lastEventId).toBe('7');
      connections[0]?.signal.dispatchEvent(new Event('abort'));
    }
    if (kind === 'down') void pass(clock, 10_000);
    if (seen === 3) break;
  }
  expect(connections.map(({ after }) => after)).toEqual([undefined, '7']);
});

test('The cursor moves with the events, and each connection starts behind it.', async () => {
  const cut = new ConnectionError('connection_failed', 'cut');
  const { feed, clock, connections, cursor } = follow(
    (attempt) => (attempt === 2 ? cut : [doneFrame(`${attempt}-0`), 'data: {}\nid: late\n\n']),
    '0-0',
  );
  const kinds: string[] = [];
  for await (const item of feed) {
    kinds.push(item.kind);
    if (item.kind === 'event' && kinds.includes('down')) break;
    if (item.kind === 'event') void pass(clock, 120_000, 1_000);
    if (item.kind === 'down') void clock.advance(0).then(() => clock.advance(item.retryInMs));
  }
  expect(kinds).toEqual(['open', 'event', 'down', 'down', 'open', 'event']);
  expect(connections.map(({ after }) => after)).toEqual(['0-0', 'late', 'late']);
  expect(cursor.lastEventId).toBe('3-0');
});

test('An outage is one warning when it begins and one when it is over, whatever fails in between.', async () => {
  const { feed, clock, logged } = follow((attempt) =>
    attempt < 4 ? new ConnectionError('connection_failed', `refused ${attempt}`) : [],
  );
  for await (const { kind } of feed) {
    if (kind === 'open') break;
    void pass(clock, 30_000, 1_000);
  }
  expect(logged).toEqual([
    ...['warn: the event stream is down: refused 1', 'info: the event stream is down: refused 2'],
    ...['info: the event stream is down: refused 3', 'warn: the event stream is open again'],
  ]);
});

test('A run that joins a stream learns at once whether it is open or down.', async () => {
  const items = Promise.withResolvers<FeedItem<TaskDone>>();
  const feeds = createSharedFeeds(async function* () {
    yield { kind: 'open' };
    yield await items.promise;
    await new Promise(() => undefined);
  });
  const joined = (): string[] => {
    const kinds: string[] = [];
    feeds.listen('s', ({ kind }) => kinds.push(kind));
    return kinds;
  };
  const first = joined();
  await expect.poll(() => first).toEqual(['open']);
  expect(joined()).toEqual(['open']);
  const error = new ConnectionError('connection_failed', 'cut');
  items.resolve({ kind: 'down', error, retryInMs: 1_000 });
  await expect.poll(() => first).toEqual(['open', 'down']);
  expect(joined()).toEqual(['down']);
});

test('An event that is not JSON is asked for again, and left out only if it comes so twice.', async () => {
  const half = 'id: 2\ndata: {"event":"task_done","request_id":"re\n\n';
  const { feed, clock, connections, cursor, logged } = follow((attempt) =>
    attempt === 1 ? [doneFrame('1'), half] : [half, doneFrame('3')],
  );
  const read: string[] = [];
  for await (const item of feed) {
    if (item.kind === 'event') read.push(String(cursor.lastEventId));
    if (item.kind === 'down') setImmediate(() => void clock.advance(30_000));
    if (read.includes('3')) break;
  }
  expect(connections.map(({ after }) => after)).toEqual([undefined, '1']);
  expect(read).toEqual(['1', '3']);
  expect(logged.filter((line) => line.startsWith('error'))).toEqual([
    'error: an event is left out: it is not JSON',
  ]);
});

test('A gateway is not silent while its events wait for the reader.', async () => {
  const { feed, clock, controller, connections } = follow(() => [doneFrame('1'), doneFrame('2')]);
  const kinds: string[] = [];
  for await (const { kind } of feed) {
    kinds.push(kind);
    if (kind === 'event') await clock.advance(90_000);
    if (kinds.length === 3) controller.abort();
  }
  expect(kinds).toEqual(['open', 'event', 'event']);
  expect(connections).toHaveLength(1);
});

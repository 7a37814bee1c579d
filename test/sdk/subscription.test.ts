/**
 * `subscribeEvents` on real sockets: how it handles every failure of a stream, and that it closes its
 * connections.
 */
import { setTimeout as realTimeout } from 'node:timers';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createClient, type EventSubscription, type FeedNotice, type TaskDone } from '../../sdk/index.ts';
import {
  doneFrame,
  problem,
  type ScriptedServer,
  startScriptedServer,
  type Visit,
} from './scripted-server.ts';
import { createSdkClock, type SdkClock, until } from './sdk-clock.ts';

const HEAD = 'retry: 2000\n: hello\n\n';
const visits: Visit[] = [];

/** Runs the nth step for the nth request, and the last step for all further requests. */
function inTurn(...steps: readonly ((visit: Visit) => void)[]): (visit: Visit) => void {
  return (visit) => {
    visits.push(visit);
    steps[Math.min(visit.count, steps.length) - 1]?.(visit);
  };
}

let server: ScriptedServer;
let clock: SdkClock;
let subscription: EventSubscription | undefined;

beforeAll(async () => {
  server = await startScriptedServer({
    'replays-and-follows': inTurn((visit) => visit.stream(HEAD, doneFrame('1'), doneFrame('2'))),
    'cuts-mid-frame': inTurn(
      (visit) => {
        visit.stream(HEAD, doneFrame('1'), doneFrame('2').slice(0, 20));
        visit.response.write('', () => visit.cut());
      },
      (visit) => visit.stream(HEAD, doneFrame('2')),
    ),
    'closes-after-each-event': inTurn((visit) => {
      visit.stream(HEAD, doneFrame(String(visit.count)));
      visit.response.end();
    }),
    'knows-no-secret': inTurn((visit) => visit.respond(401, problem(401, 'unauthorized'))),
    'wants-a-session': inTurn((visit) =>
      visit.respond(422, { ...problem(422, 'validation_failed'), errors: [] }),
    ),
    'is-busy-for-7-s': inTurn(
      (visit) => visit.respond(503, problem(503, 'store_unavailable'), { 'retry-after': '7' }),
      (visit) => visit.stream(HEAD, doneFrame('1')),
    ),
    'has-too-many-streams': inTurn(
      (visit) => visit.respond(429, problem(429, 'too_many_streams'), { 'retry-after': '4' }),
      (visit) => visit.stream(HEAD, doneFrame('1')),
    ),
    'fails-three-times': inTurn(
      (visit) => visit.cut(),
      (visit) => visit.respond(500, problem(500, 'internal')),
      (visit) => visit.respond(502),
      (visit) => visit.stream(HEAD, doneFrame('1')),
    ),
    'cuts-at-once': inTurn((visit) => visit.cut()),
    'never-responds': inTurn(
      () => undefined,
      (visit) => visit.stream(HEAD, doneFrame('1')),
    ),
    'falls-silent': inTurn(
      (visit) => visit.stream(HEAD, doneFrame('1')),
      (visit) => visit.stream(HEAD, doneFrame('2')),
    ),
    'sends-a-gap': inTurn((visit) => visit.stream(HEAD, ': gap\nevent: gap\ndata: {}\n\n', doneFrame('9'))),
    'repeats-everything': inTurn(
      (visit) => {
        visit.stream(HEAD, doneFrame('1'), doneFrame('2'));
        visit.response.end();
      },
      (visit) => visit.stream(HEAD, doneFrame('1'), doneFrame('2'), doneFrame('3')),
    ),
    'sends-a-page': inTurn((visit) => visit.respond(200, '<html>', { 'content-type': 'text/html' })),
    redirects: inTurn((visit) => visit.respond(302, undefined, { location: 'http://127.0.0.1:9/elsewhere' })),
  });
});

afterEach(async () => {
  subscription?.close();
  subscription = undefined;
  for (const visit of visits.splice(0)) visit.response.destroy();
  await until(() => server.openConnections() === 0, 'all connections are closed');
});

afterAll(() => server.close());

/** Subscribes to a behaviour. After each break the clock is moved by the delay of the reconnection. */
function subscribe(behaviour: string, options: { signal?: AbortSignal; lastEventId?: string } = {}) {
  clock = createSdkClock();
  const changes: FeedNotice[] = [];
  const client = createClient({ baseUrl: server.baseUrl(behaviour), auth: 'a-good-secret', clock });
  const events = client.subscribeEvents('会话 1', {
    ...options,
    onNotice(change) {
      changes.push(change);
      if (change.kind === 'down') realTimeout(() => void clock.advance(change.retryInMs), 0);
    },
  });
  subscription = events;
  return { events, changes, down: () => changes.flatMap((one) => (one.kind === 'down' ? [one] : [])) };
}

async function take(events: AsyncIterable<TaskDone>, count: number): Promise<readonly string[]> {
  const taken: string[] = [];
  for await (const { request_id } of events) {
    taken.push(request_id);
    if (taken.length === count) break;
  }
  return taken;
}

describe('a subscription', () => {
  test('sends the session in the URL and the secret in a header', async () => {
    const { events } = subscribe('replays-and-follows');
    expect(await take(events, 2)).toEqual(['task-1', 'task-2']);
    const [visit] = server.visits('replays-and-follows');
    expect(visit?.path).toBe(`/api/cli/events?cli_session_id=${encodeURIComponent('会话 1')}`);
    expect(visit?.headers.authorization).toBe('Bearer a-good-secret');
    expect(visit?.headers['last-event-id']).toBeUndefined();
  });

  test('continues behind the event it is given', async () => {
    await take(subscribe('replays-and-follows', { lastEventId: '17-0' }).events, 1);
    expect(server.visits('replays-and-follows').at(-1)?.headers['last-event-id']).toBe('17-0');
  });

  test('calls onNotice when events were deleted before they could be read', async () => {
    const { events, changes } = subscribe('sends-a-gap');
    await take(events, 1);
    expect(changes).toEqual([{ kind: 'open' }, { kind: 'gap' }]);
  });

  test('goes on when onNotice throws, which is printed', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const client = createClient({ baseUrl: server.baseUrl('replays-and-follows'), auth: 'a-good-secret' });
    const onNotice = (): never => {
      throw new Error('of the callback');
    };
    expect(await take(client.subscribeEvents('s', { onNotice }), 1)).toEqual(['task-1']);
    expect(printed.mock.calls[0]?.[0]).toContain('onNotice failed');
    printed.mockRestore();
  });

  test('can be read once', async () => {
    const { events } = subscribe('replays-and-follows');
    await take(events, 1);
    await expect(take(events, 1)).rejects.toMatchObject({ code: 'invalid_option' });
  });
});

describe('a broken stream', () => {
  test('resumes behind the last complete event when it was cut inside the next one', async () => {
    const { events, down } = subscribe('cuts-mid-frame');
    expect(await take(events, 2)).toEqual(['task-1', 'task-2']);
    expect(server.visits('cuts-mid-frame')[1]?.headers['last-event-id']).toBe('1');
    expect(down()[0]?.error.code).toBe('connection_failed');
  });

  test('is reopened when the server closes it, after the delay the server named', async () => {
    const { events, down } = subscribe('closes-after-each-event');
    expect(await take(events, 3)).toEqual(['task-1', 'task-2', 'task-3']);
    expect(down().map(({ retryInMs }) => retryInMs)).toEqual([2_250, 2_250]);
    expect(server.visits('closes-after-each-event').map(({ headers }) => headers['last-event-id'])).toEqual([
      undefined,
      '1',
      '2',
    ]);
  });

  test('waits longer after each failed attempt', async () => {
    const { events, down } = subscribe('fails-three-times');
    await take(events, 1);
    expect(down().map(({ retryInMs }) => retryInMs)).toEqual([2_250, 3_000, 6_000]);
  });

  test.each([
    ['is-busy-for-7-s', 7_000, 'store_unavailable'],
    ['has-too-many-streams', 4_000, 'too_many_streams'],
  ])('obeys Retry-After: %s', async (behaviour, askedMs, code) => {
    const { events, down } = subscribe(behaviour);
    await take(events, 1);
    expect(down()).toMatchObject([{ error: { code } }]);
    expect(down()[0]?.retryInMs).toBeGreaterThanOrEqual(askedMs);
    expect(down()[0]?.retryInMs).toBeLessThanOrEqual(askedMs * 1.25);
  });

  test('is retried when no response comes', async () => {
    const { events, down } = subscribe('never-responds');
    const taken = take(events, 1);
    await until(() => server.visits('never-responds').length === 1, 'it connects');
    await clock.advance(30_000);
    expect(await taken).toEqual(['task-1']);
    expect(down()[0]?.error).toMatchObject({ name: 'TimeoutError', timeoutMs: 30_000 });
  });

  test('counts as lost when no byte came for a minute', async () => {
    const { events, down } = subscribe('falls-silent');
    const taken = take(events, 2);
    await until(() => events.lastEventId === '1', 'the first event is read');
    await clock.advance(59_000);
    expect(server.visits('falls-silent')).toHaveLength(1);
    await clock.advance(1_000);
    expect(await taken).toEqual(['task-1', 'task-2']);
    expect(down()[0]?.error.message).toContain('silent for 60000 ms');
  });

  test('yields no event twice', async () => {
    expect(await take(subscribe('repeats-everything').events, 3)).toEqual(['task-1', 'task-2', 'task-3']);
  });
});

describe('a subscription ends', () => {
  test.each([
    ['knows-no-secret', { name: 'AuthenticationError', status: 401 }],
    ['wants-a-session', { name: 'ValidationError', status: 422 }],
    ['sends-a-page', { name: 'ConnectionError', code: 'not_an_event_stream' }],
    ['redirects', { name: 'ConnectionError', code: 'redirected' }],
  ])('at once with a typed error where a retry makes no sense: %s', async (behaviour, error) => {
    await expect(take(subscribe(behaviour).events, 1)).rejects.toMatchObject(error);
    expect(server.visits(behaviour)).toHaveLength(1);
  });

  test('with its loop, and closes the connection', async () => {
    await take(subscribe('replays-and-follows').events, 1);
    await until(() => server.openConnections() === 0, 'the socket is closed');
  });

  test('with its signal: the loop throws, and the connection is closed', async () => {
    const controller = new AbortController();
    const { events } = subscribe('replays-and-follows', { signal: controller.signal });
    const taken = take(events, 3);
    await until(() => events.lastEventId === '2', 'all events are read');
    controller.abort(new Error('enough'));
    await expect(taken).rejects.toMatchObject({ name: 'AbortError', cause: new Error('enough') });
    await until(() => server.openConnections() === 0, 'the socket is closed');
  });

  test('without an error when it is closed while it waits for an event', async () => {
    const { events } = subscribe('replays-and-follows');
    const taken = take(events, 3);
    await until(() => events.lastEventId === '2', 'all events are read');
    events.close();
    expect(await taken).toEqual(['task-1', 'task-2']);
    await until(() => server.openConnections() === 0, 'the socket is closed');
  });

  test('when it is closed between two attempts, without another attempt', async () => {
    clock = createSdkClock();
    const client = createClient({ baseUrl: server.baseUrl('cuts-at-once'), auth: 'a-good-secret', clock });
    const events = client.subscribeEvents('s', { onNotice: () => events.close() });
    expect(await take(events, 1)).toEqual([]);
    expect(server.visits('cuts-at-once')).toHaveLength(1);
  });

  test('before it connects if its signal had fired already', async () => {
    const before = server.visits('replays-and-follows').length;
    const { events } = subscribe('replays-and-follows', { signal: AbortSignal.abort() });
    await expect(take(events, 1)).rejects.toMatchObject({ name: 'AbortError' });
    expect(server.visits('replays-and-follows')).toHaveLength(before);
  });
});

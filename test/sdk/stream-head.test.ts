/** What a stream may name in its head: its type in any spelling, and a delay that is obeyed in reason. */
import { expect, test } from 'vitest';
import { createClient } from '../../sdk/index.ts';
import { createScriptedFetch } from './scripted-fetch.ts';
import { doneFrame } from './scripted-server.ts';
import { createSdkClock } from './sdk-clock.ts';

/** Reads streams that all have this content type and text, until the nth break or the first event. */
async function readBreaks(type: string, text: string, breaks: number) {
  const clock = createSdkClock();
  const fetch = createScriptedFetch(new Response(text, { headers: { 'content-type': type } }));
  const client = createClient({ baseUrl: 'http://gateway.test', auth: 'a-good-secret', fetch, clock });
  const delays: number[] = [];
  const ids: string[] = [];
  const events = client.subscribeEvents('s', {
    onNotice(notice) {
      if (notice.kind !== 'down') return;
      delays.push(notice.retryInMs);
      if (delays.length === breaks) events.close();
      else setImmediate(() => void clock.advance(notice.retryInMs));
    },
  });
  for await (const { request_id } of events) ids.push(request_id);
  return { delays, ids };
}

test.each(['text/event-stream', 'Text/Event-Stream', 'text/event-stream ; charset="utf-8"'])(
  'A content type of event streams is one in any spelling: %s',
  async (type) => {
    expect((await readBreaks(type, doneFrame('1'), 1)).ids).toEqual(['task-1']);
  },
);

test.each(['text/event-streamer', 'text/html; text/event-stream', 'text/plain'])(
  'Another content type is not one: %s',
  async (type) => {
    const error = { code: 'not_an_event_stream' };
    await expect(readBreaks(type, doneFrame('1'), 1)).rejects.toMatchObject(error);
  },
);

test('A stream that asks for no delay and brings nothing is opened ever more rarely.', async () => {
  const { delays } = await readBreaks('text/event-stream', 'retry: 0\n\n', 5);
  expect(delays).toEqual([562.5, 750, 1_500, 3_000, 6_000]);
});

test('A stream that asks for a year is opened again after half a minute or so.', async () => {
  const { delays } = await readBreaks('text/event-stream', 'retry: 31536000000\n\n', 2);
  for (const delay of delays) expect(delay).toBeLessThanOrEqual(40_000);
});

test('The body of a response that is no event stream is given up, so that its connection is free.', async () => {
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream({ cancel: () => cancelled.resolve() });
  const fetch = async () => new Response(body, { headers: { 'content-type': 'text/plain' } });
  const client = createClient({ baseUrl: 'http://gateway.test', auth: 'a-good-secret', fetch });
  const next = client.subscribeEvents('s')[Symbol.asyncIterator]().next();
  await expect(next).rejects.toMatchObject({ code: 'not_an_event_stream' });
  await expect(cancelled.promise).resolves.toBeUndefined();
});

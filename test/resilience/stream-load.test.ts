/**
 * Thousands of readers at once, and readers that join in the middle: each gets every event once, in order.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Stream, subscribe } from '../e2e/plain-calls.ts';
import { printFigure } from '../harness/figures.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { readRssKiB } from './process-cost.ts';
import { SCALE } from './soak.ts';
import { startStreamReaders } from './stream-readers.ts';
import { createCaller } from './submitting.ts';

const STREAMS = Math.min(10_000, Math.round(2_000 * SCALE));
/** So many that even at the largest scale no session has as many streams as it may have. */
const SESSIONS = 200;
const EVENTS_EACH = 5;
const JOINS = 20;
const EVENTS = 10_000;

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway?.stop());

const idsOf = ({ events }: Stream): readonly string[] => events.map(({ data }) => String(data.request_id));

/** Waits until a stream has had this many events. */
async function awaitEvents(stream: Stream, count: number): Promise<void> {
  await vi.waitFor(
    () => {
      expect(stream.isOver()).toBe(false);
      expect(stream.events.length).toBeGreaterThanOrEqual(count);
    },
    { timeout: 300_000, interval: 20 },
  );
}

test(`${STREAMS} streams at once each get every event of their session once, in order`, {
  timeout: 300_000,
}, async () => {
  const names = Array.from({ length: SESSIONS }, (_, index) => `session-${index}`);
  const readers = startStreamReaders(gateway.baseUrl, SECRET);
  const caller = createCaller(gateway.baseUrl);
  try {
    const beforeKiB = readRssKiB(gateway.pid);
    await readers.open(Array.from({ length: STREAMS }, (_, index) => names[index % SESSIONS] ?? ''));
    printFigure(`stream_memory_of_${STREAMS}`, (readRssKiB(gateway.pid) - beforeKiB) / STREAMS, 'KiB');
    await Promise.all(names.map((cli_session_id) => caller.submitMany(EVENTS_EACH, { cli_session_id })));
    await readers.awaitEvents(EVENTS_EACH);
    // Replaying every session would cost more than all the readers.
    for (const session of names.filter((_, index) => index % 4 === 0)) {
      const replay = await subscribe(gateway.baseUrl, session);
      await awaitEvents(replay, EVENTS_EACH);
      expect(new Set(idsOf(replay)).size).toBe(EVENTS_EACH);
      expect(await readers.countWrong(session, idsOf(replay)), session).toBe(0);
      replay.leave();
    }
  } finally {
    await Promise.all([readers.leave(), caller.close()]);
  }
});

test(`${JOINS} readers that join in ${EVENTS} events miss none and get none twice, each from its own cursor`, {
  timeout: 300_000,
}, async () => {
  const session = 'joined';
  const caller = createCaller(gateway.baseUrl);
  const subscriber = await subscribe(gateway.baseUrl, session);
  const joiners: { readonly stream: Stream; readonly from: number }[] = [];
  const submitted = caller.submitMany(EVENTS, { cli_session_id: session });
  try {
    for (let join = 1; join <= JOINS; join += 1) {
      await awaitEvents(subscriber, (join * EVENTS) / (JOINS + 1));
      // From the start, from the middle, from the newest event: each reader has another cursor.
      const from = Math.floor(((join % 5) / 4) * subscriber.events.length);
      const cursor = subscriber.events[from - 1]?.id;
      joiners.push({ stream: await subscribe(gateway.baseUrl, session, cursor), from });
    }
    const ids = await submitted;
    await awaitEvents(subscriber, EVENTS);
    const order = idsOf(subscriber);
    expect(new Set(order)).toEqual(new Set(ids));
    expect(order.length).toBe(EVENTS);
    for (const { stream, from } of joiners) {
      await awaitEvents(stream, EVENTS - from);
      expect(idsOf(stream).join()).toBe(order.slice(from).join());
    }
    const event_ids = subscriber.events.map(({ id }) => id);
    expect(new Set(event_ids).size).toBe(EVENTS);
  } finally {
    for (const { stream } of [...joiners, { stream: subscriber }]) stream.leave();
    await caller.close();
  }
});

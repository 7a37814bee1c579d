/** Event streams in the test's hands: a server with a feed, readers that read on demand, and time by the tick. */
import type { Gateway, StreamItem } from '../../server/ports/gateway.ts';
import type { FakeClock } from '../harness/fake-clock.ts';
import { createFakeGateway, idleFeed } from './fake-gateway.ts';
import { type Gate, type GateOptions, openGate, SECRET } from './http-harness.ts';

/** The gateway secret as a query has it. */
export const AUTH = encodeURIComponent(SECRET);
const gates: Gate[] = [];
const leaving: AbortController[] = [];

/** Leaves every stream and stops every server that was opened here. */
export async function endStreams(): Promise<void> {
  for (const leave of leaving.splice(0)) leave.abort();
  await Promise.all(gates.splice(0).map((gate) => gate.stop(100)));
}

export type Feed = Gateway['subscribeEvents'];

/** A server whose gateway has this feed for every session. */
export async function openStreamGate(subscribeEvents: Feed, options: GateOptions = {}): Promise<Gate> {
  const gate = await openGate(createFakeGateway({ subscribeEvents }), options);
  gates.push(gate);
  return gate;
}

export type Reader = {
  readonly response: Response;
  /** All text so far, once it ends so, and has had this ending so many times; `<end>` follows if the stream ended. */
  readUntil(end: string, count?: number): Promise<string>;
  leave(): void;
};

/** Subscribes as a page does; reads on demand only. */
export async function subscribe(
  gate: Gate,
  session = 's',
  headers: Record<string, string> = {},
  more = '',
): Promise<Reader> {
  const leave = new AbortController();
  leaving.push(leave);
  const path = `/api/cli/events?cli_session_id=${session}&auth=${AUTH}${more}`;
  const response = await fetch(gate.url + path, { headers, signal: leave.signal });
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
    leave: () => leave.abort(),
  };
}

/** An event of a session, the place in its id. */
export function buildItem(place: number, output: string): StreamItem {
  return {
    gap: false,
    cursor: `1700000000000-${place}`,
    event: {
      event: 'task_done',
      request_id: `r${place}`,
      status: 'success',
      result: { output },
      error_info: null,
    },
  };
}

/** A feed of these items, then nothing until the reader leaves. */
export const feedOf = (...items: readonly StreamItem[]): Feed =>
  async function* (_session, _after, signal) {
    yield* items;
    yield* idleFeed(signal);
  };

/** A feed with nothing in it. */
export const emptyFeed: Feed = (_session, _after, signal) => idleFeed(signal);

/** Moves time tick by tick, and lets what was written go out. */
export async function passTicks(clock: FakeClock, ticks: number): Promise<void> {
  for (let count = 0; count < ticks; count += 1) await clock.advance(5_000);
}

/** Waits until a number has not changed for many turns of the event loop with its sockets. */
export async function awaitStill(read: () => number): Promise<void> {
  for (let before = -1, still = 0; still < 200; still = before === read() ? still + 1 : 0) {
    before = read();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

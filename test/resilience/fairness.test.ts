/**
 * What one session's load costs another session: how long its submit, get and event take alone, beside
 * thousands of waiting tasks, beside readers that are far behind, and beside long replays. The times are
 * printed; asserted is that every call returned and every event came.
 */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Stream, subscribe } from '../e2e/plain-calls.ts';
import { printFigure } from '../harness/figures.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { percentile } from './process-cost.ts';
import { SCALE } from './soak.ts';
import { type Caller, createCaller } from './submitting.ts';

/** At a scale of 10 these are 10,000 and 100,000. */
const WAITING = Math.min(10_000, Math.round(1_000 * SCALE));
const STORED = Math.min(100_000, Math.round(10_000 * SCALE));
const BEHIND = 50;
const REPLAYS_AT_ONCE = 2;
const SAMPLES = 300;

let gateway: GatewayProcess;
let caller: Caller;
let stream: Stream;
beforeAll(async () => {
  gateway = await startGateway();
  caller = createCaller(gateway.baseUrl);
  stream = await subscribe(gateway.baseUrl, 'other');
  // The first calls compile what the others run.
  await sample();
});
afterAll(async () => {
  stream?.leave();
  await caller?.close();
  await gateway?.stop();
});

type Times = { readonly submit: number[]; readonly get: number[]; readonly event: number[] };

/** The other session's calls, one after the other. */
async function sample(): Promise<Times> {
  const times: Times = { submit: [], get: [], event: [] };
  for (let n = 0; n < SAMPLES; n += 1) {
    const before = stream.events.length;
    const startMs = performance.now();
    const [id = ''] = await caller.submitMany(1, { cli_session_id: 'other' });
    times.submit.push(performance.now() - startMs);
    await vi.waitFor(() => expect(stream.events.length).toBe(before + 1), { timeout: 60_000, interval: 1 });
    times.event.push(performance.now() - startMs);
    const askedMs = performance.now();
    const task = await caller.call('GET', `/api/cli/tasks/${id}?auth=${SECRET}`);
    times.get.push(performance.now() - askedMs);
    expect([task.status, stream.events.at(-1)?.data.request_id]).toEqual(['failed', id]);
  }
  return times;
}

let alone: Times | null = null;

/** Prints medians and 99th percentiles, and their ratios to those of the session alone. */
function printTimes(beside: string, times: Times): void {
  for (const what of ['submit', 'get', 'event'] as const) {
    for (const share of [0.5, 0.99]) {
      const ms = percentile(times[what], share);
      const name = `${what}_p${share * 100}_${beside}`;
      printFigure(name, ms, 'ms');
      if (alone) printFigure(`${name}_ratio`, ms / percentile(alone[what], share), 'x');
    }
  }
}

const events = (session: string): string =>
  `GET /api/cli/events?cli_session_id=${session}&auth=${SECRET} HTTP/1.1\r\nHost: a\r\n\r\n`;

function open(): Socket {
  const socket = connect(Number(new URL(gateway.baseUrl).port), '127.0.0.1');
  socket.on('error', () => undefined);
  return socket;
}

/**
 * Replays the session from its start, again and again, as fast as it can be read; `stop` returns how often.
 */
function replayAgainAndAgain(session: string, count: number): { stop(): number } {
  let stopped = false;
  let ended = 0;
  let socket: Socket;
  const again = (): void => {
    if (stopped) return;
    let seen = 0;
    socket = open();
    socket.on('data', (bytes: Buffer) => {
      // Each event has one line that begins so; counting it costs the reader little.
      for (let at = bytes.indexOf('\nid: '); at !== -1; at = bytes.indexOf('\nid: ', at + 1)) seen += 1;
      if (seen < count - 1_000) return;
      ended += 1;
      socket.removeAllListeners('data').destroy();
      again();
    });
    socket.write(events(session));
  };
  again();
  return {
    stop() {
      stopped = true;
      socket.destroy();
      return ended;
    },
  };
}

describe('another session', { timeout: 300_000 }, () => {
  test('alone', async () => {
    const times = await sample();
    printTimes('alone', times);
    alone = times;
    expect(times.event.length).toBe(SAMPLES);
  });

  test(`beside ${WAITING} waiting tasks of one session`, async () => {
    const more = { cli_session_id: 'busy', task_tags: ['awaited'], queue_timeout: 600 };
    const ids = await caller.submitMany(WAITING, more);
    printTimes('beside_waiting', await sample());
    const last = await caller.call('GET', `/api/cli/tasks/${ids.at(-1)}?auth=${SECRET}`);
    expect(last.status).toBe('pending');
    for (const id of ids) await caller.call('POST', `/api/cli/tasks/${id}/cancel?auth=${SECRET}`);
  });

  test(`beside ${BEHIND} readers of one session that are far behind`, async () => {
    await caller.submitMany(STORED, { cli_session_id: 'long' });
    const readers = Array.from({ length: BEHIND }, () => open().pause());
    for (const socket of readers) socket.write(events('long'));
    const times = await sample();
    printTimes('beside_backlog', times);
    expect(times.event.length).toBe(SAMPLES);
    for (const socket of readers) socket.destroy();
  });

  test(`beside ${REPLAYS_AT_ONCE} replays of ${STORED} events, again and again`, async () => {
    const replays = Array.from({ length: REPLAYS_AT_ONCE }, () => replayAgainAndAgain('long', STORED));
    printTimes('beside_replay', await sample());
    await vi.waitFor(() => expect(replays.length).toBe(REPLAYS_AT_ONCE), { timeout: 60_000 });
    const ended = replays.map((replay) => replay.stop());
    printFigure(
      'replays-meanwhile',
      ended.reduce((sum, count) => sum + count, 0),
      'replays',
    );
  });
});

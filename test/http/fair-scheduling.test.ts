/** Long replays take turns: with one another, and with whatever else the server has to do. */
import { afterEach, describe, expect, test } from 'vitest';
import { createFairScheduler, type Quota } from '../../server/http/stream/fair-scheduling.ts';
import type { StreamItem } from '../../server/ports/gateway.ts';
import { idleFeed } from './fake-gateway.ts';
import { buildItem, endStreams, openStreamGate, subscribe } from './stream-harness.ts';

afterEach(endStreams);

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const fresh = (): Quota => ({ turn: 0, events: 0 });

describe('turns', () => {
  test('a share is four events, and a fresh one after a wait', async () => {
    const turns = createFairScheduler();
    const share = fresh();
    const spend = (): readonly boolean[] => Array.from({ length: 4 }, () => turns.use(share));
    const whole = [false, false, false, true];
    expect(spend()).toEqual(whole);
    expect(turns.use(share)).toBe(true);
    await turns.next(share);
    expect(spend()).toEqual(whole);
  });

  test('who writes an event now and then never queues up', async () => {
    const turns = createFairScheduler();
    const share = fresh();
    for (let n = 0; n < 50; n += 1) {
      expect(turns.use(share)).toBe(false);
      await nextTurn();
    }
  });

  test('of those who queue up one goes on at a time, the first first', async () => {
    const turns = createFairScheduler();
    const went: number[] = [];
    const perTurn: number[] = [];
    let turn = nextTurn();
    for (let n = 0; n < 20; n += 1) void turns.next(fresh()).then(() => went.push(n));
    for (let before = 0; went.length < 20; before = went.length) {
      await turn;
      perTurn.push(went.length - before);
      turn = nextTurn();
    }
    expect(went).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(Math.max(...perTurn)).toBe(1);
  });
});

describe('a replay to a quick reader', () => {
  test('leaves every few events a turn to everybody else', async () => {
    let taken = 0;
    const perTurn: number[] = [];
    async function* feed(
      _session: string,
      _after: string | null,
      signal: AbortSignal,
    ): AsyncGenerator<StreamItem> {
      for (let place = 0; place < 500; place += 1) {
        taken += 1;
        yield buildItem(place, 'x');
      }
      yield* idleFeed(signal);
    }
    const gate = await openStreamGate(feed);
    const reading = subscribe(gate).then((reader) => reader.readUntil('null}\n\n', 500));
    while (taken < 500) {
      const before = taken;
      await nextTurn();
      perTurn.push(taken - before);
    }
    expect(await reading).toContain('"request_id":"r499"');
    // A share, and the one that is taken ahead of the next; a turn may end a moment after the count.
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2 * 5);
  });
});

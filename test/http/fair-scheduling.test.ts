/** Long replays take ticks: with one another, and with everything else the server does. */
import { afterEach, describe, expect, test } from 'vitest';
import { createFairScheduler, type Quota } from '../../server/http/response/fair-scheduling.ts';
import type { StreamItem } from '../../server/ports/gateway.ts';
import { idleFeed } from './fake-gateway.ts';
import { buildItem, endStreams, startStreamServer, subscribe } from './stream-harness.ts';

afterEach(endStreams);

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const freshQuota = (caller = 'one'): Quota => ({ caller, tick: 0, events: 0 });

describe('the fair scheduler', () => {
  test('a quota is four events, and it is fresh after a wait', async () => {
    const scheduler = createFairScheduler();
    const quota = freshQuota();
    const useUp = (): readonly boolean[] => Array.from({ length: 4 }, () => scheduler.countEvent(quota));
    const whole = [false, false, false, true];
    expect(useUp()).toEqual(whole);
    expect(scheduler.countEvent(quota)).toBe(true);
    await scheduler.waitForNext(quota);
    expect(useUp()).toEqual(whole);
  });

  test('a stream that writes an event now and then never queues up', async () => {
    const scheduler = createFairScheduler();
    const quota = freshQuota();
    for (let n = 0; n < 50; n += 1) {
      expect(scheduler.countEvent(quota)).toBe(false);
      await nextTick();
    }
  });

  test('of the streams that queue up one continues in each tick, first come, first served', async () => {
    const scheduler = createFairScheduler();
    const continued: number[] = [];
    const perTurn: number[] = [];
    let tick = nextTick();
    for (let n = 0; n < 20; n += 1) void scheduler.waitForNext(freshQuota()).then(() => continued.push(n));
    for (let before = 0; continued.length < 20; before = continued.length) {
      await tick;
      perTurn.push(continued.length - before);
      tick = nextTick();
    }
    expect(continued).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(Math.max(...perTurn)).toBe(1);
  });

  test('callers come in rotation, however many streams of one queue up again and again', async () => {
    const scheduler = createFairScheduler();
    const continued: string[] = [];
    const write = async (caller: string, times: number): Promise<void> => {
      for (let n = 0; n < times; n += 1) {
        await scheduler.waitForNext(freshQuota(caller));
        continued.push(caller);
      }
    };
    const others = Array.from({ length: 20 }, () => write('a', 3));
    await write('b', 3);
    expect(continued.slice(0, 6)).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
    await Promise.all(others);
  });
});

describe('a replay to a quick reader', () => {
  test('leaves a tick to other work every few events', async () => {
    let taken = 0;
    const perTurn: number[] = [];
    async function* feed(
      _session: string,
      _after: string | null,
      signal: AbortSignal,
    ): AsyncGenerator<StreamItem> {
      for (let index = 0; index < 500; index += 1) {
        taken += 1;
        yield buildItem(index, 'x');
      }
      yield* idleFeed(signal);
    }
    const server = await startStreamServer(feed);
    const reading = subscribe(server).then((reader) => reader.readUntil('null}\n\n', 500));
    while (taken < 500) {
      const before = taken;
      await nextTick();
      perTurn.push(taken - before);
    }
    expect(await reading).toContain('"request_id":"r499"');
    // A quota, and the event that is read ahead; a tick may end a moment after the count.
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2 * 5);
  });
});

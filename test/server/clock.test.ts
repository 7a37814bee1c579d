/** The real clock: waits longer than a timer, waits that are ended early; and ids and random numbers. */
import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createClock } from '../../server/system/clock.ts';
import { createIds, random } from '../../server/system/ids.ts';

const TIMER_MAX_MS = 2_147_483_647;

describe('sleep', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  /** Whether a wait is over after the fake time has advanced. */
  async function isOver(wait: Promise<void>, ms: number): Promise<boolean> {
    let over = false;
    void wait.then(() => {
      over = true;
    });
    await vi.advanceTimersByTimeAsync(ms);
    return over;
  }

  test('a wait ends at its time and not before', async () => {
    const wait = createClock().sleep(250);
    expect(await isOver(wait, 249)).toBe(false);
    expect(await isOver(wait, 1)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a wait longer than Node’s longest timer does not end at once', async () => {
    const wait = createClock().sleep(TIMER_MAX_MS * 2 + 1_000);
    expect(await isOver(wait, 1_000)).toBe(false);
    expect(await isOver(wait, TIMER_MAX_MS)).toBe(false);
    expect(await isOver(wait, TIMER_MAX_MS - 1)).toBe(false);
    expect(await isOver(wait, 1)).toBe(true);
  });

  test('an infinite wait lasts until its signal fires', async () => {
    const stop = new AbortController();
    const wait = createClock().sleep(Number.POSITIVE_INFINITY, stop.signal);
    expect(await isOver(wait, 3 * TIMER_MAX_MS)).toBe(false);
    stop.abort();
    expect(await isOver(wait, 0)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a signal ends a wait and leaves no timer and no listener', async () => {
    const stop = new AbortController();
    const wait = createClock().sleep(60_000, stop.signal);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    stop.abort();
    await wait;
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    const whole = createClock().sleep(10, new AbortController().signal);
    expect(await isOver(whole, 10)).toBe(true);
  });

  test('a wait resolves at once when its time is not positive or its signal has fired', async () => {
    const clock = createClock();
    await Promise.all([0, -5, Number.NaN].map((ms) => clock.sleep(ms)));
    await clock.sleep(60_000, AbortSignal.abort());
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('only a wait of at most five seconds keeps the process alive', async () => {
  const spy = vi.spyOn(globalThis, 'setTimeout');
  const stop = new AbortController();
  const clock = createClock();
  const waits = [clock.sleep(5_000, stop.signal), clock.sleep(5_001, stop.signal)];
  const timers = spy.mock.results.map(({ value }) => value as NodeJS.Timeout);
  spy.mockRestore();
  expect(timers.map((timer) => timer.hasRef())).toEqual([true, false]);
  stop.abort();
  await Promise.all(waits);
});

test('monotonic time never decreases', () => {
  const clock = createClock();
  const times = Array.from({ length: 1_000 }, () => clock.monotonicMs());
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});

describe('ids and random numbers', () => {
  test('request ids are UUIDv7 of the present time, and unique', () => {
    const ids = createIds();
    const beforeMs = Date.now();
    const created = Array.from({ length: 10_000 }, () => ids.newRequestId(beforeMs));
    expect(new Set(created).size).toBe(created.length);
    for (const id of created) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
    const stampMs = Number.parseInt(created[0]?.replace('-', '').slice(0, 12) ?? '', 16);
    expect(Math.abs(stampMs - beforeMs)).toBeLessThan(60_000);
  });

  test('registration ids are opaque and unique', () => {
    const ids = createIds();
    const created = Array.from({ length: 10_000 }, () => ids.newRegistration());
    expect(new Set(created).size).toBe(created.length);
    for (const id of created) expect(id).toMatch(/^[\w-]{16}$/);
  });

  test('random numbers are in [0, 1)', () => {
    for (let nth = 0; nth < 1_000; nth += 1) {
      const number = random();
      expect(number >= 0 && number < 1).toBe(true);
    }
  });
});

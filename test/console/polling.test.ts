/** When the console reads: every 2 s while it is visible and not paused, later after failures. */
import { describe, expect, test } from 'vitest';
import { createGatewayTime } from '../../server/console/gateway/gateway-time.ts';
import {
  chooseBackoffMs,
  createPolling,
  type PollClock,
  type Reading,
} from '../../server/console/gateway/polling.ts';

type Timer = { readonly atMs: number; readonly callback: () => void };

/** A clock that a test moves by hand. */
function createClock() {
  let nowMs = 0;
  let timers: Timer[] = [];
  const clock: PollClock = {
    nowMs: () => nowMs,
    schedule(afterMs, callback) {
      const timer = { atMs: nowMs + afterMs, callback };
      timers.push(timer);
      return () => {
        timers = timers.filter((one) => one !== timer);
      };
    },
  };
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    clock,
    settle,
    async pass(ms: number) {
      await settle();
      const untilMs = nowMs + ms;
      for (;;) {
        const [next] = timers.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs);
        if (!next) break;
        timers = timers.filter((one) => one !== next);
        nowMs = next.atMs;
        next.callback();
        await settle();
      }
      nowMs = untilMs;
    },
  };
}

/** Reads that a test answers: each with the next of the replies, and the last one from then on. */
function createReads(...replies: readonly (Reading<string> | Error)[]) {
  const etags: (string | null)[] = [];
  const read = async (etag: string | null): Promise<Reading<string>> => {
    const reply = replies[Math.min(etags.length, replies.length - 1)] ?? 'unchanged';
    etags.push(etag);
    if (reply instanceof Error) throw reply;
    return reply;
  };
  return { etags, read };
}

const readingOf = (value: string): Reading<string> => ({ value, etag: `W/"${value}"` });

describe('a watch', () => {
  test('reads at once and every 2 s, and gives the ETag of what it has', async () => {
    const { clock, pass } = createClock();
    const { etags, read } = createReads(readingOf('a'), 'unchanged', readingOf('b'));
    const watch = createPolling(clock).watch(read);
    const seen: (string | undefined)[] = [];
    watch.value.subscribe((value) => seen.push(value));
    await pass(6_500);
    expect(etags).toEqual([null, 'W/"a"', 'W/"a"', 'W/"b"']);
    // What has not changed is not drawn again.
    expect(seen).toEqual([undefined, 'a', 'b']);
    expect(watch.readAtMs.value).toBe(6_000);
  });

  test('keeps the value when a read fails, waits longer each time, and recovers', async () => {
    const { clock, pass } = createClock();
    const down = new Error('connection refused');
    const { etags, read } = createReads(readingOf('a'), down, down, down, 'unchanged');
    const watch = createPolling(clock).watch(read);
    await pass(2_000);
    expect(watch.failure.value).toEqual({ error: down, count: 1, sinceMs: 2_000, nextMs: 4_000 });
    await pass(2_000);
    expect(watch.failure.value).toMatchObject({ count: 2, sinceMs: 2_000, nextMs: 8_000 });
    await pass(4_000);
    expect(watch.failure.value).toMatchObject({ count: 3, nextMs: 16_000 });
    expect(watch.value.value).toBe('a');
    await pass(7_999);
    expect(etags.length).toBe(4);
    await pass(1);
    expect([etags.length, watch.failure.value, watch.readAtMs.value]).toEqual([5, undefined, 16_000]);
  });

  test('reads nothing while it is hidden or paused, and at once when it is not', async () => {
    const { clock, pass } = createClock();
    const { etags, read } = createReads('unchanged');
    const polling = createPolling(clock);
    polling.watch(read);
    await pass(0);
    for (const set of [polling.setPaused, (off: boolean) => polling.setVisible(!off)]) {
      const before = etags.length;
      set(true);
      await pass(60_000);
      expect(etags.length).toBe(before);
      set(false);
      await pass(0);
      expect(etags.length).toBe(before + 1);
    }
  });

  test('reads when a person asks for it, also while paused, behind a read under way, and twice at a time never', async () => {
    const { clock, pass } = createClock();
    const { etags, read } = createReads('unchanged');
    const polling = createPolling(clock);
    const watch = polling.watch(read);
    await pass(0);
    polling.setPaused(true);
    await watch.refresh();
    expect(etags.length).toBe(2);
    // The first of them may have begun before what the others ask for.
    await Promise.all([watch.refresh(), watch.refresh(), watch.refresh()]);
    expect(etags.length).toBe(4);
    await pass(60_000);
    expect(etags.length).toBe(4);
  });

  test('ends: a read that is under way then changes nothing', async () => {
    const { clock, pass } = createClock();
    let isAborted = false;
    const { promise, resolve } = Promise.withResolvers<Reading<string>>();
    const watch = createPolling(clock).watch<string>((_etag, signal) => {
      signal.addEventListener('abort', () => {
        isAborted = true;
      });
      return promise;
    });
    watch.stop();
    resolve(readingOf('late'));
    await pass(10_000);
    expect([isAborted, watch.value.value, watch.readAtMs.value]).toEqual([true, undefined, undefined]);
  });
});

test('The pause after failures doubles, up to 30 s.', () => {
  expect([1, 2, 3, 4, 5, 6, 20].map(chooseBackoffMs)).toEqual([
    2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
  ]);
});

test('The console counts by the time of the gateway, whether the browser’s clock is behind it or before it.', async () => {
  const { clock, pass } = createClock();
  const time = createGatewayTime(clock);
  for (const gatewaySeconds of [1_000, 400]) {
    time.noteTime(gatewaySeconds);
    expect(time.now.value).toBe(gatewaySeconds);
    // What a response takes to arrive is no change of the clock.
    time.noteTime(gatewaySeconds - 0.4);
    expect(time.now.value).toBe(gatewaySeconds);
  }
  await pass(2_100);
  expect(time.now.value).toBe(402);
  time.stop();
});

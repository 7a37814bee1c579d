/** One push attempt on a clock that stands still: how long an agent may take to read the request. */
import type { Dispatcher } from 'undici';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createAttempt } from '../../server/push/attempt.ts';
import { PUSH_LIMITS } from '../../server/push/limits.ts';

const SECOND_BYTES = Buffer.alloc(PUSH_LIMITS.sendBytesPerSecond);

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

test('An agent that reads slowly but steadily is not cut, and one that stops is cut when its time is over.', () => {
  const abort = vi.fn();
  const attempt = createAttempt({
    limits: PUSH_LIMITS,
    signal: new AbortController().signal,
    clock: { monotonicMs: Date.now },
    wallMs: Date.now,
    resolve: () => undefined,
    onSent: () => undefined,
  });
  attempt.onRequestStart?.({ abort } as unknown as Dispatcher.DispatchController, {});
  const beganMs = Date.now();
  // Five minutes at exactly the least rate: ten times what an agent has that takes nothing.
  for (let second = 0; second < 300; second += 1) {
    vi.advanceTimersByTime(1_000);
    attempt.onBodySent?.(SECOND_BYTES);
  }
  expect(abort).not.toHaveBeenCalled();
  vi.advanceTimersByTime(PUSH_LIMITS.sendWithinMs - 1);
  expect(abort).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(abort).toHaveBeenCalledOnce();
  expect(Date.now() - beganMs).toBe(300_000 + PUSH_LIMITS.sendWithinMs);
});

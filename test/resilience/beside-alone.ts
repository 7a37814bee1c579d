/**
 * Compares what one caller waits beside others with what it waited alone, in the same run on the same
 * machine.
 */
import { expect } from 'vitest';

/** So many times what it was alone; a caller that others hold up waits for seconds. */
const RATIO_MAX = 10;
/** Below this it counts as served at once, whatever the ratio. */
const AT_ONCE_MS = 250;

/**
 * Fails when the median beside others is many times the median alone. Medians: rare long waits are the
 * machine's as well, while a caller that others hold up waits every time.
 */
export function expectSimilar(besideMs: number, aloneMs: number): void {
  expect(besideMs, `alone it was ${aloneMs.toFixed(1)} ms`).toBeLessThan(
    Math.max(RATIO_MAX * aloneMs, AT_ONCE_MS),
  );
}

/** What a test allows a machine that also has other work. */
import { expect } from 'vitest';
import { printFigure } from './figures.ts';

/**
 * Whether this is part of `npm run test:full`, which has the machine to itself. There the tests assert bounds
 * without slack.
 */
export const IS_FULL_RUN = process.env.TEST_FULL === 'true';

/** With `SLACK=none` the tests assert times as they are promised. `npm run test:alone` does that once. */
const IS_BARE = process.env.SLACK === 'none';

/** Added to each time that the gateway promises, so that no test fails because something else runs. */
export const MACHINE_SLACK_MS = IS_BARE ? 0 : IS_FULL_RUN ? 1_500 : 5_000;

/** Asserts that something took no longer than promised, with this machine's slack. Prints both times. */
export function expectWithin(what: string, tookMs: number, promisedMs: number): void {
  printFigure(`${what}, promised within ${promisedMs} ms:`, Math.round(tookMs), 'ms');
  expect(tookMs, what).toBeLessThan(promisedMs + MACHINE_SLACK_MS);
}

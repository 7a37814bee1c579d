/** The kit's clock as a test moves it; its dice always fall in the middle. */
import { vi } from 'vitest';
import type { Clock } from '../../sdk/clock.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';

export type KitClock = Clock & FakeClock;

/** A test that needs more would rather hang. */
const STEPS_MAX = 5_000;

/** Creates a clock that stands still until it is moved. */
export function createKitClock(): KitClock {
  return { ...createFakeClock(), chance: () => 0.5 };
}

/** Lets the time pass a step at a time, so that what only begins to wait meanwhile is woken in time too. */
export async function pass(clock: KitClock, ms: number, stepMs = 100): Promise<void> {
  await clock.advance(0);
  for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) await clock.advance(Math.min(stepMs, leftMs));
}

/** Moves the clock, a step at a time, until the work is done; answers what came of it. */
export async function elapse<T>(clock: KitClock, work: Promise<T>, stepMs = 100): Promise<T> {
  let done = false;
  const settled = work.finally(() => {
    done = true;
  });
  settled.catch(() => undefined);
  for (let steps = 0; !done && steps < STEPS_MAX; steps += 1) await clock.advance(stepMs);
  if (!done) throw new Error(`It did not end within ${STEPS_MAX} steps of ${stepMs} ms.`);
  return await settled;
}

/** Resolves once the condition holds; fails after ten seconds without. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const look = async (): Promise<void> => {
    if (!(await condition())) throw new Error(`It never came to this: ${what}`);
  };
  await vi.waitFor(look, { timeout: 10_000, interval: 5 });
}

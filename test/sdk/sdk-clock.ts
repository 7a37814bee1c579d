/** A fake `Clock` of the SDK, moved by tests. Its random number is always the same, 0.5 by default. */
import { expect, vi } from 'vitest';
import type { Clock } from '../../sdk/clock.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';

export type SdkClock = Clock & FakeClock;

/** A test that needs more steps and more time is taken to hang: files take real time, however many steps. */
const STEPS_MAX = 5_000;
const REAL_MS_MAX = 10_000;

/** Creates a clock that stops until it is moved. */
export function createSdkClock(random = 0.5): SdkClock {
  return { ...createFakeClock(), chance: () => random };
}

/** Moves the clock in steps, so that sleeps which begin meanwhile also end in time. */
export async function pass(clock: SdkClock, ms: number, stepMs = 100): Promise<void> {
  await clock.advance(0);
  for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) await clock.advance(Math.min(stepMs, leftMs));
}

/** Moves the clock in steps until the work is done, and returns its result. */
export async function elapse<T>(clock: SdkClock, work: Promise<T>, stepMs = 100): Promise<T> {
  let done = false;
  const finished = work.finally(() => {
    done = true;
  });
  finished.catch(() => undefined);
  const startMs = performance.now();
  const isInTime = (): boolean => performance.now() - startMs < REAL_MS_MAX;
  for (let steps = 0; !done && (steps < STEPS_MAX || isInTime()); steps += 1) await clock.advance(stepMs);
  if (!done) throw new Error(`The work was not done within ${STEPS_MAX} steps of ${stepMs} ms.`);
  return await finished;
}

/** Resolves when the condition holds. Fails after ten seconds. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const check = async (): Promise<void> => {
    expect(await condition(), what).toBe(true);
  };
  await vi.waitFor(check, { timeout: 10_000, interval: 5 });
}

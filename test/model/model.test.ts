/** Does any sequence of calls, outages and crashes break an invariant? Each engine lives the same lives. */
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { createPlainStore } from '../fakes/plain-store.ts';
import { tellTally } from '../full/figure.ts';
import { type Lifetimes, live } from './life.ts';
import { createLifetimes } from './lifetimes.ts';
import { operations } from './operations.ts';

/** How many lives are tried; `MODEL_RUNS` asks for more. */
const RUNS = Number(process.env.MODEL_RUNS ?? 2_000);
const MAX_LENGTH = 40;

async function tryLives(lifetimes: () => Lifetimes, crash: boolean): Promise<void> {
  const property = fc.asyncProperty(operations({ crash, maxLength: MAX_LENGTH }), (plan) =>
    live(lifetimes(), plan),
  );
  const seed = process.env.MODEL_SEED;
  // A failure prints its seed and path; MODEL_SEED replays it.
  await fc.assert(property, {
    numRuns: RUNS,
    endOnFailure: false,
    ...(seed !== undefined && { seed: Number(seed) }),
  });
  tellTally('model:lives', RUNS, 'lives');
}

describe('the eight invariants hold after every operation', () => {
  test('on the plain store', { timeout: 600_000 }, async () => {
    await tryLives(
      () => ({
        open: async (clock) => createPlainStore(clock),
        end: async () => {},
      }),
      false,
    );
  });

  test('on the embedded engine, crashes and all', { timeout: 600_000 }, async () => {
    await tryLives(createLifetimes, true);
  });
});

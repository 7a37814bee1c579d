/** Does any sequence of calls, outages and crashes break an invariant? Each engine lives the same lives. */
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { printTally } from '../harness/figures.ts';
import { createPlainStore } from '../harness/plain-store.ts';
import { REDIS_STORES } from '../harness/stores.ts';
import { type Lifetimes, live } from './model-run.ts';
import { createLifetimes, createRedisLifetimes } from './model-stores.ts';
import { operations } from './operations.ts';

/** How many lives are tried; `MODEL_RUNS` asks for more. */
const RUNS = Number(process.env.MODEL_RUNS ?? 2_000);
/** On a real Redis each life takes its time. */
const REDIS_RUNS = Number(process.env.MODEL_REDIS_RUNS ?? Math.ceil(RUNS / 40));
const MAX_LENGTH = 40;

async function tryLives(lifetimes: () => Lifetimes, crash: boolean, runs = RUNS): Promise<void> {
  const property = fc.asyncProperty(operations({ crash, maxLength: MAX_LENGTH }), (plan) =>
    live(lifetimes(), plan),
  );
  const seed = process.env.MODEL_SEED;
  // A failure prints its seed and path; MODEL_SEED replays it.
  await fc.assert(property, {
    numRuns: runs,
    endOnFailure: false,
    ...(seed !== undefined && { seed: Number(seed) }),
  });
  printTally('model:lives', runs, 'lives');
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

  test.each(REDIS_STORES)('on %s, crashes and all', { timeout: 600_000 }, async () => {
    await tryLives(createRedisLifetimes, true, REDIS_RUNS);
  });
});

/** Does any sequence of calls, outages and crashes break an invariant? Each engine gets the same plans. */
import fc from 'fast-check';
import { afterAll, describe, test } from 'vitest';
import { printTally } from '../harness/figures.ts';
import { endRedis } from '../harness/redis-stores.ts';
import { openPlainStore } from '../harness/stores.ts';
import { type ModelStores, runModel } from './model-run.ts';
import { createRedisStores, createSqliteStores } from './model-stores.ts';
import { operations } from './operations.ts';

/** How many plans are run; `MODEL_RUNS` changes it. */
const RUNS = Number(process.env.MODEL_RUNS ?? 200);
/** Fewer on a real Redis, where each run takes longer. */
const REDIS_RUNS = Number(process.env.MODEL_REDIS_RUNS ?? Math.ceil(RUNS / 8));

async function runPlans(createStores: () => ModelStores, crash: boolean, runs = RUNS): Promise<void> {
  const property = fc.asyncProperty(operations({ crash }), (plan) => runModel(createStores(), plan));
  const seed = process.env.MODEL_SEED;
  // A failure prints its seed and path; MODEL_SEED replays it.
  await fc.assert(property, {
    numRuns: runs,
    endOnFailure: false,
    ...(seed !== undefined && { seed: Number(seed) }),
  });
  printTally('model:lives', runs, 'lives');
}

afterAll(endRedis);

describe('the invariants hold after every operation', () => {
  test('on the plain store', { timeout: 600_000 }, async () => {
    await runPlans(
      () => ({
        open: async (clock) => openPlainStore(clock),
        end: async () => {},
      }),
      false,
    );
  });

  test('on the SQLite engine, with crashes', { timeout: 600_000 }, async () => {
    await runPlans(createSqliteStores, true);
  });

  test('on the Redis engine, with crashes', { tags: 'redis', timeout: 600_000 }, async () => {
    await runPlans(createRedisStores, true, REDIS_RUNS);
  });
});

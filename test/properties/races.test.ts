/**
 * Does any interleaving of two gateways on one store settle a task twice, overfill an agent, or lose an
 * event?
 */
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { printTally } from '../harness/figures.ts';
import { type NamedStore, QUICK_STORES, REDIS_STORE } from '../harness/stores.ts';
import { OUTPUT_RACES } from './output-races.ts';
import { QUESTION_RACES } from './question-races.ts';
import { describeRace, RACES } from './races.ts';
import { REGISTRATION_RACES } from './registration-races.ts';

/** How many interleavings of each race are run, half on each store in memory; `RACE_RUNS` changes it. */
const RUNS = Number(process.env.RACE_RUNS ?? 1_000);

/** Fewer on a real Redis, where each takes longer. */
const REDIS_RUNS = Number(process.env.RACE_REDIS_RUNS ?? Math.ceil(RUNS / 100));

function describeRaces([, open]: NamedStore, runs: number): void {
  const races = { ...RACES, ...REGISTRATION_RACES, ...OUTPUT_RACES, ...QUESTION_RACES };
  for (const [name, race] of Object.entries(races)) {
    test(`${name}: no order of the store calls breaks an invariant`, { timeout: 600_000 }, async () => {
      await fc.assert(describeRace(open, race), { numRuns: runs });
      printTally(`races:${name}`, runs, 'orders');
    });
  }
}

describe.each(QUICK_STORES)('on %s', (...store) =>
  describeRaces(store, Math.ceil(RUNS / QUICK_STORES.length)),
);
describe('on the Redis engine', { tags: 'redis' }, () => describeRaces(REDIS_STORE, REDIS_RUNS));

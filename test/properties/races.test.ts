/**
 * Does any interleaving of two gateways on one store settle a task twice, overfill an agent, or lose an
 * event?
 */
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { printTally } from '../harness/figures.ts';
import { describeOnRedis, type NamedStore, openFreshStore, QUICK_STORES } from '../harness/stores.ts';
import { OUTPUT_RACES } from './output-races.ts';
import { QUESTION_RACES } from './question-races.ts';
import { describeRace, RACES } from './races.ts';
import { REGISTRATION_RACES } from './registration-races.ts';

/**
 * How many orders of each race are run; `RACE_RUNS` changes it. An order is one of calls to the store, and
 * each store makes a call at once: so most are run on the plain store, where one costs a quarter.
 */
const RUNS = Number(process.env.RACE_RUNS ?? 1_000);
const SQLITE_RUNS = Math.ceil(RUNS / 10);
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
  describeRaces(store, store[1] === openFreshStore ? SQLITE_RUNS : RUNS - SQLITE_RUNS),
);
describeOnRedis('on %s', (...store) => describeRaces(store, REDIS_RUNS));

/** Does any interleaving of two gateways on one store end a task twice, overfill an agent, or lose an event? */
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { STORES } from '../fakes/stores.ts';
import { tellTally } from '../full/figure.ts';
import { describeRace, RACES } from './races.ts';

/** How many interleavings of each race; `RACE_RUNS` asks for more. */
const RUNS = Number(process.env.RACE_RUNS ?? 2_000);

describe.each(STORES)('on %s', (_name, open) => {
  for (const [name, race] of Object.entries(RACES)) {
    test(`${name}: no order of events breaks an invariant`, { timeout: 600_000 }, async () => {
      await fc.assert(describeRace(open, race), { numRuns: RUNS });
      tellTally(`races:${name}`, RUNS, 'orders');
    });
  }
});

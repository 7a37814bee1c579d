/** Every planted wrong design is found, and the table says by which suite. A suite that finds none has no teeth. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Store } from '../../server/ports/store.ts';
import type { FakeClock } from '../harness/fake-clock.ts';
import { printFigure } from '../harness/figures.ts';
import { createLyingStorage } from '../harness/lying-storage.ts';
import { createPlainStore } from '../harness/plain-store.ts';
import { SILENT } from '../harness/silent-log.ts';
import { live } from './model-run.ts';
import { createLifetimes } from './model-stores.ts';
import { MUTANTS } from './mutants.ts';
import { operations } from './operations.ts';
import { describeRace, RACES } from './races.ts';

/** Enough that missing a mutant by chance is out of the question. */
const RUNS = 10_000;

/** Which suite finds which design: the race of that name, or the model. */
const FOUND_BY: Record<keyof typeof MUTANTS, readonly (keyof typeof RACES | 'model')[]> = {
  'get-then-set': ['cancel × report', 'report × report', 'cancel × cancel'],
  'event in a second write': ['model'],
  'event before the commit': ['model', 'cancel × report'],
  'timers only': ['model'],
  'abandoning on a stale copy': ['register × abandon'],
  'pushing without a lease': ['two dispatchers'],
};

async function isFound(property: fc.IAsyncProperty<unknown>, name: string, numRuns = RUNS): Promise<boolean> {
  const { failed, numRuns: tried } = await fc.check(property, { numRuns, endOnFailure: true });
  if (failed) printFigure(`found/${name}`, tried, 'runs');
  return failed;
}

describe('a wrong design is found', { timeout: 300_000 }, () => {
  for (const [name, { fault, mutate }] of Object.entries(MUTANTS)) {
    for (const suite of FOUND_BY[name as keyof typeof MUTANTS]) {
      const title = `${name} by ${suite}`;
      test(`${title} (${fault})`, async () => {
        const race = RACES[suite];
        if (race) {
          const open = async (clock: FakeClock): Promise<Store> => mutate(createPlainStore(clock));
          expect(await isFound(describeRace(open, race), title)).toBe(true);
          return;
        }
        const lives = fc.asyncProperty(operations({ crash: true, maxLength: 40 }), (plan) =>
          live({ ...createLifetimes(), mutate }, plan),
        );
        expect(await isFound(lives, title)).toBe(true);
      });
    }
  }

  /** A disk that lies about one write in so many, and a crash that takes what it held back. */
  function describeLies(everyNth: number): fc.IAsyncProperty<unknown> {
    return fc.asyncProperty(operations({ crash: true, maxLength: 40 }), async (plan) => {
      const lying = createLyingStorage(everyNth);
      const open = (clock: FakeClock) => createEmbeddedStore({ openStorage: lying.open, clock, log: SILENT });
      await live(
        {
          open,
          async reopen(clock) {
            lying.crash();
            return await open(clock);
          },
          end: async () => lying.close(),
        },
        plan,
      );
    });
  }

  test('answers from memory ahead of the disk (a 2xx is told before it is written) by the model', async () => {
    expect(await isFound(describeLies(3), 'answers ahead of the disk by model')).toBe(true);
  });

  test('and nothing is found on the same disk when it tells the truth', async () => {
    expect(await isFound(describeLies(Number.POSITIVE_INFINITY), 'a truthful disk', 500)).toBe(false);
  });
});

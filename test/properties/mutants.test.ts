/**
 * Every planted wrong design is found by the suites that the table names. A suite that found none would test
 * nothing.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSqliteStore } from '../../server/engines/sqlite/store.ts';
import type { Store } from '../../server/ports/store.ts';
import type { FakeClock } from '../harness/fake-clock.ts';
import { printFigure } from '../harness/figures.ts';
import { createLyingDisk } from '../harness/lying-disk.ts';
import { createWallClock, SILENT } from '../harness/silent-log.ts';
import { openPlainStore } from '../harness/stores.ts';
import { runModel } from './model-run.ts';
import { createSqliteStores } from './model-stores.ts';
import { MUTANTS } from './mutants.ts';
import { operations } from './operations.ts';
import { OUTPUT_RACES } from './output-races.ts';
import { QUESTION_RACES } from './question-races.ts';
import { describeRace, RACES } from './races.ts';

/** So many that no mutant is missed by bad luck. */
const RUNS = 2_000;

/** The suites that find each design: the race of that name, or the model. */
const FOUND_BY: Record<keyof typeof MUTANTS, readonly (keyof typeof RACES | 'model')[]> = {
  'get-then-set': ['cancel × report', 'report × report', 'cancel × cancel', 'answer × another answer'],
  'event in a second write': ['model'],
  'event before the commit': ['model', 'cancel × report'],
  'timers only': ['model'],
  'abandoning on a stale copy': ['register × abandon'],
  'pushing without a lease': ['two dispatchers'],
  'pushing before the commit is durable': ['model'],
  'no index': ['model'],
  'index of after alone': ['model'],
  'ending twice': ['model'],
  'output of any writer': ['write × write after a restart', 'write × register without the task'],
  'beginning without a guard': ['first write × the same at another replica'],
  'the end before the last page': ['follow × write × report', 'follow × write × cancel'],
  'the answer before the commit': ['answer × another answer', 'answer × the same answer at another replica'],
  'an answer once': ['answer × the question again after a restart'],
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
        const race = { ...RACES, ...OUTPUT_RACES, ...QUESTION_RACES }[suite];
        if (race) {
          const open = async (clock: FakeClock): Promise<Store> => mutate(openPlainStore(clock));
          expect(await isFound(describeRace(open, race), title)).toBe(true);
          return;
        }
        const modelRuns = fc.asyncProperty(operations({ crash: true }), (plan) =>
          runModel({ ...createSqliteStores(), mutate }, plan),
        );
        expect(await isFound(modelRuns, title)).toBe(true);
      });
    }
  }

  /** Model runs on a disk that delays one group in `everyNth`, and loses the delayed one at a crash. */
  function describeLies(everyNth: number): fc.IAsyncProperty<unknown> {
    return fc.asyncProperty(operations({ crash: true }), async (plan) => {
      const lying = createLyingDisk(everyNth);
      const open = async (clock: FakeClock) =>
        createSqliteStore(lying.open(), { clock, log: SILENT, wallMs: createWallClock(clock) });
      await runModel(
        {
          open,
          async reopen(clock) {
            lying.crash();
            return await open(clock);
          },
          end: async () => undefined,
        },
        plan,
      );
    });
  }

  test('acknowledging before the disk has written (a 2xx is sent for a commit that a crash can lose) by the model', async () => {
    expect(await isFound(describeLies(3), 'acknowledging ahead of the disk by model')).toBe(true);
  });

  test('while the model finds no fault on the same disk when it delays no write', async () => {
    // A fault would be the gateway's or the model's: it is printed with its seed.
    await fc.assert(describeLies(Number.POSITIVE_INFINITY), { numRuns: 100 });
  });
});

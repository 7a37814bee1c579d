/**
 * Does a seed say everything? A failure is only worth something if it can be had again: each seed is run twice, and
 * every call to the store, with its answer, must be the same in the same order. Held for lives of the model and for
 * races, each on the embedded engine with its writer in this thread.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { printTally } from '../harness/figures.ts';
import { openFreshStore } from '../harness/stores.ts';
import { recordCalls } from '../harness/transcript.ts';
import { live } from './model-run.ts';
import { createLifetimes } from './model-stores.ts';
import { operations } from './operations.ts';
import { describeRace, RACES } from './races.ts';

const SEEDS = Array.from({ length: 100 }, (_, seed) => seed);

async function recordLife(seed: number): Promise<readonly string[]> {
  const lines: string[] = [];
  const [plan = []] = fc.sample(operations({ crash: true, maxLength: 40 }), { seed, numRuns: 1 });
  await live({ ...createLifetimes(), mutate: (store) => recordCalls(store, lines) }, plan);
  return lines;
}

async function recordRace(seed: number): Promise<readonly string[]> {
  const lines: string[] = [];
  const races = Object.values(RACES);
  const race = races[seed % races.length];
  if (!race) throw new Error('no race');
  const property = describeRace(async (clock) => recordCalls(await openFreshStore(clock), lines), race);
  const { failed } = await fc.check(property, { seed, numRuns: 3 });
  expect(failed).toBe(false);
  return lines;
}

/** How many seeds gave the same transcript twice; the first difference is shown where there is one. */
async function countEqual(record: (seed: number) => Promise<readonly string[]>): Promise<number> {
  const told = new Set<string>();
  let equal = 0;
  for (const seed of SEEDS) {
    const [once, again] = [await record(seed), await record(seed)];
    expect(again, `seed ${seed}`).toEqual(once);
    told.add(once.join('\n'));
    equal += 1;
  }
  // Transcripts that say nothing are alike too: different seeds must tell different stories.
  expect(told.size).toBeGreaterThan(SEEDS.length * 0.8);
  return equal;
}

test('a life is the same each time its seed is run, 100 of 100', { timeout: 120_000 }, async () => {
  const equal = await countEqual(recordLife);
  printTally('replayed-alike:lives', equal, 'seeds');
});

test('a race is the same each time its seed is run, 100 of 100', { timeout: 120_000 }, async () => {
  const equal = await countEqual(recordRace);
  printTally('replayed-alike:races', equal, 'seeds');
});

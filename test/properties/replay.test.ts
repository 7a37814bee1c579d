/**
 * Does a seed determine everything? A failure can be debugged only if it can be reproduced: each seed is run
 * twice, and every call to the store must be the same, with the same reply, in the same order. Tested for
 * model runs and for races, both on the SQLite engine with its writer in this thread.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { printTally } from '../harness/figures.ts';
import { openFreshStore } from '../harness/stores.ts';
import { recordCalls } from '../harness/transcript.ts';
import { runModel } from './model-run.ts';
import { createSqliteStores } from './model-stores.ts';
import { operations } from './operations.ts';
import { describeRace, RACES } from './races.ts';

async function recordModelRun(seed: number): Promise<readonly string[]> {
  const lines: string[] = [];
  const [plan = []] = fc.sample(operations({ crash: true }), { seed, numRuns: 1 });
  await runModel({ ...createSqliteStores(), mutate: (store) => recordCalls(store, lines) }, plan);
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

/** The name of a run of the store is random: revisions and leases begin with it. */
function hideRuns(lines: readonly string[]): readonly string[] {
  return lines.map((line) => line.replace(/\b[0-9a-f]{16}(?=[-.])/g, 'RUN'));
}

/** Returns how many seeds gave the same transcript twice. Throws at the first that did not. */
async function countEqual(
  seeds: number,
  record: (seed: number) => Promise<readonly string[]>,
): Promise<number> {
  const transcripts = new Set<string>();
  let equal = 0;
  for (let seed = 0; seed < seeds; seed += 1) {
    const [once, again] = [await record(seed), await record(seed)].map(hideRuns);
    expect(again, `seed ${seed}`).toEqual(once);
    transcripts.add(once?.join('\n') ?? '');
    equal += 1;
  }
  // Empty transcripts would be equal too, so different seeds must give different ones.
  expect(transcripts.size).toBeGreaterThan(seeds * 0.8);
  return equal;
}

test('a model run is the same each time its seed is run, 20 of 20', async () => {
  const equal = await countEqual(20, recordModelRun);
  printTally('replayed-alike:lives', equal, 'seeds');
});

test('a race is the same each time its seed is run, 100 of 100', async () => {
  const equal = await countEqual(100, recordRace);
  printTally('replayed-alike:races', equal, 'seeds');
});

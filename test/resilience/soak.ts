/**
 * The same work again and again: what a process holds after many rounds must not be more than before. How
 * many rounds is `OVERLOAD_SCALE` times what CI runs.
 */
import { expect, vi } from 'vitest';
import { countDescriptors, readRssKiB } from './process-cost.ts';

/** 1 in CI; more for a long run. */
export const SCALE = Number(process.env.OVERLOAD_SCALE ?? 1);

/** What a heap of this kind swings by between two collections, in KiB. */
const SLACK_KIB = 40 * 1_024;
/** How long what was closed by one side may take to be closed by the other. */
const CLOSED_WITHIN_MS = 30_000;
/**
 * How often more rounds are run while memory is still higher than before. A heap that has not been collected
 * yet comes to a level and stays there; a leak grows by as much in each of them.
 */
const BATCHES_MAX = 4;
/** The last rounds of a batch count, and of them the one that was measured right after a collection. */
const MEASURED_ROUNDS = 5;

/** Runs rounds; fails when memory grows with each batch of them, or when a descriptor is left behind. */
export async function expectFlat(
  pid: number,
  round: (number: number) => Promise<unknown>,
  rounds: { readonly first: number; readonly more: number },
): Promise<void> {
  await round(0);
  await vi.waitFor(() => expect(countDescriptors(pid)).toBeLessThan(1_000), { timeout: CLOSED_WITHIN_MS });
  const descriptors = countDescriptors(pid);
  let number = 0;
  const runBatch = async (count: number): Promise<readonly number[]> => {
    const measured: number[] = [];
    for (let n = 0; n < count; n += 1) {
      number += 1;
      await round(number);
      measured.push(readRssKiB(pid));
    }
    return measured;
  };
  const levelsKiB = [Math.max(...(await runBatch(rounds.first)))];
  const grownKiB = (): number => (levelsKiB.at(-1) ?? 0) - (levelsKiB.at(-2) ?? 0);
  do {
    const measured = await runBatch(Math.ceil(rounds.more * SCALE));
    levelsKiB.push(Math.min(...measured.slice(-MEASURED_ROUNDS)));
  } while (grownKiB() >= SLACK_KIB && levelsKiB.length <= BATCHES_MAX);
  expect(grownKiB(), `memory after each batch of rounds, KiB: ${levelsKiB.join(', ')}`).toBeLessThan(
    SLACK_KIB,
  );
  await vi.waitFor(() => expect(countDescriptors(pid)).toBeLessThanOrEqual(descriptors), {
    timeout: CLOSED_WITHIN_MS,
  });
}

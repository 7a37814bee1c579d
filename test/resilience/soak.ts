/**
 * The same again and again: what a process holds after many rounds must not be more than after the first. How many is
 * `OVERLOAD_SCALE` times what each submission runs.
 */
import { expect, vi } from 'vitest';
import { countDescriptors, readRssKiB } from './process-cost.ts';

/** 1 for every submission; more for a long run. */
export const SCALE = Number(process.env.OVERLOAD_SCALE ?? 1);

/** What a heap of this kind swings by between two collections, in KiB. */
const SLACK_KIB = 40 * 1_024;
/** How long what was closed by one side may take to be closed by the other. */
const SETTLE_MS = 10_000;

/** Runs rounds; fails when memory has grown past the first ones, or when a descriptor is left behind. */
export async function expectFlat(
  pid: number,
  round: (number: number) => Promise<unknown>,
  rounds: { readonly first: number; readonly more: number },
): Promise<void> {
  await round(0);
  await vi.waitFor(() => expect(countDescriptors(pid)).toBeLessThan(1_000), { timeout: SETTLE_MS });
  const descriptors = countDescriptors(pid);
  let firstKiB = 0;
  for (let n = 1; n <= rounds.first; n += 1) {
    await round(n);
    firstKiB = Math.max(firstKiB, readRssKiB(pid));
  }
  let leastKiB = Number.POSITIVE_INFINITY;
  const more = Math.ceil(rounds.more * SCALE);
  for (let n = 1; n <= more; n += 1) {
    await round(rounds.first + n);
    // The last rounds count, and of them the one that was looked at right after a collection.
    if (n > more - 5) leastKiB = Math.min(leastKiB, readRssKiB(pid));
  }
  expect(leastKiB, `memory after ${more} more rounds, KiB`).toBeLessThan(firstKiB + SLACK_KIB);
  await vi.waitFor(() => expect(countDescriptors(pid)).toBeLessThanOrEqual(descriptors), {
    timeout: SETTLE_MS,
  });
}

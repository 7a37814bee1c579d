/** What the stores of tests are opened with: a log that says nothing, a wall clock of no day. */
import type { Log } from '../../server/ports/log.ts';
import type { FakeClock } from './fake-clock.ts';

/** Says nothing. */
export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** The wall clock of a test's machine: nothing of the day it runs on is left in what it does. */
export function tellWallMs(clock: FakeClock): () => number {
  return () => 1_800_000_000_000 + clock.nowMs();
}

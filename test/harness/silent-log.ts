/**
 * What tests open stores with: a log that writes nothing, and a wall clock independent of the day of the
 * test.
 */
import type { Log } from '../../server/ports/log.ts';
import type { FakeClock } from './fake-clock.ts';

/** Writes nothing. */
export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Creates a wall clock that follows the test's clock from a fixed day. It returns epoch milliseconds. */
export function createWallClock(clock: FakeClock): () => number {
  return () => 1_800_000_000_000 + clock.nowMs();
}

/**
 * What tests open stores and gateways with: a log that writes nothing, an observer that notes nothing, and a
 * wall clock independent of the day of the test.
 */
import type { Log } from '../../server/ports/log.ts';
import type { Observer } from '../../server/ports/observer.ts';
import type { FakeClock } from './fake-clock.ts';

/** Writes nothing. */
export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Observes nothing. */
export const UNOBSERVED: Observer = {
  noteSubmitted() {},
  noteStep() {},
  noteAgent() {},
  notePush() {},
  noteCommit() {},
  noteRequest() {},
};

/** Creates a wall clock that follows the test's clock from a fixed day. It returns epoch milliseconds. */
export function createWallClock(clock: FakeClock): () => number {
  return () => 1_800_000_000_000 + clock.nowMs();
}

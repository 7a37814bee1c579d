/** The stores that the gateway's own suites run on: each must be the same to it. */
import { openEmbeddedStore } from '../../server/engines/embedded/open.ts';
import type { Log } from '../../server/ports/log.ts';
import type { Store } from '../../server/ports/store.ts';
import type { FakeClock } from './clock.ts';
import { createPlainStore } from './plain-store.ts';

/** Says nothing. */
export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** By name, for `describe.each`. */
export const STORES: readonly (readonly [string, (clock: FakeClock) => Promise<Store>])[] = [
  ['the plain store', async (clock) => createPlainStore(clock)],
  ['the embedded engine', (clock) => openEmbeddedStore({ storage: 'memory:', clock, log: SILENT })],
];

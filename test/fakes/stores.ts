/** The stores that the gateway's own suites run on: each must be the same to it. */
import { keepInMemory } from '../../server/engines/embedded/open.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Log } from '../../server/ports/log.ts';
import type { Store } from '../../server/ports/store.ts';
import type { FakeClock } from './clock.ts';
import { createPlainStore } from './plain-store.ts';

/** Says nothing. */
export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** The wall clock of a test's machine: nothing of the day it runs on is left in what it does. */
export function tellWallMs(clock: FakeClock): () => number {
  return () => 1_800_000_000_000 + clock.nowMs();
}

/** A fresh embedded store in memory, written in this thread. */
export async function openFreshStore(clock: FakeClock): Promise<Store> {
  const kept = keepInMemory();
  const store = await createEmbeddedStore({
    openStorage: kept.open,
    clock,
    log: SILENT,
    wallMs: tellWallMs(clock),
  });
  return { ...store, close: () => store.close().then(kept.close) };
}

/** By name, for `describe.each`. */
export const STORES: readonly (readonly [string, (clock: FakeClock) => Promise<Store>])[] = [
  ['the plain store', async (clock) => createPlainStore(clock)],
  ['the embedded engine', openFreshStore],
];

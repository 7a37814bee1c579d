/** The plain store for the conformance suite: a store that is opened again finds the same state. */
import { createPlainState } from '../../server/engines/plain/state.ts';
import { createPlainStore } from '../../server/engines/plain/store.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const START_MS = 1_700_000_000_000;

/** Creates it without data. */
export async function createPlainStoreUnderTest(): Promise<StoreUnderTest> {
  const clock = createFakeClock();
  const state = createPlainState();
  const stores: Store[] = [];
  return {
    async open({ wallShiftMs = 0 } = {}) {
      const store = createPlainStore({ clock, state, wallMs: () => START_MS + clock.nowMs() + wallShiftMs });
      stores.push(store);
      return store;
    },
    advance: (ms) => clock.advance(ms),
    async dispose() {
      for (const store of stores) await store.close();
    },
  };
}

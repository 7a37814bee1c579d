/** What the parts of the conformance suite share. */
import type { Store } from '../../server/ports/store.ts';
import type { Disk, StoreUnderTest } from './store-under-test.ts';

/**
 * What each part of the suite gets: the store under test, fresh for each test, and a store opened on its
 * data.
 */
export type SuiteContext = {
  underTest(): StoreUnderTest;
  store(): Store;
  /** The disk under it, which tests of a slow or failing one ask for. */
  disk(): Disk;
  /** Closes the store and opens another on the same data. */
  reopen(options?: { readonly wallShiftMs?: number }): Promise<Store>;
};

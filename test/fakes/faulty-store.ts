/** Any store with an outage in the test's hands: commits that fail before they are applied, or after. */
import { type Store, StoreUnavailable } from '../../server/ports/store.ts';

export type Fault = 'before' | 'after';

export type FaultyStore = Store & {
  /** The next commits meet these faults, in order. */
  plan(faults: readonly Fault[]): void;
};

/** Wraps a store; until something is planned it changes nothing. */
export function createFaultyStore(store: Store): FaultyStore {
  let planned: Fault[] = [];
  return {
    ...store,
    plan(faults) {
      planned = [...faults];
    },
    async commit(batch) {
      const fault = planned.shift();
      if (fault === 'before') throw new StoreUnavailable('planned outage, nothing was applied');
      const outcome = await store.commit(batch);
      if (fault === 'after') throw new StoreUnavailable('planned outage, the answer was lost');
      return outcome;
    },
  };
}

/**
 * The conformance suite of the store port: what every engine must do. An engine is named by a factory of subjects;
 * nothing in here knows how one is built. The chapters stand in files of their own.
 */
import { afterEach, beforeEach, describe } from 'vitest';
import type { Store } from '../../server/ports/store.ts';
import { describeAgentsAndSlots } from './agents.suite.ts';
import { describeClock } from './clock.suite.ts';
import { describeCommits } from './commits.suite.ts';
import { describeDue } from './due.suite.ts';
import { describeDurability } from './durability.suite.ts';
import { describeFeeds } from './feeds.suite.ts';
import { describeListings } from './listings.suite.ts';
import { describeWatching } from './notifications.suite.ts';
import { describeOutages } from './outages.suite.ts';
import { describeRetention } from './retention.suite.ts';
import type { Subject } from './store-under-test.ts';
import { describeStrings } from './strings.suite.ts';
import { describeWaiters } from './waiting-tasks.suite.ts';

/** What a chapter is given: the subject of the running test, and a store on it. */
export type Given = {
  subject(): Subject;
  store(): Store;
  /** Closes the store and opens another on the same data. */
  reopen(options?: { readonly wallShiftMs?: number }): Promise<Store>;
};

/** Runs every chapter on an engine. */
export function describeStore(name: string, createSubject: () => Promise<Subject>): void {
  describe(name, () => {
    let subject: Subject;
    let store: Store;
    beforeEach(async () => {
      subject = await createSubject();
      store = await subject.open();
    });
    afterEach(() => subject.dispose());
    const given: Given = {
      subject: () => subject,
      store: () => store,
      async reopen(options) {
        await store.close();
        store = await subject.open(options);
        return store;
      },
    };
    describeCommits(given);
    describeAgentsAndSlots(given);
    describeWaiters(given);
    describeDue(given);
    describeWatching(given);
    describeFeeds(given);
    describeListings(given);
    describeRetention(given);
    describeClock(given);
    describeStrings(given);
    describeDurability(given);
    describeOutages(given);
  });
}

/**
 * The conformance suite of the store port: what every engine must do. An engine is named by a factory of subjects;
 * nothing in here knows how one is built. The chapters stand in files of their own.
 */
import { afterEach, beforeEach, describe } from 'vitest';
import type { Store } from '../../server/ports/store.ts';
import { describeAgentsAndSlots } from './agents.chapter.ts';
import { describeClock } from './clock.chapter.ts';
import { describeCommits } from './commits.chapter.ts';
import { describeDue } from './due.chapter.ts';
import { describeDurability } from './durability.chapter.ts';
import { describeFeeds } from './feeds.chapter.ts';
import { describeListings } from './listings.chapter.ts';
import { describeOutages } from './outages.chapter.ts';
import { describeRetention } from './retention.chapter.ts';
import { describeStrings } from './strings.chapter.ts';
import type { Subject } from './subject.ts';
import { describeWaiters } from './waiters.chapter.ts';
import { describeWatching } from './watching.chapter.ts';

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

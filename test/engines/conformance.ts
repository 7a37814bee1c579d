/**
 * The conformance suite of the store port: what every engine must do. An engine takes part with a function
 * that creates stores under test; nothing here depends on how it does that. Each part of the suite is a file
 * of its own.
 */
import { afterEach, beforeEach, describe } from 'vitest';
import type { Store } from '../../server/ports/store.ts';
import { describeActivity } from './activity.suite.ts';
import { describeAgentsAndSlots } from './agents.suite.ts';
import { describeClaimable } from './claimable.suite.ts';
import { describeClock } from './clock.suite.ts';
import { describeCommits } from './commits.suite.ts';
import { describeContacts } from './contact.suite.ts';
import { describeCounting } from './counting.suite.ts';
import { describeDetails } from './details.suite.ts';
import { describeDue } from './due.suite.ts';
import { describeDurability } from './durability.suite.ts';
import { describeEnded } from './ended.suite.ts';
import { describeFeeds } from './feeds.suite.ts';
import { describeListings } from './listings.suite.ts';
import { describeWatching } from './notifications.suite.ts';
import { describeOutages } from './outages.suite.ts';
import { describeOutput } from './output.suite.ts';
import { describeOutputRaces } from './output-races.suite.ts';
import { describeOutputReads } from './output-reads.suite.ts';
import { describeOutputRetention } from './output-retention.suite.ts';
import { describeRetention } from './retention.suite.ts';
import type { StoreUnderTest } from './store-under-test.ts';
import { describeStrings } from './strings.suite.ts';
import type { SuiteContext } from './suite-context.ts';
import { describeWaiters } from './waiting-tasks.suite.ts';

/**
 * Runs the suite on an engine. If it has no disk, its data end with the process, and the parts about a slow
 * or failing disk are left out. Where the same engine passes the whole suite in memory, the parts that
 * depend on nothing but its statements can be left out on a file.
 */
export function describeStore(
  name: string,
  createStoreUnderTest: () => Promise<StoreUnderTest>,
  { hasDisk = true, isWhole = true }: { readonly hasDisk?: boolean; readonly isWhole?: boolean } = {},
): void {
  describe(name, () => {
    let underTest: StoreUnderTest;
    let store: Store;
    beforeEach(async () => {
      underTest = await createStoreUnderTest();
      store = await underTest.open();
    });
    afterEach(() => underTest.dispose());
    const context: SuiteContext = {
      underTest: () => underTest,
      store: () => store,
      disk() {
        if (!underTest.disk) throw new Error('the subject has no disk');
        return underTest.disk;
      },
      async reopen(options) {
        await store.close();
        store = await underTest.open(options);
        return store;
      },
    };
    describeCommits(context);
    describeWatching(context);
    describeFeeds(context);
    describeOutput(context);
    describeOutputRaces(context);
    describeClock(context);
    describeStrings(context);
    if (hasDisk) {
      describeDurability(context);
      describeOutages(context);
    }
    if (!isWhole) return;
    describeAgentsAndSlots(context);
    describeWaiters(context);
    describeClaimable(context);
    describeDue(context);
    describeContacts(context);
    describeOutputReads(context);
    describeOutputRetention(context);
    describeListings(context);
    describeCounting(context);
    describeActivity(context);
    describeEnded(context);
    describeDetails(context);
    describeRetention(context);
  });
}

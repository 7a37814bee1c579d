/**
 * Two gateways on one store. fast-check chooses the order of all their calls to it, and shrinks that order.
 */

import type { Scheduler } from 'fast-check';
import { createLargeWork } from '../../server/async/large-work.ts';
import { createPace } from '../../server/async/pace.ts';
import { createGateway, type Duties } from '../../server/gateway/gateway.ts';
import type { Gateway } from '../../server/ports/gateway.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock, flushMicrotasks } from '../harness/fake-clock.ts';
import { createFakePusher, type FakePusher } from '../harness/fake-pusher.ts';
import { SILENT, UNOBSERVED } from '../harness/silent-log.ts';

export type Replica = { readonly gateway: Gateway; readonly duties: Duties };

export type Pair = {
  readonly store: Store;
  readonly clock: FakeClock;
  readonly pusher: FakePusher;
  readonly one: Replica;
  readonly two: Replica;
  /** Runs the work at once. While it runs, the scheduler chooses which store call goes next. */
  race<T>(...work: readonly (() => Promise<T>)[]): Promise<readonly PromiseSettledResult<T>[]>;
  /** Runs both replicas' duties, one after the other, until nothing is due. */
  runUntilIdle(): Promise<void>;
};

/** Opens the store and puts two gateways over it. */
export async function createPair(
  open: (clock: FakeClock) => Promise<Store>,
  scheduler: Scheduler,
): Promise<Pair> {
  const clock = createFakeClock();
  const pusher = createFakePusher();
  const store = await open(clock);
  let racing = false;
  let ids = 0;

  const nextNumber = (): string => {
    ids += 1;
    return String(ids).padStart(4, '0');
  };

  const turn = async (name: string): Promise<void> => {
    if (racing) await scheduler.schedule(Promise.resolve(), name);
  };

  function createReplica(name: string): Replica {
    return createGateway({
      store: takeTurns(store, (call) => turn(`${name} ${call}`)),
      clock,
      pusher,
      ids: {
        newRequestId: () => `task-${nextNumber()}`,
        newRegistration: () => `registration-${nextNumber()}`,
      },
      // No pause between tries: only the scheduler decides which replica is first.
      random: () => 0,
      keepPace: createPace(() => 0),
      log: SILENT,
      observer: UNOBSERVED,
      limits: { timeoutMaxMs: 1e9, openTasksMax: 1_000, keepKeysMs: 1e8, agentsMax: 100, pushesMax: 100 },
      retention: { keepTasksMs: 1e8, sessionEventsMax: 1_000, outputBytesMax: 2 ** 28 },
      largeWork: createLargeWork(),
    });
  }

  const one = createReplica('one');
  const two = createReplica('two');
  return {
    store,
    clock,
    pusher,
    one,
    two,
    async race(...work) {
      racing = true;
      const all = Promise.allSettled(work.map((each) => each()));
      let isOver = false;
      void all.then(() => {
        isOver = true;
      });
      // Work that goes on reaches its next store call before one is chosen: else all would go in step.
      while (!isOver) {
        await flushMicrotasks();
        if (scheduler.count() > 0) await scheduler.waitOne();
      }
      racing = false;
      // Work that the race started and does not await, such as a push, goes on in the chosen order.
      while (scheduler.count() > 0) await scheduler.waitOne();
      return await all;
    },
    async runUntilIdle() {
      for (let ticks = 0; ticks < 100; ticks += 1) {
        await flushMicrotasks();
        if ((await one.duties.runDuePass()) + (await two.duties.runDuePass()) === 0) return;
      }
      throw new Error('The duties found work 100 times in a row without time passing');
    },
  };
}

function takeTurns(store: Store, turn: (call: string) => Promise<void>): Store {
  const { get, getForCommit, getAgentStatus, readAgentChanges, list, commit, takeDue, touch, listClaimable } =
    store;
  const { appendOutput, readOutput } = store;
  return {
    ...store,
    get: async (kind, id) => {
      await turn(`get ${kind}`);
      return await get(kind, id);
    },
    getForCommit: async (request_id) => {
      await turn('getForCommit');
      return await getForCommit(request_id);
    },
    getAgentStatus: async (agent_id) => {
      await turn('getAgentStatus');
      return await getAgentStatus(agent_id);
    },
    readAgentChanges: async (after) => {
      await turn('readAgentChanges');
      return await readAgentChanges(after);
    },
    list: async (query, ask, page) => {
      await turn(`list ${query}`);
      return await list(query, ask, page);
    },
    listClaimable: async (agent_id, limit) => {
      await turn('listClaimable');
      return await listClaimable(agent_id, limit);
    },
    commit: async (batch) => {
      await turn('commit');
      return await commit(batch);
    },
    appendOutput: async (append) => {
      await turn('appendOutput');
      return await appendOutput(append);
    },
    readOutput: async (...page) => {
      await turn('readOutput');
      return await readOutput(...page);
    },
    touch: async (agent_id, contact) => {
      await turn('touch');
      return await touch(agent_id, contact);
    },
    takeDue: async (limit) => {
      await turn('takeDue');
      return await takeDue(limit);
    },
  };
}

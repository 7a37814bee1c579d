/**
 * Any store with an outage in the test's hands: commits that fail before they are applied or after, reads that fail,
 * and a process that dies in the middle of what it does: from then on nothing it asks is ever answered.
 */
import { type Store, StoreUnavailable } from '../../server/ports/store.ts';

/** `none`: that commit is spared, so that a later one of the same call may be met. */
export type Fault = 'none' | 'before' | 'after' | 'read';

export type FaultyStore = Store & {
  /** The next commits meet `before` and `after` in order, the next reads `read`; what was planned earlier is dropped. */
  plan(faults: readonly Fault[]): void;
  /** After so many more commits the process is dead: they were applied, whoever made them never hears of it. */
  die(afterCommits: number): void;
  /** Nothing fails while this runs; what is planned is kept for later. */
  spare<T>(work: () => Promise<T>): Promise<T>;
};

/** Wraps a store; until something is planned it changes nothing. */
export function createFaultyStore(store: Store): FaultyStore {
  let commits: Fault[] = [];
  let reads: Fault[] = [];
  let spared = false;
  let commitsLeft = Number.POSITIVE_INFINITY;
  const dead = new Promise<never>(() => undefined);

  const meet = (planned: Fault[]): Fault | undefined => (spared ? undefined : planned.shift());
  const failing =
    <Args extends readonly unknown[], T>(read: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      if (commitsLeft <= 0) return await dead;
      if (meet(reads)) throw new StoreUnavailable('planned outage of a read');
      return await read(...args);
    };

  const read = failing(store.get as (kind: string, id: string) => Promise<unknown>);
  return {
    ...store,
    get: read as Store['get'],
    list: failing(store.list as (...args: never) => Promise<unknown>) as Store['list'],
    takeDue: failing(store.takeDue),
    getAgentStatus: failing(store.getAgentStatus),
    readAgentChanges: failing(store.readAgentChanges),
    plan(faults) {
      commits = faults.filter((fault) => fault !== 'read');
      reads = faults.filter((fault) => fault === 'read');
    },
    die(afterCommits) {
      commitsLeft = afterCommits;
    },
    async spare(work) {
      spared = true;
      try {
        return await work();
      } finally {
        spared = false;
      }
    },
    async commit(batch) {
      if (commitsLeft <= 0) return await dead;
      commitsLeft -= 1;
      const fault = meet(commits);
      if (fault === 'before') throw new StoreUnavailable('planned outage, nothing was applied');
      const outcome = await store.commit(batch);
      if (commitsLeft <= 0) return await dead;
      if (fault === 'after') throw new StoreUnavailable('planned outage, the answer was lost');
      return outcome;
    },
  };
}

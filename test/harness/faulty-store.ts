/**
 * A store with outages that the test plans: commits that fail before or after they are applied, and reads
 * that fail. It can also play a process that dies at work: from then on none of its calls ever completes.
 */
import { type Store, StoreUnavailable } from '../../server/ports/store.ts';

/** With `none` that commit does not fail, so that a later one of the same call can. */
export type Fault = 'none' | 'before' | 'after' | 'read';

export type FaultyStore = Store & {
  /**
   * Replaces the plan: the next commits meet the faults `before`, `after` and `none` in order, the next reads
   * `read`.
   */
  plan(faults: readonly Fault[]): void;
  /** The process dies once so many more commits are applied. The call of the last one never returns. */
  die(afterCommits: number): void;
  /** Runs the work without faults. The plan is kept for later. */
  spare<T>(work: () => Promise<T>): Promise<T>;
};

/** Wraps a store. Without a plan it changes nothing. */
export function createFaultyStore(store: Store): FaultyStore {
  let commits: Fault[] = [];
  let reads: Fault[] = [];
  let spared = false;
  let commitsLeft = Number.POSITIVE_INFINITY;
  const dead = new Promise<never>(() => undefined);

  const nextFault = (planned: Fault[]): Fault | undefined => (spared ? undefined : planned.shift());
  const failing =
    <Args extends readonly unknown[], T>(read: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      if (commitsLeft <= 0) return await dead;
      if (nextFault(reads)) throw new StoreUnavailable('planned outage of a read');
      return await read(...args);
    };

  const read = failing(store.get as (kind: string, id: string) => Promise<unknown>);
  return {
    ...store,
    get: read as Store['get'],
    getForCommit: failing(store.getForCommit),
    list: failing(store.list as (...args: never) => Promise<unknown>) as Store['list'],
    listClaimable: failing(store.listClaimable),
    readCounts: failing(store.readCounts),
    readActivity: failing(store.readActivity),
    readEnded: failing(store.readEnded),
    findSlots: failing(store.findSlots),
    readOutput: failing(store.readOutput),
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
      const fault = nextFault(commits);
      if (fault === 'before') throw new StoreUnavailable('planned outage, nothing was applied');
      const result = await store.commit(batch);
      if (commitsLeft <= 0) return await dead;
      if (fault === 'after') throw new StoreUnavailable('planned outage, the reply was lost');
      return result;
    },
  };
}

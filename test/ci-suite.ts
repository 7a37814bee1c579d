/** A test file that `npm test` leaves to `npm run test:ci`, or runs with smaller counts. */
export type CiSuite = {
  readonly file: string;
  readonly seconds: number;
  /** It measures one caller beside another, so nothing else may run meanwhile. */
  readonly alone?: true;
  /** Why it takes longer than a person waits before each push. */
  readonly reason: string;
  /** Where `npm test` tries a small part of the same property; empty where there is no cheap part. */
  readonly partIn: readonly string[];
  /** The counts of `npm test`, as the suite reads them from its environment. */
  readonly fewer?: Readonly<Record<string, string>>;
};

/**
 * Files whose promises are times, with the counts for one short run: `npm run test:alone` runs them once
 * more, and asserts the times as they are promised.
 */
export const TIMED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'test/resilience/disk-full.test.ts': {},
  'test/resilience/terminate.test.ts': { TERM_CYCLES: '1' },
  'test/resilience/replicas.test.ts': { REPLICA_KILLS: '2' },
  'test/resilience/redis-faults.test.ts': { REDIS_KILLS: '1', OUTAGE_SECONDS: '2' },
};

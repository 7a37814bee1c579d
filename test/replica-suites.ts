/** The long suites of Redis, and of several gateways on it. */
import type { CiSuite } from './ci-suite.ts';

const EMBEDDED = 'test/engines/embedded.test.ts';
const RACES = 'test/properties/races.test.ts';

/** Redis and what stands between it and the gateway. */
export const REPLICAS: readonly CiSuite[] = [
  {
    file: 'test/engines/redis.test.ts',
    seconds: 30,
    reason: 'the conformance suite over a real Redis; the same suite runs on the embedded engine',
    partIn: [EMBEDDED, 'test/engines/redis-keys.test.ts', 'test/engines/redis-time.test.ts'],
  },
  {
    file: 'test/resilience/redis-faults.test.ts',
    seconds: 105,
    reason: 'seven faults of the network of 5 s each, kills of Redis, and one outage of 20 s',
    partIn: ['test/engines/redis-lost-replies.test.ts'],
  },
  {
    file: 'test/resilience/redis-start.test.ts',
    seconds: 56,
    reason: 'a Redis of its own for each way in which a start can fail',
    partIn: ['test/server/config-mistakes.test.ts'],
  },
  { file: 'test/resilience/failover.test.ts', seconds: 33, reason: 'two failovers by Sentinel', partIn: [] },
  {
    file: 'test/resilience/replicas.test.ts',
    seconds: 29,
    reason: 'three gateways on one Redis, and kills of one in three',
    partIn: [RACES],
  },
];

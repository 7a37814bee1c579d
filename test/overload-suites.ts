/** The long suites of bounds: one party takes all it can, and another is served as before. */
import type { CiSuite } from './ci-suite.ts';

const E2E = 'test/e2e/e2e-stories.test.ts';
const EMBEDDED = 'test/engines/embedded.test.ts';

/** More than one caller, agent or reader may take. */
export const OVERLOAD: readonly CiSuite[] = [
  {
    file: 'test/resilience/slow-callers.test.ts',
    seconds: 52,
    reason: 'waits for timeouts of 30 s',
    partIn: ['test/http/slow-readers.test.ts'],
  },
  {
    file: 'test/resilience/socket-fuzz.test.ts',
    seconds: 41,
    reason: '100,000 hostile inputs',
    partIn: ['test/resilience/socket-fuzz.test.ts'],
    fewer: { FUZZ_RUNS: '5000' },
  },
  {
    file: 'test/resilience/canary.test.ts',
    seconds: 21,
    reason: 'thousands of requests with a secret in each place',
    // Whichever suite starts the gateway, its output and its store are searched for its secrets.
    partIn: [E2E, 'test/server/redactor.test.ts'],
  },
  {
    file: 'test/resilience/stream-load.test.ts',
    seconds: 22,
    reason: '2,000 streams at once',
    partIn: ['test/http/sse.test.ts'],
  },
  {
    file: 'test/resilience/fairness.test.ts',
    seconds: 17,
    reason: 'replays of 10,000 events beside another session',
    partIn: ['test/http/fair-scheduling.test.ts'],
  },
  {
    file: 'test/resilience/bounds/bodies.test.ts',
    alone: true,
    seconds: 90,
    reason: 'party B alone and beside bodies that do not end or are hostile',
    partIn: ['test/http/body-bounds.test.ts'],
  },
  {
    file: 'test/resilience/bounds/shares.test.ts',
    alone: true,
    seconds: 15,
    reason: 'party B alone and beside 100 MB of bodies of another address',
    partIn: ['test/http/remote-address.test.ts'],
  },
  {
    file: 'test/resilience/bounds/silent-connections.test.ts',
    alone: true,
    seconds: 11,
    reason: 'party B alone and beside 1,000 silent connections',
    partIn: ['test/http/transport.test.ts'],
  },
  {
    file: 'test/resilience/bounds/redis-large-values.test.ts',
    alone: true,
    seconds: 15,
    reason: 'twenty readers of 8 MB at once, and party B beside readers',
    partIn: ['test/server/byte-budget.test.ts'],
  },
  {
    file: 'test/resilience/bounds/redis-agents.test.ts',
    seconds: 30,
    reason: '600 agents with 100 KB of tags each',
    partIn: ['test/gateway/due-pass.test.ts'],
  },
  {
    file: 'test/resilience/bounds/redis-memory.test.ts',
    seconds: 40,
    reason: 'a Redis that is filled, and deadlines while it is full',
    partIn: ['test/engines/redis-keys.test.ts'],
  },
  {
    file: 'test/resilience/bounds/redis-settings.test.ts',
    seconds: 20,
    reason: 'a Redis and a gateway for each setting that is changed',
    partIn: ['test/server/config-mistakes.test.ts'],
  },
  {
    file: 'test/resilience/bounds/claims.test.ts',
    alone: true,
    seconds: 60,
    reason: 'party B alone and beside an agent that holds 2,000 tasks and waits with 100 claims',
    partIn: ['test/gateway/pull-agents.test.ts', EMBEDDED],
  },
  {
    file: 'test/resilience/bounds/liveness.test.ts',
    seconds: 45,
    reason: 'minutes of silence, by a clock that runs ten times as fast',
    partIn: ['test/gateway/silence.test.ts'],
  },
  {
    file: 'test/resilience/bounds/refusals.test.ts',
    seconds: 17,
    reason: 'a flood beyond each bound',
    partIn: ['test/http/body.test.ts', 'test/http/surface.test.ts', 'test/http/transport.test.ts'],
  },
  {
    file: 'test/resilience/bounds/redis-clock.test.ts',
    seconds: 60,
    reason: 'gateways on a Redis whose clock steps, each with what it did before and after',
    partIn: [
      'test/engines/redis-time.test.ts',
      'test/engines/redis-clock-decisions.test.ts',
      'test/engines/redis-clocks.test.ts',
    ],
  },
  {
    file: 'test/resilience/bounds/listings.test.ts',
    alone: true,
    seconds: 45,
    reason: 'registers 2,000 agents with long tags; party B alone and beside listings',
    partIn: ['test/server/large-work.test.ts'],
  },
  {
    file: 'test/resilience/bounds/readers.test.ts',
    alone: true,
    seconds: 70,
    reason: 'waits for readers to be disconnected after 30 s, three times',
    partIn: ['test/http/unread-responses.test.ts'],
  },
  {
    file: 'test/resilience/push-load.test.ts',
    seconds: 70,
    reason: '5,000 pushes that wait for a response at once',
    partIn: ['test/push/connections.test.ts'],
  },
  {
    file: 'test/resilience/bounds/pushes.test.ts',
    alone: true,
    seconds: 100,
    reason: 'a healthy agent alone and beside each kind of hanging agent with thousands of tasks',
    partIn: ['test/gateway/push-permits.test.ts', 'test/push/connections.test.ts'],
  },
  {
    file: 'test/resilience/bounds/push-memory.test.ts',
    seconds: 90,
    reason: 'hundreds of tasks of 1 MB that wait for agents that do not read them',
    partIn: ['test/gateway/push-permits.test.ts'],
  },
  {
    file: 'test/resilience/bounds/pushes-beside-due.test.ts',
    alone: true,
    seconds: 45,
    reason: 'a healthy agent alone and beside 10,000 tasks that are due at the same moment',
    partIn: [EMBEDDED],
  },
  {
    file: 'test/resilience/worst-case/worst-case.test.ts',
    alone: true,
    seconds: 170,
    reason:
      'the worst call of each operation on a full store, on both engines, beside another caller, and what falls due later',
    partIn: ['test/gateway/many-tag-sets.test.ts', 'test/gateway/similar-tags.test.ts'],
  },
  {
    file: 'test/resilience/bounds/unresolved-names.test.ts',
    alone: true,
    seconds: 15,
    reason: 'a healthy agent alone and beside twelve whose names do not resolve',
    partIn: ['test/push/names.test.ts'],
  },
  {
    file: 'test/resilience/cycles.test.ts',
    seconds: 8,
    reason: 'thousands of connections that come and go',
    partIn: ['test/http/drain.test.ts', 'test/http/sse.test.ts'],
  },
];

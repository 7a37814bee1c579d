/**
 * What can happen to a gateway, as data: fast-check generates sequences of these operations and shrinks them.
 */
import fc from 'fast-check';
import type { Fault } from '../harness/faulty-store.ts';

export type Operation =
  | {
      op: 'submit';
      tags: string[];
      session: string;
      timeout: number;
      queue: number | null;
      key: string | null;
    }
  | {
      op: 'register';
      agent: number;
      tags: string[];
      max: number;
      load: number;
      pull: boolean;
      lostAfter: number | null;
    }
  | { op: 'restart'; agent: number; keep: boolean }
  | {
      op: 'heartbeat';
      agent: number;
      draining: boolean | null;
      load: number | null;
      names: boolean;
      late: boolean;
    }
  /** The administrator drains it, or ends that. */
  | { op: 'drain'; agent: number; draining: boolean }
  /** `late`: with the token of its earlier registration, if it has registered twice. */
  | { op: 'unregister'; agent: number; late: boolean }
  | { op: 'claim'; agent: number; wait: number }
  | { op: 'report'; agent: number; task: number; status: 'success' | 'failed' | 'running' }
  | { op: 'finish'; agent: number }
  /** Of a task that the agent has; `restarts`: as another writer. */
  | { op: 'write'; agent: number; restarts: boolean }
  /** The same, with a question. */
  | { op: 'ask'; agent: number; key: string; prompt: string; restarts: boolean }
  /** One of the questions that were asked. */
  | { op: 'answer'; question: number; answer: unknown }
  | { op: 'claimAnswer'; question: number; wait: number }
  | { op: 'cancel'; task: number }
  | { op: 'script'; agent: number; reply: 'taken' | 'refused' | 'busy' | 'gone' | 'broken' | 'hang' }
  | { op: 'respond'; agent: number; reply: 'taken' | 'refused' | 'broken' }
  | { op: 'pass'; ms: number }
  | { op: 'freeze'; ms: number }
  | { op: 'fault'; faults: Fault[] }
  | { op: 'together'; operations: Operation[] }
  | { op: 'crash' }
  /** The process stops in order: it drains its pushes first. */
  | { op: 'stop' }
  /** The process dies in the middle of an operation, after this many of its commits. */
  | { op: 'die'; during: Operation; afterCommits: number };

export const AGENTS = 3;

const tags = fc.subarray(['a', 'b', 'c']);
const agent = fc.nat(AGENTS - 1);
const task = fc.nat(30);

const calls: readonly fc.WeightedArbitrary<Operation>[] = [
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant('submit' as const),
      tags,
      session: fc.constantFrom('', 's1', 's2'),
      timeout: fc.constantFrom(0.5, 5, 60, 1_000),
      queue: fc.constantFrom(null, null, 0, 3, 100),
      key: fc.constantFrom(null, null, null, 'k1', 'k2'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('register' as const),
      agent,
      tags,
      max: fc.constantFrom(0, 1, 2, 5),
      load: fc.constantFrom(0, 0, 1),
      pull: fc.boolean(),
      lostAfter: fc.constantFrom(null, null, 20),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('restart' as const), agent, keep: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('heartbeat' as const),
      agent,
      draining: fc.constantFrom(null, null, true, false),
      load: fc.constantFrom(null, 0, 1, 3),
      names: fc.boolean(),
      late: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('drain' as const), agent, draining: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('unregister' as const), agent, late: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant('claim' as const), agent, wait: fc.constantFrom(0, 0, 5) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('report' as const),
      agent,
      task,
      status: fc.constantFrom('success' as const, 'failed' as const, 'running' as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('finish' as const), agent }) },
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant('write' as const),
      agent,
      restarts: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('ask' as const),
      agent,
      key: fc.constantFrom('q1', 'q1', 'q2'),
      prompt: fc.constantFrom('甲？', '甲？', '甲？', '乙？'),
      restarts: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('answer' as const),
      question: fc.nat(5),
      // Two that are the same, and another one.
      answer: fc.constantFrom({ a: 1, b: 2 }, { b: 2, a: 1 }, { a: 2, b: 1 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('claimAnswer' as const),
      question: fc.nat(5),
      wait: fc.constantFrom(0, 0, 5),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('cancel' as const), task }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('script' as const),
      agent,
      reply: fc.constantFrom(
        'taken' as const,
        'refused' as const,
        'busy' as const,
        'gone' as const,
        'broken' as const,
        'hang' as const,
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('respond' as const),
      agent,
      reply: fc.constantFrom('taken' as const, 'refused' as const, 'broken' as const),
    }),
  },
];

const surroundings: readonly fc.WeightedArbitrary<Operation>[] = [
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('pass' as const),
      ms: fc.constantFrom(10, 400, 2_000, 16_000, 100_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('freeze' as const), ms: fc.constantFrom(1_000, 30_000) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('fault' as const),
      faults: fc.array(
        fc.constantFrom(
          'none' as const,
          'none' as const,
          'before' as const,
          'after' as const,
          'read' as const,
        ),
        { minLength: 1, maxLength: 6 },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('together' as const),
      operations: fc.array(fc.oneof(...calls), { minLength: 2, maxLength: 5 }),
    }),
  },
];

const crashes: readonly fc.WeightedArbitrary<Operation>[] = [
  { weight: 1, arbitrary: fc.constant<Operation>({ op: 'crash' }) },
  { weight: 1, arbitrary: fc.constant<Operation>({ op: 'stop' }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('die' as const),
      during: fc.oneof(...calls),
      afterCommits: fc.integer({ min: 0, max: 4 }),
    }),
  },
];

/**
 * The plan of a model run, of 20 to 40 operations: without a least length, nearly all plans have less than
 * ten. With `crash` the gateway may also crash and start again.
 */
export function operations(options: { readonly crash: boolean }): fc.Arbitrary<Operation[]> {
  return fc.array(fc.oneof(...calls, ...surroundings, ...(options.crash ? crashes : [])), {
    minLength: 20,
    maxLength: 40,
  });
}

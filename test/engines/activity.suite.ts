/** What happened in each step of time: levels, endings, durations, and tags without an agent. */
import { describe, expect, test } from 'vitest';
import { STEP_MS, STEP_TAGS_MAX, STEPS_MAX, TOOK_BOUNDS_MS } from '../../server/domain/activity.ts';
import type { MatchRecord } from '../../server/domain/match-record.ts';
import { fillOutcomes } from '../../server/domain/task-counts.ts';
import { endAs } from './counting.suite.ts';
import { assign, must, readState, register, submit, writeTask } from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

export function describeActivity({ store, reopen, underTest }: SuiteContext): void {
  const startRunning = async (id: string): Promise<void> => {
    await submit(store(), id);
    must(await assign(store(), id, 'A'));
  };
  describe('the activity', () => {
    const last = async () => {
      const step = (await store().readActivity()).at(-1);
      if (!step) throw new Error('there is no step');
      return step;
    };
    /** Moves the time to the beginning of the next step. */
    const beginStep = (): Promise<void> => underTest().advance(STEP_MS - (store().nowMs() % STEP_MS));
    async function wait(id: string): Promise<void> {
      const before = await readState(store(), id);
      must(await store().commit(writeTask(id, before, { ...before.value, waiting: true })));
    }

    test('has 30 steps, of which the last is the present one; before the first change all are empty', async () => {
      const steps = await store().readActivity();
      expect(steps).toHaveLength(STEPS_MAX);
      const now = store().nowMs();
      const present = now - (now % STEP_MS);
      expect(steps.map(({ atMs }) => atMs)).toEqual(
        steps.map((_, index) => present - (STEPS_MAX - 1 - index) * STEP_MS),
      );
      for (const step of steps) {
        expect(step).toMatchObject({ waiting: 0, running: 0, ended: fillOutcomes(), noAgent: new Map() });
        expect(step.tookMs).toEqual([...TOOK_BOUNDS_MS, 0].map(() => 0));
      }
    });

    test('has what waits, and what else is open, at the end of each step, carried through quiet ones', async () => {
      await beginStep();
      await register(store(), 'A', { max_concurrent: 5 });
      await startRunning('t1');
      await submit(store(), 't2');
      await wait('t2');
      await underTest().advance(STEP_MS);
      await startRunning('t3');
      // It keeps its slot and is offered to other agents: it waits, and counts once.
      await wait('t3');
      await underTest().advance(2 * STEP_MS);
      await endAs(store(), 't2', 'timeout');
      await endAs(store(), 't1', 'success');
      const levels = async (): Promise<unknown> =>
        (await store().readActivity()).slice(-5).map(({ waiting, running }) => [waiting, running]);
      const expected = [
        [0, 0],
        [1, 1],
        [2, 1],
        [2, 1],
        [1, 0],
      ];
      expect(await levels()).toEqual(expected);
      await reopen();
      expect(await levels()).toEqual(expected);
      await underTest().advance(STEPS_MAX * STEP_MS);
      expect((await store().readActivity()).map(({ waiting, running }) => [waiting, running])).toEqual(
        Array.from({ length: STEPS_MAX }, () => [1, 0]),
      );
    });

    test('counts how tasks ended and how long they took, in the step in which they did', async () => {
      await beginStep();
      for (const id of ['a', 'b', 'c', 'd']) await submit(store(), id);
      await endAs(store(), 'a', 'success');
      await underTest().advance(999);
      await endAs(store(), 'b', 'success');
      const early = await last();
      await beginStep();
      await endAs(store(), 'c', 'failed');
      await endAs(store(), 'd', 'cancelled');
      const steps = (await store().readActivity()).slice(-2);
      // `c` and `d` are open and do not wait.
      expect(early).toMatchObject({ waiting: 0, running: 2 });
      expect(steps[0]).toEqual(early);
      expect(steps.map(({ ended }) => ended)).toEqual([
        fillOutcomes({ success: 2 }),
        fillOutcomes({ failed: 1, cancelled: 1 }),
      ]);
      const tookBelow = (counts: readonly number[], ms: number): number =>
        counts.reduce((sum, count, index) => sum + ((TOOK_BOUNDS_MS[index] ?? 1e99) <= ms ? count : 0), 0);
      expect([1, 700, 1_000].map((ms) => tookBelow(early.tookMs, ms))).toEqual([1, 1, 2]);
      expect(tookBelow(steps[1]?.tookMs ?? [], 20_000)).toBe(0);
      // How long a task took that was cancelled is not counted.
      expect(tookBelow(steps[1]?.tookMs ?? [], 1e9)).toBe(1);
      expect(tookBelow(steps[1]?.tookMs ?? [], 32_000)).toBe(1);
      await reopen();
      expect((await store().readActivity()).slice(-2)).toEqual(steps);
      await underTest().advance(STEPS_MAX * STEP_MS);
      expect((await store().readActivity()).map(({ ended }) => ended)).toEqual(
        Array.from({ length: STEPS_MAX }, () => fillOutcomes()),
      );
    });

    test('counts for which tags there was no agent, for a bounded number of them', async () => {
      await beginStep();
      const tags = ['gpu', '__proto__', 'é/%'];
      for (const id of ['a', 'b']) await submit(store(), id, { task_tags: [...tags, 'gpu'] });
      await submit(store(), 'c', { task_tags: ['other'] });
      await endAs(store(), 'a', 'no_agent');
      await endAs(store(), 'c', 'failed');
      expect((await last()).noAgent).toEqual(new Map(tags.map((tag) => [tag, 1])));
      for (let n = 0; n < STEP_TAGS_MAX; n += 1) {
        await submit(store(), `n${n}`, { task_tags: [`tag-${n}`] });
        await endAs(store(), `n${n}`, 'no_agent');
      }
      await endAs(store(), 'b', 'no_agent');
      await reopen();
      const { noAgent } = await last();
      expect(noAgent.size).toBe(STEP_TAGS_MAX);
      expect(tags.map((tag) => noAgent.get(tag))).toEqual([2, 2, 2]);
      await underTest().advance(STEP_MS);
      expect((await last()).noAgent).toEqual(new Map());
    });

    test('leaves out a tag for which the decision saw a free agent', async () => {
      await submit(store(), 'a', { task_tags: ['x', 'y', 'x', 'z'] });
      const before = await readState(store(), 'a');
      const seenMatch: MatchRecord = {
        ms: 1,
        total: 1,
        sharing: [1, 0, 0, 0, 0] as const,
        agents: [],
        tags: [
          [0, 0],
          [1, 1],
          [2, 0],
        ],
      };
      must(await store().commit(writeTask('a', before, { ...before.value, seenMatch })));
      await endAs(store(), 'a', 'no_agent');
      expect([...(await last()).noAgent.keys()].sort()).toEqual(['x', 'z']);
    });
  });
}

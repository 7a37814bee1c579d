/** The tasks that ended last: which, in which order, and what is kept of each. */
import { describe, expect, test } from 'vitest';
import type { EndedTask } from '../../server/domain/ended-task.ts';
import { OUTCOMES } from '../../server/domain/history-record.ts';
import { STORE_LIMITS } from '../../server/ports/limits.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { endAs } from './counting.suite.ts';
import {
  assign,
  endingOf,
  finish,
  must,
  readState,
  register,
  submit,
  writeTask,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

const RETENTION = { keepTasksMs: 10_000, sessionEventsMax: 1_000, outputBytesMax: 2 ** 28 };

export function describeEnded({ store, reopen, underTest }: SuiteContext): void {
  const ids = async (): Promise<readonly string[]> =>
    (await store().readEnded()).map(({ request_id }) => request_id);

  describe('the tasks that ended last', () => {
    test('are none at first; an open task is not among them', async () => {
      await submit(store(), 't1');
      expect(await store().readEnded()).toEqual([]);
    });

    test('are there with outcome, time, type, agent and error, the newest first', async () => {
      await register(store(), 'A', { max_concurrent: 9 });
      const expected: EndedTask[] = [];
      for (const outcome of OUTCOMES) {
        const agent_id = outcome === 'no_agent' ? null : 'A';
        await submit(store(), outcome, { task_type: `type of ${outcome}` });
        if (agent_id !== null) must(await assign(store(), outcome, agent_id));
        await underTest().advance(7);
        const endedMs = store().nowMs();
        await endAs(store(), outcome, outcome);
        const error = outcome === 'success' ? null : outcome;
        expected.unshift({
          request_id: outcome,
          endedMs,
          outcome,
          type: `type of ${outcome}`,
          agent_id,
          error,
        });
      }
      expect(await store().readEnded()).toEqual(expected);
      await reopen();
      expect(await store().readEnded()).toEqual(expected);
    });

    test('that ended at the same time stand by their ids, in whichever order they were committed', async () => {
      for (const id of ['b', 'c', 'a']) await submit(store(), id);
      const endedMs = store().nowMs();
      for (const id of ['b', 'c', 'a']) {
        const before = await readState(store(), id);
        const ended = { status: 'success', settledMs: endedMs, history: [['success', endedMs]] } as const;
        must(await store().commit(writeTask(id, before, { ...before.value, ...ended })));
      }
      expect(await ids()).toEqual(['c', 'b', 'a']);
      await reopen();
      expect(await ids()).toEqual(['c', 'b', 'a']);
    });

    test('have the first 200 characters of their error, and never half a character', async () => {
      const errors = [
        '',
        '\u0000"\n',
        'x'.repeat(200),
        'x'.repeat(201),
        `${'x'.repeat(199)}😀`,
        '你'.repeat(9_999),
      ];
      for (const [index, error_info] of errors.entries()) {
        await submit(store(), `t${index}`);
        const before = await readState(store(), `t${index}`);
        const atMs = store().nowMs();
        const ended = { status: 'failed', error_info, settledMs: atMs, history: [['failed', atMs]] } as const;
        must(await store().commit(writeTask(`t${index}`, before, { ...before.value, ...ended })));
        await underTest().advance(1);
      }
      const kept = async () => (await store().readEnded()).map(({ error }) => error).reverse();
      const expected = ['', '\u0000"\n', 'x'.repeat(200), 'x'.repeat(200), 'x'.repeat(199), '你'.repeat(200)];
      expect(await kept()).toEqual(expected);
      await reopen();
      expect(await kept()).toEqual(expected);
    });

    test(`are ${STORE_LIMITS.endedMax} at most: those that ended first fall out`, async () => {
      const all = Array.from(
        { length: STORE_LIMITS.endedMax + 20 },
        (_, n) => `t${String(n).padStart(4, '0')}`,
      );
      for (let from = 0; from < all.length; from += 65) {
        await Promise.all(all.slice(from, from + 65).map((id) => finish(store(), id)));
        await underTest().advance(1);
      }
      const newest = async () => [...(await ids())].sort();
      expect(await newest()).toEqual(all.slice(20));
      await reopen();
      expect(await newest()).toEqual(all.slice(20));
      await finish(store(), 'u');
      expect(await newest()).toEqual([...all.slice(21), 'u']);
    });

    test('have each task once, as the commit ended it that won', async () => {
      for (const id of ['t1', 't2', 't3']) await submit(store(), id);
      const [won, late] = [await endingOf(store(), 't1'), await endingOf(store(), 't1')];
      const results = await Promise.all([
        store().commit(won),
        store().commit(late),
        endAs(store(), 't2', 'failed'),
      ]);
      expect(results.slice(0, 2).map((result) => result?.ok)).toEqual([true, false]);
      // It has the expected revision, and a conflict of another kind.
      const refused = await endingOf(store(), 't3', { notAfterMs: store().nowMs() - 1 });
      await expect(store().commit(refused)).rejects.toThrow(StoreUnavailable);
      await register(store(), 'A');
      const conflict = await store().commit(await endingOf(store(), 't3', { noneFree: ['a'] }));
      expect(conflict).toMatchObject({ ok: false, conflict: 'free_agent' });
      expect(await ids()).toEqual(['t2', 't1']);
      await reopen();
      expect(await ids()).toEqual(['t2', 't1']);
    });

    test('lack those that retention has removed', async () => {
      await submit(store(), 'open');
      for (const id of ['t1', 't2', 't3']) {
        await finish(store(), id);
        await underTest().advance(1_000);
      }
      await underTest().advance(8_500);
      expect(await store().trim(RETENTION, 1)).toBe(1);
      expect(await ids()).toEqual(['t3', 't2']);
      expect(await store().trim(RETENTION, 500)).toBe(1);
      expect(await ids()).toEqual(['t3']);
      await reopen();
      expect(await ids()).toEqual(['t3']);
      await underTest().advance(1_000);
      expect(await store().trim(RETENTION, 500)).toBe(1);
      expect(await ids()).toEqual([]);
      await reopen();
      expect(await ids()).toEqual([]);
    });
  });
}

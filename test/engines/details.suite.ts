/** What a task has beside its state: it is stored apart, and the state says whether it is there. */
import { expect, test } from 'vitest';
import { buildState, must, readState, submit, writeTask } from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

const FAILED = { status: 'failed', settledMs: 1, history: [['failed', 1]] } as const;

export function describeDetails({ store, reopen, underTest }: SuiteContext): void {
  test.each([
    ['short', 10],
    ['long', 1_000_000],
  ] as const)(
    '%s details are kept beside the state, also across a restart, until a commit removes them',
    async (_, length) => {
      const details = { reply: '好"\n'.repeat(length / 10) };
      await submit(store(), 't1');
      const before = await readState(store(), 't1');
      const state = { ...before.value, hasReply: true } as const;
      const revision = must(await store().commit(writeTask('t1', before, state, { details })));
      expect(await store().get('details', 't1')).toEqual({ value: details, revision });
      expect(await store().get('task', 't1')).toEqual({ value: state, revision });
      expect(await store().get('details', 't')).toBeUndefined();
      const later = { ...state, progress: 50 };
      must(await store().commit(writeTask('t1', { value: state, revision }, later)));
      const late = writeTask('t1', before, state, { details: { reply: 'a late one' } });
      expect(await store().commit(late)).toMatchObject({ conflict: 'revision' });
      await reopen();
      const stored = await readState(store(), 't1');
      expect(stored.value).toEqual(later);
      expect((await store().get('details', 't1'))?.value).toEqual(details);
      const settled = { ...buildState(store()), ...FAILED };
      must(await store().commit(writeTask('t1', stored, settled, { details: null })));
      expect(await store().get('details', 't1')).toBeUndefined();
      await reopen();
      expect(await store().get('details', 't1')).toBeUndefined();
      expect((await readState(store(), 't1')).value).toEqual(settled);
    },
  );

  test('details of a settled task stay as long as it, and go with it', async () => {
    await submit(store(), 't1');
    const before = await readState(store(), 't1');
    const questions = [{ key: 'ok', prompt: 'Go?', answer: true }];
    const after = {
      ...before.value,
      ...FAILED,
      settledMs: store().nowMs(),
      questions: [{ key: 'ok', at: 0, askedMs: 1, answeredMs: 2 }],
    };
    must(await store().commit(writeTask('t1', before, after, { details: { questions } })));
    expect((await store().get('details', 't1'))?.value).toEqual({ questions });
    await underTest().advance(10_000);
    await store().trim({ keepTasksMs: 10_000, sessionEventsMax: 9, outputBytesMax: 2 ** 28 }, 500);
    expect(await store().get('task', 't1')).toBeUndefined();
    await reopen();
    expect(await store().get('details', 't1')).toBeUndefined();
  });
}

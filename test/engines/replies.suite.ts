/** The first reply of a running task: it is stored apart from the state, which says that it is there. */
import { expect, test } from 'vitest';
import { buildState, must, readState, submit, writeTask } from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

export function describeReplies({ store, reopen }: SuiteContext): void {
  test.each([
    ['short', 10],
    ['long', 1_000_000],
  ] as const)(
    'a %s reply is kept beside the state, also across a restart, until a commit removes it',
    async (_, length) => {
      const reply = '好"\n'.repeat(length / 10);
      await submit(store(), 't1');
      const before = await readState(store(), 't1');
      const state = { ...before.value, hasReply: true } as const;
      const revision = must(await store().commit(writeTask('t1', before, state, { reply })));
      expect(await store().get('reply', 't1')).toEqual({ value: reply, revision });
      expect(await store().get('task', 't1')).toEqual({ value: state, revision });
      expect(await store().get('reply', 't')).toBeUndefined();
      const later = { ...state, progress: 50 };
      must(await store().commit(writeTask('t1', { value: state, revision }, later)));
      expect(await store().commit(writeTask('t1', before, state, { reply: 'a late one' }))).toMatchObject({
        conflict: 'revision',
      });
      await reopen();
      const stored = await readState(store(), 't1');
      expect(stored.value).toEqual(later);
      expect((await store().get('reply', 't1'))?.value).toBe(reply);
      const settled = {
        ...buildState(store()),
        status: 'failed',
        settledMs: 1,
        history: [['failed', 1]],
      } as const;
      must(await store().commit(writeTask('t1', stored, settled, { reply: null })));
      expect(await store().get('reply', 't1')).toBeUndefined();
      await reopen();
      expect(await store().get('reply', 't1')).toBeUndefined();
      expect((await readState(store(), 't1')).value).toEqual(settled);
    },
  );
}

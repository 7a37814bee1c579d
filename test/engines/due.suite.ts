/** Due entries: order, leases, re-timing, restarts. */
import { describe, expect, test } from 'vitest';
import type { CommitResult, Ref, Store } from '../../server/ports/store.ts';
import {
  agentRef,
  assign,
  buildState,
  must,
  readState,
  register,
  settle,
  submit,
  taskRef,
  writeTask,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

export function describeDue({ store, reopen, underTest }: SuiteContext): void {
  const retime = (ref: Ref, inMs: number, lease?: string): Promise<CommitResult> =>
    store().commit({
      writes: [],
      due: [{ ref, atMs: store().nowMs() + inMs, ...(lease !== undefined && { lease }) }],
    });
  const take = async (limit = 100): Promise<readonly Ref[]> =>
    (await store().takeDue(limit)).map(({ ref }) => ref);
  async function takeOne(): Promise<{ readonly ref: Ref; readonly lease: string }> {
    const [first] = await store().takeDue(1);
    if (!first) throw new Error('nothing is due');
    return first;
  }
  const A = agentRef('A');
  const B = agentRef('B');
  const T = taskRef('t1');

  describe('what is due', () => {
    test('is taken when its time has come, earliest first', async () => {
      await submit(store(), 't1');
      await retime(T, 30);
      await retime(A, 20);
      await retime(B, 10);
      expect(await take()).toEqual([]);
      await underTest().advance(19);
      expect(await take()).toEqual([B]);
      await underTest().advance(20);
      expect(await take()).toEqual([A, T]);
    });

    test('is taken up to the limit at a time', async () => {
      for (let index = 0; index < 5; index += 1) await retime(agentRef(`A${index}`), index);
      await underTest().advance(10);
      expect(await take(2)).toEqual([agentRef('A0'), agentRef('A1')]);
      expect(await take(2)).toEqual([agentRef('A2'), agentRef('A3')]);
      expect(await take(2)).toEqual([agentRef('A4')]);
    });

    test('is taken up to the limit, a fifth of it from those that are due last', async () => {
      for (let index = 0; index < 23; index += 1) await retime(agentRef(`A${index}`), index);
      await underTest().advance(30);
      const refs = (...numbers: readonly number[]): readonly Ref[] =>
        numbers.map((number) => agentRef(`A${number}`));
      expect(await take(10)).toEqual(refs(0, 1, 2, 3, 4, 5, 6, 7, 21, 22));
      await retime(T, 0);
      expect(await take(5)).toEqual([...refs(8, 9, 10, 11), T]);
      expect(await take(10)).toEqual(refs(12, 13, 14, 15, 16, 17, 18, 19, 20));
    });

    test('is hidden for 1.5 s once it is taken, then due again', async () => {
      await retime(A, 0);
      expect(await take()).toEqual([A]);
      await underTest().advance(1_499);
      expect(await take()).toEqual([]);
      await underTest().advance(1);
      expect(await take()).toEqual([A]);
    });

    test('is one entry for each ref, due at the time that was set last', async () => {
      await retime(A, 10);
      await retime(A, 50);
      await underTest().advance(20);
      expect(await take()).toEqual([]);
      await retime(A, 0);
      expect(await take()).toEqual([A]);
    });

    test('is re-timed by one commit, however many entries it has', async () => {
      const refs = Array.from({ length: 5_000 }, (_, index) => agentRef(`A${index}`));
      const at = store().nowMs();
      must(await store().commit({ writes: [], due: refs.map((ref, index) => ({ ref, atMs: at + index })) }));
      must(await store().commit({ writes: [], due: refs.map((ref) => ({ ref, atMs: at })) }));
      const taken = new Set<Ref>();
      for (let page = await take(1_000); page.length > 0; page = await take(1_000)) {
        for (const ref of page) taken.add(ref);
      }
      expect(taken.size).toBe(5_000);
    });

    test('is removed by a null time; removing is idempotent', async () => {
      await retime(A, 0);
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: null }] }));
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: null }] }));
      expect(await take()).toEqual([]);
    });
  });

  describe('a lease', () => {
    test('lets its holder re-time the entry, and ends with that', async () => {
      await retime(A, 0);
      const { lease } = await takeOne();
      expect(await retime(A, 100, lease)).toMatchObject({ ok: true });
      expect(await retime(A, 200, lease)).toEqual({ ok: false, conflict: 'lease' });
      await underTest().advance(100);
      expect(await take()).toEqual([A]);
    });

    test('is void once the entry was re-timed, removed, or taken again', async () => {
      await retime(A, 0);
      const first = await takeOne();
      await retime(A, 0);
      expect(await retime(A, 5, first.lease)).toMatchObject({ conflict: 'lease' });
      const second = await takeOne();
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: null }] }));
      expect(await retime(A, 5, second.lease)).toMatchObject({ conflict: 'lease' });
      await retime(A, 0);
      const third = await takeOne();
      await underTest().advance(1_500);
      const fourth = await takeOne();
      expect(await retime(A, 5, third.lease)).toMatchObject({ conflict: 'lease' });
      must(await retime(A, 5, fourth.lease));
    });

    test('is still valid after its time if the entry was not taken again', async () => {
      await retime(A, 0);
      const { lease } = await takeOne();
      await underTest().advance(5_000);
      expect(await retime(A, 100, lease)).toMatchObject({ ok: true });
    });

    test('that a commit keeps as held hides the entry for another 1.5 s', async () => {
      await retime(A, 0);
      const { lease } = await takeOne();
      await underTest().advance(1_000);
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: 'held', lease }] }));
      await underTest().advance(1_499);
      expect(await take()).toEqual([]);
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: 'held', lease }] }));
      must(await retime(A, 0, lease));
      expect(await take()).toEqual([A]);
    });

    test("that a commit begins with a new entry hides the entry for 1.5 s, and is its committer's", async () => {
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: 'held', lease: 'mine', isNew: true }] }));
      await underTest().advance(1_499);
      expect(await take()).toEqual([]);
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: 'held', lease: 'mine' }] }));
      await underTest().advance(1_000);
      await store().renewLeases([{ ref: A, lease: 'mine' }]);
      await underTest().advance(1_499);
      expect(await take()).toEqual([]);
      await underTest().advance(1);
      expect(await take()).toEqual([A]);
      expect(await retime(A, 0, 'mine')).toEqual({ ok: false, conflict: 'lease' });
    });

    test('is renewed for as long as renewLeases() is called, and only under its own token', async () => {
      await retime(A, 0);
      await retime(B, 0);
      const [first, second] = await store().takeDue(2);
      if (!first || !second) throw new Error('both must be due');
      for (let times = 0; times < 5; times += 1) {
        await underTest().advance(1_000);
        await store().renewLeases([
          { ref: first.ref, lease: first.lease },
          { ref: second.ref, lease: first.lease },
          { ref: agentRef('absent'), lease: first.lease },
        ]);
      }
      expect(await take()).toEqual([second.ref]);
      must(await retime(first.ref, 0, first.lease));
    });

    test('is not ended by an unlessHeld change until it has expired', async () => {
      const retimeUnlessHeld = async () =>
        must(
          await store().commit({
            writes: [],
            due: [{ ref: A, atMs: store().nowMs(), unlessHeld: true }],
          }),
        );
      await retimeUnlessHeld();
      const { lease } = await takeOne();
      await retimeUnlessHeld();
      expect(await take()).toEqual([]);
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: 'held', lease }] }));
      await retimeUnlessHeld();
      expect(await take()).toEqual([]);
      await underTest().advance(1_500);
      await retimeUnlessHeld();
      expect(await retime(A, 0, lease)).toMatchObject({ conflict: 'lease' });
      expect(await take()).toEqual([A]);
      await retime(A, 60_000);
      await retimeUnlessHeld();
      expect(await take()).toEqual([A]);
    });

    test('is not ended by a commit with a conflict', async () => {
      await retime(A, 0);
      const { lease } = await takeOne();
      const value = buildState(store());
      const conflicting = writeTask('absent', { value, revision: 'some-revision' }, value, {
        due: [{ ref: A, atMs: null, lease }],
      });
      expect(await store().commit(conflicting)).toMatchObject({ conflict: 'revision' });
      must(await retime(A, 0, lease));
    });
  });

  describe('after a restart', () => {
    test('everything that was due is due, and earlier leases are void', async () => {
      await submit(store(), 't1');
      await register(store(), 'A');
      await retime(A, 0);
      const taken = await store().takeDue(10);
      await reopen();
      await underTest().advance(2_000);
      const again = await store().takeDue(10);
      expect(again.map(({ ref }) => ref).sort()).toEqual([A, T]);
      for (const { ref, lease } of taken) {
        expect(again.map((entry) => entry.lease)).not.toContain(lease);
        expect(await retime(ref, 0, lease)).toMatchObject({ conflict: 'lease' });
      }
    });

    test.each([
      ['a pending task', async () => undefined],
      ['a task that was re-timed to much later', async () => void (await retime(T, 3_600_000))],
      ['a task that was made due earlier than its state says', makeDueNow],
      ['a running task during its push', beginPush],
    ] as const)('%s is due no later than it would have been', async (_what, prepare) => {
      await submit(store(), 't1');
      await prepare(store());
      await reopen();
      await underTest().advance(3_600_000);
      expect(await take()).toContain(T);
    });

    test('a task that was made due at once is due at once', async () => {
      await submit(store(), 't1');
      await makeDueNow(store());
      await reopen();
      expect(await take()).toContain(T);
    });

    test('a settled task is not due', async () => {
      await submit(store(), 't1');
      await settle(store(), 't1');
      await reopen();
      await underTest().advance(3_600_000);
      expect(await take()).toEqual([]);
    });
  });

  /** Stores a due time in the far future first, then makes the task due now. */
  async function makeDueNow(on: Store): Promise<void> {
    const before = await readState(on, 't1');
    const due = [{ ref: T, atMs: on.nowMs() + 3_600_001 }];
    must(await on.commit(writeTask('t1', before, before.value, { due })));
    must(await on.commit({ writes: [], due: [{ ref: T, atMs: on.nowMs() }] }));
  }

  async function beginPush(on: Store): Promise<void> {
    await register(on, 'A');
    must(await assign(on, 't1', 'A'));
    const taken = await on.takeDue(10);
    const lease = taken.find(({ ref }) => ref === T)?.lease ?? '';
    must(await on.commit({ writes: [], due: [{ ref: T, atMs: 'held', lease }] }));
  }
}

/** What is due: order, leases, re-timing, restarts; and sweeping, by which silence is judged. */
import { describe, expect, test } from 'vitest';
import type { CommitResult, Ref, Store } from '../../server/ports/store.ts';
import type { Given } from './conformance.ts';
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

export function describeDue({ store, reopen, subject }: Given): void {
  const put = (ref: Ref, inMs: number, lease?: string): Promise<CommitResult> =>
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
    test('is handed out when its time has come, earliest first', async () => {
      await submit(store(), 't1');
      await put(T, 30);
      await put(A, 20);
      await put(B, 10);
      expect(await take()).toEqual([]);
      await subject().advance(19);
      expect(await take()).toEqual([B]);
      await subject().advance(20);
      expect(await take()).toEqual([A, T]);
    });

    test('is handed out at most so many at a time', async () => {
      for (let index = 0; index < 5; index += 1) await put(agentRef(`A${index}`), index);
      await subject().advance(10);
      expect(await take(2)).toEqual([agentRef('A0'), agentRef('A1')]);
      expect(await take(2)).toEqual([agentRef('A2'), agentRef('A3')]);
      expect(await take(2)).toEqual([agentRef('A4')]);
    });

    test('is hidden from everybody else for 1.5 s, then comes back', async () => {
      await put(A, 0);
      expect(await take()).toEqual([A]);
      await subject().advance(1_499);
      expect(await take()).toEqual([]);
      await subject().advance(1);
      expect(await take()).toEqual([A]);
    });

    test('is one entry for each ref: the last time counts', async () => {
      await put(A, 10);
      await put(A, 50);
      await subject().advance(20);
      expect(await take()).toEqual([]);
      await put(A, 0);
      expect(await take()).toEqual([A]);
    });

    test('is gone when it is taken out', async () => {
      await put(A, 0);
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: null }] }));
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: null }] }));
      expect(await take()).toEqual([]);
    });
  });

  describe('a lease', () => {
    test('lets its holder re-time the entry, and ends with that', async () => {
      await put(A, 0);
      const { lease } = await takeOne();
      must(await put(A, 100, lease));
      expect(await put(A, 200, lease)).toEqual({ ok: false, conflict: 'lease' });
      await subject().advance(100);
      expect(await take()).toEqual([A]);
    });

    test('is void once the entry was re-timed by anybody, taken out, or taken by another', async () => {
      await put(A, 0);
      const first = await takeOne();
      await put(A, 0);
      expect(await put(A, 5, first.lease)).toMatchObject({ conflict: 'lease' });
      const second = await takeOne();
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: null }] }));
      expect(await put(A, 5, second.lease)).toMatchObject({ conflict: 'lease' });
      await put(A, 0);
      const third = await takeOne();
      await subject().advance(1_500);
      const fourth = await takeOne();
      expect(await put(A, 5, third.lease)).toMatchObject({ conflict: 'lease' });
      must(await put(A, 5, fourth.lease));
    });

    test('still holds after its time if nobody took the entry', async () => {
      await put(A, 0);
      const { lease } = await takeOne();
      await subject().advance(5_000);
      must(await put(A, 100, lease));
    });

    test('that is held stays with its holder, hidden for another 1.5 s', async () => {
      await put(A, 0);
      const { lease } = await takeOne();
      await subject().advance(1_000);
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: 'held', lease }] }));
      await subject().advance(1_499);
      expect(await take()).toEqual([]);
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: 'held', lease }] }));
      must(await put(A, 0, lease));
      expect(await take()).toEqual([A]);
    });

    test('is kept by keep() for as long as that is called, and by its own lease alone', async () => {
      await put(A, 0);
      await put(B, 0);
      const [a, b] = await store().takeDue(2);
      if (!a || !b) throw new Error('both are due');
      for (let times = 0; times < 5; times += 1) {
        await subject().advance(1_000);
        await store().renewLeases([
          { ref: a.ref, lease: a.lease },
          { ref: b.ref, lease: a.lease },
          { ref: agentRef('nobody'), lease: a.lease },
        ]);
      }
      expect(await take()).toEqual([b.ref]);
      must(await put(a.ref, 0, a.lease));
    });

    test('is not ended by a change that says so, but is once it has run out', async () => {
      const offer = async () =>
        must(
          await store().commit({
            writes: [],
            due: [{ ref: A, atMs: store().nowMs(), unlessHeld: true }],
          }),
        );
      await offer();
      const { lease } = await takeOne();
      await offer();
      expect(await take()).toEqual([]);
      must(await store().commit({ writes: [], due: [{ ref: A, atMs: 'held', lease }] }));
      await offer();
      expect(await take()).toEqual([]);
      await subject().advance(1_500);
      await offer();
      expect(await put(A, 0, lease)).toMatchObject({ conflict: 'lease' });
      expect(await take()).toEqual([A]);
      await put(A, 60_000);
      await offer();
      expect(await take()).toEqual([A]);
    });

    test('of a commit that is refused is not ended', async () => {
      await put(A, 0);
      const { lease } = await takeOne();
      const refused = writeTask('nobody', 'some-revision', buildState(store()), {
        due: [{ ref: A, atMs: null, lease }],
      });
      expect(await store().commit(refused)).toMatchObject({ conflict: 'revision' });
      must(await put(A, 0, lease));
    });
  });

  describe('after a restart', () => {
    test('whatever was due before is due, and no lease of before is good', async () => {
      await submit(store(), 't1');
      await register(store(), 'A');
      await put(A, 0);
      const taken = await store().takeDue(10);
      await reopen();
      await subject().advance(2_000);
      const again = await store().takeDue(10);
      expect(again.map(({ ref }) => ref).sort()).toEqual([A, T]);
      for (const { ref, lease } of taken) {
        expect(again.map((one) => one.lease)).not.toContain(lease);
        expect(await put(ref, 0, lease)).toMatchObject({ conflict: 'lease' });
      }
    });

    test.each([
      ['a pending task', async () => undefined],
      ['a task that was looked at and is due much later', async () => void (await put(T, 3_600_000))],
      ['a task that was made due earlier than its state says', hurry],
      ['a running task whose push was under way', push],
    ] as const)('%s is looked at not later than it would have been', async (_what, prepare) => {
      await submit(store(), 't1');
      await prepare(store());
      await reopen();
      await subject().advance(3_600_000);
      expect(await take()).toContain(T);
    });

    test('a task that was made due at once is due at once', async () => {
      await submit(store(), 't1');
      await hurry(store());
      await reopen();
      expect(await take()).toContain(T);
    });

    test('a settled task is not due', async () => {
      await submit(store(), 't1');
      await settle(store(), 't1');
      await reopen();
      await subject().advance(3_600_000);
      expect(await take()).toEqual([]);
    });
  });

  /** Its row says "much later" first, then somebody makes it due now. */
  async function hurry(on: Store): Promise<void> {
    const { value, revision } = await readState(on, 't1');
    must(
      await on.commit(writeTask('t1', revision, value, { due: [{ ref: T, atMs: on.nowMs() + 3_600_001 }] })),
    );
    must(await on.commit({ writes: [], due: [{ ref: T, atMs: on.nowMs() }] }));
  }

  async function push(on: Store): Promise<void> {
    await register(on, 'A');
    must(await assign(on, 't1', 'A'));
    const taken = await on.takeDue(10);
    const lease = taken.find(({ ref }) => ref === T)?.lease ?? '';
    must(await on.commit({ writes: [], due: [{ ref: T, atMs: 'held', lease }] }));
  }

  describe('contact', () => {
    const contact = async () => (await store().getAgentStatus('A'))?.contact;

    test('is noted by touch(), which tells how the agent stands then', async () => {
      expect(await store().touch('A', { by: 'call' })).toBeUndefined();
      await register(store(), 'A');
      await subject().advance(1_000);
      const agentStatus = await store().touch('A', { by: 'call' });
      expect(agentStatus?.contact).toMatchObject({ contactMs: store().nowMs(), beatMs: null });
      expect(await store().getAgentStatus('A')).toEqual(agentStatus);
    });

    test('of a heartbeat tells the gap to the one before', async () => {
      await register(store(), 'A');
      await store().touch('A', { by: 'beat' });
      expect(await contact()).toMatchObject({ beatMs: store().nowMs(), beatGapMs: null });
      await subject().advance(15_000);
      await store().touch('A', { by: 'beat' });
      expect(await contact()).toMatchObject({ beatMs: store().nowMs(), beatGapMs: 15_000 });
    });

    test('is a push only when it was taken; a failed one is remembered all the same', async () => {
      await register(store(), 'A');
      await store().takeDue(1);
      await store().touch('A', { by: 'call' });
      const calledMs = store().nowMs();
      await subject().advance(2_000);
      await store().touch('A', { by: 'push', taken: false, status: 503, error: 'busy' });
      expect(await contact()).toMatchObject({
        contactMs: calledMs,
        push: { taken: false, status: 503, error: 'busy' },
      });
      await store().touch('A', { by: 'push', taken: true, status: 202, error: null });
      expect(await contact()).toMatchObject({
        contactMs: store().nowMs(),
        push: { taken: true, status: 202, error: null },
      });
    });

    test('is never older than the moment sweeping went on after more than five seconds without', async () => {
      await register(store(), 'A');
      await store().takeDue(1);
      await store().touch('A', { by: 'beat' });
      const touchedMs = store().nowMs();
      for (let times = 0; times < 4; times += 1) {
        await subject().advance(5_000);
        await store().takeDue(1);
      }
      expect((await contact())?.contactMs).toBe(touchedMs);
      await subject().advance(5_001);
      await store().takeDue(1);
      expect((await contact())?.contactMs).toBe(store().nowMs());
      expect((await contact())?.beatMs).toBe(touchedMs);
    });

    test('counts from the first sweep after a restart', async () => {
      await register(store(), 'A');
      await store().touch('A', { by: 'call' });
      await reopen();
      await subject().advance(600_000);
      await store().takeDue(1);
      expect((await contact())?.contactMs).toBe(store().nowMs());
    });
  });
}

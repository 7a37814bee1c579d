/**
 * Tasks that wait for an agent: listed by tag, oldest first; an agent that gets a free slot becomes due at
 * once.
 */
import { describe, expect, test } from 'vitest';
import type { Ref } from '../../server/ports/store.ts';
import {
  agentRef,
  assign,
  must,
  readState,
  register,
  settle,
  submit,
  taskRef,
  writeTask,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

export function describeWaiters({ store, reopen }: SuiteContext): void {
  /** Submits a waiting task: its state says so, and its due entry is far in the future. */
  async function wait(id: string, tags: readonly string[], sinceMs: number): Promise<void> {
    await submit(store(), id, { task_tags: tags, createdMs: sinceMs });
    await setWaiting(id, true);
  }
  async function setWaiting(id: string, waiting: boolean): Promise<void> {
    const before = await readState(store(), id);
    const due = [{ ref: taskRef(id), atMs: store().nowMs() + 600_000 }];
    must(await store().commit(writeTask(id, before, { ...before.value, waiting }, { due })));
  }
  const waiting = async (...tags: string[]): Promise<readonly string[]> =>
    (await store().list('waiting', { tags }, { limit: 100 })).items.map(({ request_id }) => request_id);
  /**
   * Registers an agent whose due entry is far in the future, so that only the engine can make it due at once.
   */
  async function registerIdle(agent_id: string, more: Parameters<typeof register>[2] = {}): Promise<void> {
    await register(store(), agent_id, more);
    must(
      await store().commit({
        writes: [],
        due: [{ ref: agentRef(agent_id), atMs: store().nowMs() + 600_000 }],
      }),
    );
  }
  const dueNow = async (): Promise<readonly Ref[]> => (await store().takeDue(100)).map(({ ref }) => ref);
  const onlySlot = {
    op: 'grant',
    agent_id: 'A',
    request_id: 'x',
    registration: 'registration of A',
  } as const;

  describe('waiting tasks', () => {
    test('are listed by shared tags, oldest first, each once', async () => {
      await wait('t3', ['a', 'b'], 30);
      await wait('t1', ['a'], 10);
      await wait('t2', ['b'], 20);
      await wait('t0', ['c'], 5);
      expect(await waiting('a', 'b')).toEqual(['t1', 't2', 't3']);
      expect(await waiting('a')).toEqual(['t1', 't3']);
      expect(await waiting('absent')).toEqual([]);
      expect(await waiting()).toEqual([]);
      const { items, next } = await store().list('waiting', {}, { limit: 2 });
      expect(items).toEqual([{ request_id: 't0' }, { request_id: 't1' }]);
      const rest = await store().list('waiting', {}, { limit: 9, after: next ?? '' });
      expect(rest.items.map(({ request_id }) => request_id)).toEqual(['t2', 't3']);
    });

    test('refuse a commit that requires that none waits for its tags', async () => {
      const commit = (tags: readonly string[]) => store().commit({ writes: [], noneWaiting: tags });
      must(await commit(['a', 'b']));
      await wait('t1', ['a'], 10);
      expect(await commit(['b', 'a'])).toEqual({ ok: false, conflict: 'waiting' });
      must(await commit(['b']));
      must(await commit([]));
      await settle(store(), 't1');
      must(await commit(['a', 'b']));
    });

    test('are listed page by page', async () => {
      for (let index = 0; index < 7; index += 1) await wait(`t${index}`, ['a', 'b'], index);
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const page = await store().list(
          'waiting',
          { tags: ['a', 'b'] },
          { limit: 3, ...(after !== undefined && { after }) },
        );
        seen.push(...page.items.map(({ request_id }) => request_id));
        after = page.next ?? undefined;
      } while (after !== undefined);
      expect(seen).toEqual(['t0', 't1', 't2', 't3', 't4', 't5', 't6']);
    });

    test('leave by a commit while they are open, and join again', async () => {
      await wait('t1', ['a'], 10);
      await wait('t2', ['a'], 20);
      await setWaiting('t1', false);
      expect(await waiting('a')).toEqual(['t2']);
      await setWaiting('t1', true);
      expect(await waiting('a')).toEqual(['t1', 't2']);
    });

    test('still wait after a restart', async () => {
      await wait('t1', ['a'], 10);
      await wait('t2', ['a'], 20);
      await settle(store(), 't2');
      await reopen();
      expect(await waiting('a')).toEqual(['t1']);
    });
  });

  describe('the demand', () => {
    const NOTHING = { pending: 0, waiting: 0, oldestWaitingMs: null, tags: [] };

    test('counts open and waiting tasks, names the tags, and says since when the oldest waits', async () => {
      expect(await store().readCounts(10)).toMatchObject(NOTHING);
      await submit(store(), 'open');
      expect(await store().readCounts(10)).toMatchObject({ ...NOTHING, pending: 1 });
      await wait('t2', ['b', 'c'], 20);
      await wait('t1', ['b'], 10);
      const { tags, ...counts } = await store().readCounts(10);
      expect(counts).toMatchObject({ pending: 3, waiting: 2, oldestWaitingMs: 10 });
      expect([...tags].sort((a, b) => (a.tag < b.tag ? -1 : 1))).toEqual([
        { tag: 'b', waiting: 2, oldestMs: 10 },
        { tag: 'c', waiting: 1, oldestMs: 20 },
      ]);
      await settle(store(), 't1');
      expect(await store().readCounts(10)).toMatchObject({
        pending: 2,
        waiting: 1,
        oldestWaitingMs: 20,
      });
      await settle(store(), 't2');
      await settle(store(), 'open');
      expect(await store().readCounts(10)).toMatchObject(NOTHING);
    });

    test('names no more tags than were asked for', async () => {
      await wait('t1', ['a', 'b', 'c', 'd'], 10);
      const { tags } = await store().readCounts(3);
      expect(new Set(tags.map(({ tag }) => tag)).size).toBe(3);
    });

    test('is the same after a task that waits left and joined again', async () => {
      await wait('t1', ['z'], 30);
      const counts = await store().readCounts(10);
      expect(counts).toMatchObject({
        waiting: 1,
        oldestWaitingMs: 30,
        tags: [{ tag: 'z', waiting: 1 }],
      });
      await setWaiting('t1', false);
      expect(await store().readCounts(10)).toMatchObject({ ...NOTHING, pending: 1 });
      await setWaiting('t1', true);
      expect(await store().readCounts(10)).toEqual(counts);
    });

    test('is the same after a restart', async () => {
      await wait('t1', ['a'], 10);
      await wait('t2', ['b'], 5);
      await settle(store(), 't2');
      await reopen();
      const tags = [{ tag: 'a', waiting: 1, oldestMs: 10 }];
      const expected = { pending: 1, waiting: 1, oldestWaitingMs: 10, tags };
      expect(await store().readCounts(10)).toMatchObject(expected);
    });
  });

  describe('an agent that gets more free slots while a task waits for its tags', () => {
    test('is due at once when a slot is released', async () => {
      await registerIdle('A', { agent_tags: ['a', 'z'] });
      must(await store().commit({ writes: [], slots: [onlySlot] }));
      await wait('t1', ['z'], 10);
      expect(await dueNow()).toEqual([]);
      must(await store().commit({ writes: [], slots: [{ ...onlySlot, op: 'release' }] }));
      expect(await dueNow()).toEqual([agentRef('A')]);
    });

    test('is due anew when a task on it settles: the lease of who looked at it before has ended', async () => {
      await registerIdle('A');
      await submit(store(), 'x');
      await assign(store(), 'x', 'A');
      await wait('t1', ['a'], 10);
      must(await store().commit({ writes: [], due: [{ ref: agentRef('A'), atMs: store().nowMs() }] }));
      const [taken] = await store().takeDue(1);
      await settle(store(), 'x');
      const later = { ref: agentRef('A'), atMs: store().nowMs() + 600_000, lease: taken?.lease ?? '' };
      expect(await store().commit({ writes: [], due: [later] })).toEqual({ ok: false, conflict: 'lease' });
      expect(await dueNow()).toEqual([agentRef('A')]);
    });

    test('is due at once when it registers', async () => {
      await wait('t1', ['a'], 10);
      await register(store(), 'A');
      expect(await dueNow()).toEqual([agentRef('A')]);
    });

    test('is due at once when its limit is raised', async () => {
      await registerIdle('A', { max_concurrent: 1 });
      must(await store().commit({ writes: [], slots: [onlySlot] }));
      await wait('t1', ['a'], 10);
      await register(store(), 'A', { max_concurrent: 2 });
      expect(await dueNow()).toEqual([agentRef('A')]);
    });

    test('is due at once even while another dispatcher holds its lease', async () => {
      await registerIdle('A');
      must(await store().commit({ writes: [], slots: [onlySlot] }));
      await wait('t1', ['a'], 10);
      must(await store().commit({ writes: [], due: [{ ref: agentRef('A'), atMs: store().nowMs() }] }));
      const [taken] = await store().takeDue(10);
      must(await store().commit({ writes: [], slots: [{ ...onlySlot, op: 'release' }] }));
      const late = { ref: agentRef('A'), atMs: store().nowMs() + 60_000, lease: taken?.lease ?? '' };
      expect(await store().commit({ writes: [], due: [late] })).toMatchObject({ conflict: 'lease' });
      expect(await dueNow()).toEqual([agentRef('A')]);
    });

    test('does not become due when no waiting task shares a tag, or none waits any more', async () => {
      await wait('t1', ['other'], 10);
      await wait('t2', ['a'], 20);
      await settle(store(), 't2');
      await registerIdle('A');
      must(await store().commit({ writes: [], slots: [onlySlot] }));
      must(await store().commit({ writes: [], slots: [{ ...onlySlot, op: 'release' }] }));
      expect(await dueNow()).toEqual([]);
    });

    test('does not become due when it still has no free slot', async () => {
      await registerIdle('A', { max_concurrent: 0 });
      await wait('t1', ['a'], 10);
      await register(store(), 'A', { max_concurrent: 3, draining: true });
      expect(await dueNow()).toEqual([]);
    });
  });
}

/** Commits: all or nothing, revisions, every kind of conflict, limits and idempotency keys. */
import { describe, expect, test } from 'vitest';
import { type Batch, StoreUnavailable, type Write } from '../../server/ports/store.ts';
import {
  agentRef,
  assign,
  buildAgent,
  buildInput,
  buildState,
  finish,
  must,
  putAgent,
  readFeed,
  readState,
  register,
  settle,
  submissionOf,
  submit,
  taskRef,
  writeTask,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

const KEY = { request_id: 't1', fingerprint: 'f', create_time: 1 };

export function describeCommits({ store, reopen, underTest }: SuiteContext): void {
  describe('a commit', () => {
    test('stores every value of the batch under the revision of the commit', async () => {
      const state = buildState(store());
      const input = buildInput('t1');
      const agent = buildAgent('A');
      const revision = must(
        await store().commit({
          writes: [
            ...submissionOf(input, state).writes,
            { kind: 'agent', id: 'A', expect: 'absent', value: agent },
            { kind: 'key', id: 'k', expect: 'absent', value: KEY, keepMs: 60_000 },
          ],
        }),
      );
      expect(await store().get('input', 't1')).toEqual({ value: input, revision });
      expect(await store().get('task', 't1')).toEqual({ value: state, revision });
      expect(await store().get('agent', 'A')).toEqual({ value: agent, revision });
      expect(await store().get('key', 'k')).toEqual({ value: KEY, revision });
    });

    test('has to come first: without one every value reads as absent', async () => {
      for (const kind of ['input', 'task', 'agent', 'key', 'details'] as const) {
        expect(await store().get(kind, 'absent')).toBeUndefined();
      }
    });

    test('keeps values, revisions and settled tasks across a restart', async () => {
      await register(store(), 'A');
      await submit(store(), 'open');
      await finish(store(), 'settled');
      const before = [
        await store().get('task', 'open'),
        await store().get('task', 'settled'),
        await store().get('input', 'settled'),
        await store().get('agent', 'A'),
      ];
      await reopen();
      expect([
        await store().get('task', 'open'),
        await store().get('task', 'settled'),
        await store().get('input', 'settled'),
        await store().get('agent', 'A'),
      ]).toEqual(before);
    });

    test('conflicts on revision when a value changed since it was read', async () => {
      await submit(store(), 't1');
      const first = await readState(store(), 't1');
      const state = buildState(store());
      const second = must(await store().commit(writeTask('t1', first, { ...state, progress: 1 })));
      expect(await store().commit(writeTask('t1', first, state))).toEqual({
        ok: false,
        conflict: 'revision',
      });
      expect(await store().commit(writeTask('t1', 'absent', state))).toMatchObject({ conflict: 'revision' });
      expect((await readState(store(), 't1')).revision).toBe(second);
    });

    test('conflicts on revision when an absent value is expected', async () => {
      const state = buildState(store());
      const before = { value: state, revision: 'no-such-revision' };
      expect(await store().commit(writeTask('t1', before, state))).toMatchObject({
        conflict: 'revision',
      });
      expect(await store().get('task', 't1')).toBeUndefined();
    });

    test.each(['input', 'task', 'agent', 'key'] as const)(
      'conflicts on revision when a %s is expected absent and is there, also after a restart',
      async (kind) => {
        const writes: readonly Write[] = [
          ...submissionOf(buildInput('x'), buildState(store())).writes,
          { kind: 'agent', id: 'x', expect: 'absent', value: buildAgent('x') },
          { kind: 'key', id: 'x', expect: 'absent', value: KEY, keepMs: 60_000 },
        ];
        const again: Batch = { writes: writes.filter((write) => write.kind === kind) };
        must(await store().commit(again));
        expect(await store().commit(again)).toEqual({ ok: false, conflict: 'revision' });
        await reopen();
        expect(await store().commit(again)).toEqual({ ok: false, conflict: 'revision' });
      },
    );

    test('checks the revision of a settled task, also after a restart', async () => {
      await submit(store(), 't1');
      const revision = await settle(store(), 't1');
      const state = buildState(store());
      expect(await store().commit(writeTask('t1', 'absent', state))).toMatchObject({ conflict: 'revision' });
      await reopen();
      expect(await store().commit(writeTask('t1', 'absent', state))).toMatchObject({ conflict: 'revision' });
      expect((await readState(store(), 't1')).revision).toBe(revision);
    });

    test('replaces an agent of the expected revision, and removes it with null', async () => {
      await register(store(), 'A');
      const expect7 = await register(store(), 'A', { max_concurrent: 7 });
      expect((await store().get('agent', 'A'))?.value.max_concurrent).toBe(7);
      must(await store().commit({ writes: [{ kind: 'agent', id: 'A', expect: expect7, value: null }] }));
      expect(await store().get('agent', 'A')).toBeUndefined();
      await reopen();
      expect(await store().get('agent', 'A')).toBeUndefined();
    });

    test('succeeds for exactly one of many writers that read the same revision', async () => {
      await submit(store(), 't1');
      const before = await readState(store(), 't1');
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, progress) =>
          store().commit(writeTask('t1', before, { ...before.value, progress })),
        ),
      );
      const winner = results.findIndex(({ ok }) => ok);
      expect(results.filter(({ ok }) => ok)).toHaveLength(1);
      expect((await readState(store(), 't1')).value.progress).toBe(winner);
    });

    test('never uses a revision twice, restarts included', async () => {
      const seen = new Set<string>();
      for (let round = 0; round < 3; round += 1) {
        for (let index = 0; index < 5; index += 1) seen.add(await submit(store(), `t${round}-${index}`));
        await reopen();
      }
      expect(seen.size).toBe(15);
    });

    test('throws after its notAfterMs, and changes nothing', async () => {
      await submit(store(), 't1');
      const late = writeTask('t1', await readState(store(), 't1'), buildState(store(), { progress: 9 }), {
        notAfterMs: store().nowMs() + 100,
      });
      await underTest().advance(200);
      await expect(store().commit(late)).rejects.toThrow(StoreUnavailable);
      expect((await readState(store(), 't1')).value.progress).toBe(0);
      must(await store().commit({ ...late, notAfterMs: store().nowMs() + 100 }));
    });
  });

  describe('a commit with a conflict changes nothing', () => {
    /**
     * Commits a batch that would change a value of every kind, and has in addition what makes it conflict.
     */
    async function expectNoChange(conflicting: Partial<Batch>, conflict: string): Promise<void> {
      await register(store(), 'A', { max_concurrent: 2 });
      await submit(store(), 't1');
      const task = await readState(store(), 't1');
      const agentStatus = await store().getAgentStatus('A');
      const after = { ...task.value, progress: 50, waiting: true };
      const changed = writeTask('t1', task, after, { unreported: 'A' });
      const { writes = [], slots = [], due = [], ...rest } = conflicting;
      const batch: Batch = {
        ...rest,
        ...changed,
        writes: [
          ...changed.writes,
          { kind: 'key', id: 'k', expect: 'absent', value: KEY, keepMs: 60_000 },
          ...writes,
        ],
        slots: [
          { op: 'grant', agent_id: 'A', request_id: 't1', registration: 'registration of A' },
          ...slots,
        ],
        due: [{ ref: taskRef('t1'), atMs: store().nowMs() + 60_000 }, ...due],
        event: { session: 's', request_id: 't1' },
      };
      expect(await store().commit(batch)).toMatchObject({ ok: false, conflict });
      expect(await store().get('task', 't1')).toEqual(task);
      expect(await store().get('key', 'k')).toBeUndefined();
      expect((await store().getAgentStatus('A'))?.slots).toBe(agentStatus?.slots);
      expect((await store().takeDue(10)).map(({ ref }) => ref)).toContain(taskRef('t1'));
      expect((await store().list('waiting', { tags: ['a'] }, { limit: 5 })).items).toEqual([]);
      expect((await store().list('unreported', { agent_id: 'A' }, { limit: 5 })).items).toEqual([]);
      await finish(store(), 'later');
      expect(await readFeed(store(), 's', null, 1)).toMatchObject([{ request_id: 'later' }]);
    }

    test('when another write of it has the wrong revision', async () => {
      await expectNoChange(
        { writes: [{ kind: 'agent', id: 'A', expect: 'absent', value: buildAgent('A') }] },
        'revision',
      );
    });

    test('when an agent has no free slot', async () => {
      await register(store(), 'full', { max_concurrent: 0 });
      await expectNoChange(
        {
          slots: [{ op: 'grant', agent_id: 'full', request_id: 't1', registration: 'registration of full' }],
        },
        'slot',
      );
    });

    test('when a lease is not valid', async () => {
      await expectNoChange({ due: [{ ref: agentRef('A'), atMs: null, lease: 'no-such-lease' }] }, 'lease');
    });

    test('when an agent is free although none may be', async () => {
      await expectNoChange({ noneFree: ['a'] }, 'free_agent');
    });

    test('when it would exceed a limit', async () => {
      const { writes } = writeTask('t2', 'absent', buildState(store()));
      await expectNoChange({ writes, atMost: { openTasks: 1 } }, 'full');
    });
  });

  describe('the limits of open tasks and agents', () => {
    test('refuse one more open task than allowed; settled ones do not count', async () => {
      const open = (id: string, openTasks: number) =>
        store().commit(writeTask(id, 'absent', buildState(store()), { atMost: { openTasks } }));
      must(await open('t1', 2));
      must(await open('t2', 2));
      expect(await open('t3', 2)).toEqual({ ok: false, conflict: 'full' });
      await settle(store(), 't1');
      must(await open('t3', 2));
      await reopen();
      expect(await open('t4', 2)).toEqual({ ok: false, conflict: 'full' });
    });

    test('refuse one more agent than allowed, but not the change of one that is there', async () => {
      const put = (id: string) => putAgent(store(), id, buildAgent(id), { atMost: { agents: 2 } });
      must(await put('A'));
      must(await put('B'));
      expect(await put('C')).toEqual({ ok: false, conflict: 'full' });
      must(await put('A'));
      must(await putAgent(store(), 'B', null));
      must(await put('C'));
    });

    test('allow changes of a running task when there are too many already', async () => {
      await register(store(), 'A');
      await submit(store(), 't1');
      await submit(store(), 't2');
      must(await assign(store(), 't1', 'A'));
      const before = await readState(store(), 't1');
      const change = writeTask('t1', before, before.value, { atMost: { openTasks: 1 } });
      expect(await store().commit(change)).toMatchObject({ ok: true });
    });
  });

  describe('an idempotency key', () => {
    const put = (fingerprint: string, keepMs = 1_000) =>
      store().commit({
        writes: [
          {
            kind: 'key',
            id: 'k',
            expect: 'absent',
            value: { request_id: 't1', fingerprint, create_time: 1 },
            keepMs,
          },
        ],
      });

    test('is kept for its time by the clock of the store and reads as absent after it', async () => {
      must(await put('one'));
      await underTest().advance(999);
      expect((await store().get('key', 'k'))?.value.fingerprint).toBe('one');
      expect(await put('two')).toMatchObject({ conflict: 'revision' });
      await underTest().advance(1);
      expect(await store().get('key', 'k')).toBeUndefined();
      must(await put('two'));
      expect((await store().get('key', 'k'))?.value.fingerprint).toBe('two');
    });

    test('keeps its expiry time across a restart', async () => {
      must(await put('one'));
      await reopen();
      expect((await store().get('key', 'k'))?.value.fingerprint).toBe('one');
      await underTest().advance(1_000);
      expect(await store().get('key', 'k')).toBeUndefined();
      must(await put('two'));
    });
  });
}

/**
 * Agents: slots within their limits, which agents are free, an agent's status, and changes since a cursor.
 */
import { describe, expect, test } from 'vitest';
import type { CommitResult, SlotChange } from '../../server/ports/store.ts';
import {
  assign,
  createRandom,
  drawSeed,
  must,
  putAgent,
  readState,
  register,
  settle,
  submit,
  writeTask,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

export function describeAgentsAndSlots({ store, reopen, underTest }: SuiteContext): void {
  const grant = (agent_id: string, request_id: string): SlotChange => ({
    op: 'grant',
    agent_id,
    request_id,
    registration: `registration of ${agent_id}`,
  });
  const change = (...slots: SlotChange[]): Promise<CommitResult> => store().commit({ writes: [], slots });
  const countSlots = async (agent_id: string): Promise<number | undefined> =>
    (await store().getAgentStatus(agent_id))?.slots;
  const noneFree = (...tags: string[]): Promise<CommitResult> =>
    store().commit({ writes: [], noneFree: tags });

  describe('a slot', () => {
    test('is granted up to the limit and not beyond', async () => {
      await register(store(), 'A', { max_concurrent: 2 });
      must(await change(grant('A', 't1')));
      must(await change(grant('A', 't2')));
      expect(await change(grant('A', 't3'))).toEqual({ ok: false, conflict: 'slot' });
      expect(await countSlots('A')).toBe(2);
    });

    test('is never granted above the limit, however many commits run at once', async () => {
      const random = createRandom(drawSeed());
      await register(store(), 'A', { max_concurrent: 3 });
      const holders = new Set<string>();
      for (let round = 0; round < 20; round += 1) {
        const batches = Array.from({ length: 10 }, (_, index) => {
          const id = `t${round}-${index}`;
          const finished = [...holders][random.next(holders.size || 1)];
          const release: SlotChange[] =
            finished !== undefined && random.next(3) === 0
              ? [{ op: 'release', agent_id: 'A', request_id: finished }]
              : [];
          return {
            id,
            finished: release.length > 0 ? finished : undefined,
            slots: [...release, grant('A', id)],
          };
        });
        const results = await Promise.all(batches.map(({ slots }) => change(...slots)));
        for (const [index, { id, finished }] of batches.entries()) {
          if (!results[index]?.ok) continue;
          if (finished !== undefined) holders.delete(finished);
          holders.add(id);
        }
        const slots = await countSlots('A');
        expect(slots, `seed ${random.seed}`).toBeLessThanOrEqual(3);
        expect(slots, `seed ${random.seed}`).toBe(holders.size);
      }
    });

    test('counts together with the others of its batch, releases before it included', async () => {
      await register(store(), 'A', { max_concurrent: 2 });
      expect(await change(grant('A', 't1'), grant('A', 't2'), grant('A', 't3'))).toMatchObject({
        conflict: 'slot',
      });
      must(await change(grant('A', 't1'), grant('A', 't2')));
      must(await change({ op: 'release', agent_id: 'A', request_id: 't1' }, grant('A', 't3')));
      expect(await countSlots('A')).toBe(2);
    });

    test('is granted and released idempotently', async () => {
      await register(store(), 'A');
      must(await change(grant('A', 't1')));
      must(await change(grant('A', 't1')));
      expect(await countSlots('A')).toBe(1);
      must(await change({ op: 'release', agent_id: 'A', request_id: 't1' }));
      must(await change({ op: 'release', agent_id: 'A', request_id: 't1' }));
      expect(await countSlots('A')).toBe(0);
    });

    test('moves from one agent to another in one commit', async () => {
      await register(store(), 'A');
      await register(store(), 'B');
      must(await change(grant('A', 't1')));
      must(await change({ op: 'release', agent_id: 'A', request_id: 't1' }, grant('B', 't1')));
      expect([await countSlots('A'), await countSlots('B')]).toEqual([0, 1]);
    });

    test('is granted, and kept by a grant, only under the registration that was matched', async () => {
      await register(store(), 'A', { registration: 'first' });
      const first = { op: 'grant', agent_id: 'A', request_id: 't1', registration: 'first' } as const;
      must(await change(first));
      const before = await store().getAgentStatus('A');
      must(await change(first));
      expect(await store().getAgentStatus('A')).toEqual(before);
      await register(store(), 'A', { registration: 'second', draining: true });
      expect(await change(first)).toEqual({ ok: false, conflict: 'slot' });
      must(await change({ ...first, registration: 'second' }));
    });

    test('is not granted for an agent without a record, nor for a draining one', async () => {
      expect(await change(grant('absent', 't1'))).toEqual({ ok: false, conflict: 'slot' });
      await register(store(), 'A', { draining: true });
      expect(await change(grant('A', 't1'))).toEqual({ ok: false, conflict: 'slot' });
    });

    test('belongs to the id of the agent: it outlives unregister and register', async () => {
      await register(store(), 'A', { max_concurrent: 1 });
      must(await change(grant('A', 't1')));
      must(await putAgent(store(), 'A', null));
      expect(await store().getAgentStatus('A')).toBeUndefined();
      expect((await store().list('slots', { agent_id: 'A' }, { limit: 5 })).items).toEqual([
        { request_id: 't1' },
      ]);
      await register(store(), 'A');
      expect(await countSlots('A')).toBe(1);
      expect(await change(grant('A', 't2'))).toMatchObject({ conflict: 'slot' });
    });

    test('of a running task is there after a restart, in the order of assignment', async () => {
      await register(store(), 'A', { max_concurrent: 3 });
      for (const id of ['t3', 't1', 't2']) {
        await submit(store(), id);
        must(await assign(store(), id, 'A'));
        await underTest().advance(5);
      }
      await settle(store(), 't1');
      await reopen();
      expect(await countSlots('A')).toBe(2);
      expect((await store().list('slots', { agent_id: 'A' }, { limit: 5 })).items).toEqual([
        { request_id: 't3' },
        { request_id: 't2' },
      ]);
    });
  });

  describe('the precondition that no agent is free', () => {
    test('names an agent that shares a tag and has a free slot', async () => {
      await register(store(), 'A', { agent_tags: ['x', 'a'] });
      expect(await noneFree('z', 'a')).toEqual({ ok: false, conflict: 'free_agent', agent_id: 'A' });
      must(await noneFree('z'));
      must(await noneFree());
    });

    test('holds while every agent that shares a tag is full, offline or unregistered', async () => {
      await register(store(), 'full');
      must(await change(grant('full', 't1')));
      await register(store(), 'offline', { offlineMs: 1 });
      await register(store(), 'unregistered');
      must(await putAgent(store(), 'unregistered', null));
      must(await noneFree('a'));
      must(await change({ op: 'release', agent_id: 'full', request_id: 't1' }));
      expect(await noneFree('a')).toMatchObject({ agent_id: 'full' });
    });

    test('follows an agent that registers with other tags or another limit', async () => {
      await register(store(), 'A', { agent_tags: ['a', 'b'] });
      await register(store(), 'A', { agent_tags: ['b'] });
      must(await noneFree('a'));
      expect(await noneFree('b')).toMatchObject({ agent_id: 'A' });
      await register(store(), 'A', { agent_tags: ['b'], max_concurrent: 0 });
      must(await noneFree('b'));
    });

    test('is the same after a restart', async () => {
      await register(store(), 'full');
      await submit(store(), 't1');
      must(await assign(store(), 't1', 'full'));
      await register(store(), 'free', { agent_tags: ['b'] });
      await reopen();
      must(await noneFree('a'));
      expect(await noneFree('b')).toMatchObject({ agent_id: 'free' });
    });

    test('is checked within the commit, so that no task is abandoned while an agent is free', async () => {
      await register(store(), 'A');
      await submit(store(), 't1');
      const first = await readState(store(), 't1');
      const settled = {
        ...first.value,
        status: 'failed' as const,
        settledMs: 1,
        history: [['failed', 1]] as const,
      };
      const results = await Promise.all([
        store().commit(writeTask('t1', first, settled, { noneFree: ['a'] })),
        change(grant('A', 'other')),
        store().commit(writeTask('t1', first, settled, { noneFree: ['a'] })),
      ]);
      expect(results.map(({ ok }) => ok)).toEqual([false, true, true]);
    });
  });

  describe('the status of an agent', () => {
    test('has its record, its slots, its last grant and its contact', async () => {
      const revision = await register(store(), 'A', { max_concurrent: 5 });
      expect(await store().getAgentStatus('A')).toMatchObject({ revision, slots: 0, lastGrantMs: 0 });
      await underTest().advance(10);
      must(await change(grant('A', 't1')));
      const agentStatus = await store().getAgentStatus('A');
      expect(agentStatus).toMatchObject({ revision, slots: 1, lastGrantMs: store().nowMs() });
      expect(agentStatus?.record.max_concurrent).toBe(5);
      expect(agentStatus?.contact).toMatchObject({ beatMs: null, beatGapMs: null, push: null });
    });

    test('is undefined without a record', async () => {
      expect(await store().getAgentStatus('absent')).toBeUndefined();
    });

    test('keeps its revision while slots and contact change', async () => {
      const revision = await register(store(), 'A');
      must(await change(grant('A', 't1')));
      await store().touch('A', { by: 'call' });
      expect((await store().getAgentStatus('A'))?.revision).toBe(revision);
    });
  });

  describe('the changes of agents', () => {
    const ids = async (after: string | null) => {
      const { reset, changed, removed, cursor } = await store().readAgentChanges(after);
      return { reset, changed: changed.map(({ record }) => record.agent_id).sort(), removed, cursor };
    };

    test('have no last push once the agent registers again', async () => {
      await register(store(), 'A');
      await store().touch('A', { by: 'push', taken: false, status: 500, error: 'no' });
      expect((await store().getAgentStatus('A'))?.contact.push).toEqual({
        taken: false,
        status: 500,
        error: 'no',
      });
      await store().touch('A', { by: 'call' });
      await register(store(), 'A', { draining: true });
      expect((await store().getAgentStatus('A'))?.contact.push).not.toBeNull();
      await register(store(), 'A', { registration: 'another' });
      expect((await store().getAgentStatus('A'))?.contact).toMatchObject({
        push: null,
        unreachedSinceMs: null,
      });
    });

    test('are complete at first, then only what changed', async () => {
      for (const id of ['A', 'B', 'C']) await register(store(), id);
      const first = await ids(null);
      expect(first).toMatchObject({ reset: true, changed: ['A', 'B', 'C'], removed: [] });
      expect(await ids(first.cursor)).toMatchObject({ reset: false, changed: [], removed: [] });
      must(await change(grant('A', 't1')));
      await store().touch('B', { by: 'push', taken: false, status: 500, error: 'no' });
      const second = await ids(first.cursor);
      expect(second).toMatchObject({ reset: false, changed: ['A', 'B'] });
      expect(
        (await store().readAgentChanges(first.cursor)).changed.find(({ record }) => record.agent_id === 'A'),
      ).toEqual(await store().getAgentStatus('A'));
      await register(store(), 'C', { max_concurrent: 9 });
      expect(await ids(second.cursor)).toMatchObject({ changed: ['C'] });
      expect(await ids(first.cursor)).toMatchObject({ changed: ['A', 'B', 'C'] });
    });

    test('name removed agents until they register again', async () => {
      await register(store(), 'A');
      const { cursor } = await ids(null);
      must(await putAgent(store(), 'A', null));
      expect(await ids(cursor)).toMatchObject({ reset: false, changed: [], removed: ['A'] });
      await register(store(), 'A');
      expect(await ids(cursor)).toMatchObject({ changed: ['A'], removed: [] });
    });

    test('come in pages that lead to all of them, also to what changes in between', async () => {
      const long = Array.from({ length: 64 }, (_, tag) => `${tag}`.padEnd(256, '\u0001'));
      const all = Array.from({ length: 30 }, (_, index) => `A${index}`);
      for (const id of all) await register(store(), id, { agent_tags: long });
      const found = new Map<string, number>();
      let page = await store().readAgentChanges(null);
      expect(page.reset).toBe(true);
      must(await putAgent(store(), 'A0', null));
      await register(store(), 'A1', { agent_tags: ['short'] });
      const take = (): void => {
        for (const id of page.removed) found.delete(id);
        for (const { record } of page.changed) found.set(record.agent_id, record.agent_tags.length);
      };
      for (take(); page.more; take()) page = await store().readAgentChanges(page.cursor);
      page = await store().readAgentChanges(page.cursor);
      take();
      expect(page).toMatchObject({ reset: false, more: false });
      expect([...found.keys()].sort()).toEqual(all.filter((id) => id !== 'A0').sort());
      expect(found.get('A1')).toBe(1);
    });

    test('are complete for an unknown cursor, as after a restart', async () => {
      await register(store(), 'A');
      const { cursor } = await ids(null);
      expect(await ids('nonsense')).toMatchObject({ reset: true, changed: ['A'] });
      await reopen();
      expect((await ids(cursor)).changed).toEqual(['A']);
    });
  });
}

/** Agents: slots within their limits, who is free, how one stands, who changed. */
import { describe, expect, test } from 'vitest';
import type { CommitResult, SlotChange } from '../../server/ports/store.ts';
import type { Given } from './conformance.ts';
import {
  assign,
  createChance,
  drawSeed,
  must,
  readState,
  register,
  settle,
  submit,
  writeTask,
} from './store-under-test.ts';

export function describeAgentsAndSlots({ store, reopen, subject }: Given): void {
  const grant = (agent_id: string, request_id: string): SlotChange => ({
    op: 'grant',
    agent_id,
    request_id,
    registration: `registration of ${agent_id}`,
  });
  const change = (...slots: SlotChange[]): Promise<CommitResult> => store().commit({ writes: [], slots });
  const held = async (agent_id: string): Promise<number | undefined> =>
    (await store().getAgentStatus(agent_id))?.slots;
  const noneFree = (...tags: string[]): Promise<CommitResult> =>
    store().commit({ writes: [], noneFree: tags });

  describe('a slot', () => {
    test('is granted up to the limit and not beyond', async () => {
      await register(store(), 'A', { max_concurrent: 2 });
      must(await change(grant('A', 't1')));
      must(await change(grant('A', 't2')));
      expect(await change(grant('A', 't3'))).toEqual({ ok: false, conflict: 'slot' });
      expect(await held('A')).toBe(2);
    });

    test('is never granted above the limit, however many ask at once', async () => {
      const chance = createChance(drawSeed());
      await register(store(), 'A', { max_concurrent: 3 });
      const holders = new Set<string>();
      for (let round = 0; round < 20; round += 1) {
        const batches = Array.from({ length: 10 }, (_, index) => {
          const id = `t${round}-${index}`;
          const leaver = [...holders][chance.next(holders.size || 1)];
          const release: SlotChange[] =
            leaver !== undefined && chance.next(3) === 0
              ? [{ op: 'release', agent_id: 'A', request_id: leaver }]
              : [];
          return { id, leaver: release.length > 0 ? leaver : undefined, slots: [...release, grant('A', id)] };
        });
        const outcomes = await Promise.all(batches.map(({ slots }) => change(...slots)));
        for (const [index, { id, leaver }] of batches.entries()) {
          if (!outcomes[index]?.ok) continue;
          if (leaver !== undefined) holders.delete(leaver);
          holders.add(id);
        }
        const now = await held('A');
        expect(now, `seed ${chance.seed}`).toBeLessThanOrEqual(3);
        expect(now, `seed ${chance.seed}`).toBe(holders.size);
      }
    });

    test('counts together with the others of its batch, releases before it included', async () => {
      await register(store(), 'A', { max_concurrent: 2 });
      expect(await change(grant('A', 't1'), grant('A', 't2'), grant('A', 't3'))).toMatchObject({
        conflict: 'slot',
      });
      must(await change(grant('A', 't1'), grant('A', 't2')));
      must(await change({ op: 'release', agent_id: 'A', request_id: 't1' }, grant('A', 't3')));
      expect(await held('A')).toBe(2);
    });

    test('may be granted twice and released twice', async () => {
      await register(store(), 'A');
      must(await change(grant('A', 't1')));
      must(await change(grant('A', 't1')));
      expect(await held('A')).toBe(1);
      must(await change({ op: 'release', agent_id: 'A', request_id: 't1' }));
      must(await change({ op: 'release', agent_id: 'A', request_id: 't1' }));
      expect(await held('A')).toBe(0);
    });

    test('moves from one agent to another in one commit', async () => {
      await register(store(), 'A');
      await register(store(), 'B');
      must(await change(grant('A', 't1')));
      must(await change({ op: 'release', agent_id: 'A', request_id: 't1' }, grant('B', 't1')));
      expect([await held('A'), await held('B')]).toEqual([0, 1]);
    });

    test('is granted only under the registration that was matched', async () => {
      await register(store(), 'A', { registration: 'second' });
      const first: SlotChange = { op: 'grant', agent_id: 'A', request_id: 't1', registration: 'first' };
      expect(await change(first)).toEqual({ ok: false, conflict: 'slot' });
      must(await change({ ...first, registration: 'second' }));
    });

    test('is not granted by an agent without a record, nor by one that is not eligible', async () => {
      expect(await change(grant('nobody', 't1'))).toEqual({ ok: false, conflict: 'slot' });
      await register(store(), 'A', { draining: true });
      expect(await change(grant('A', 't1'))).toEqual({ ok: false, conflict: 'slot' });
    });

    test('belongs to the id of the agent: it outlives unregister and register', async () => {
      await register(store(), 'A', { max_concurrent: 1 });
      must(await change(grant('A', 't1')));
      must(await store().commit({ writes: [{ kind: 'agent', id: 'A', expect: 'any', value: null }] }));
      expect(await store().getAgentStatus('A')).toBeUndefined();
      expect((await store().list('slots', { agent_id: 'A' }, { limit: 5 })).items).toEqual([
        { request_id: 't1' },
      ]);
      await register(store(), 'A');
      expect(await held('A')).toBe(1);
      expect(await change(grant('A', 't2'))).toMatchObject({ conflict: 'slot' });
    });

    test('of a running task is there after a restart, in the order of assignment', async () => {
      await register(store(), 'A', { max_concurrent: 3 });
      for (const id of ['t3', 't1', 't2']) {
        await submit(store(), id);
        must(await assign(store(), id, 'A'));
        await subject().advance(5);
      }
      await settle(store(), 't1');
      await reopen();
      expect(await held('A')).toBe(2);
      expect((await store().list('slots', { agent_id: 'A' }, { limit: 5 })).items).toEqual([
        { request_id: 't3' },
        { request_id: 't2' },
      ]);
    });
  });

  describe('the guard that nobody is free', () => {
    test('names an agent that shares a tag and may take one more', async () => {
      await register(store(), 'A', { agent_tags: ['x', 'a'] });
      expect(await noneFree('z', 'a')).toEqual({ ok: false, conflict: 'free_agent', agent_id: 'A' });
      must(await noneFree('z'));
      must(await noneFree());
    });

    test('holds while all who share a tag are full, away or gone', async () => {
      await register(store(), 'full');
      must(await change(grant('full', 't1')));
      await register(store(), 'away', { offlineMs: 1 });
      await register(store(), 'gone');
      must(await store().commit({ writes: [{ kind: 'agent', id: 'gone', expect: 'any', value: null }] }));
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

    test('is as strict after a restart', async () => {
      await register(store(), 'full');
      await submit(store(), 't1');
      must(await assign(store(), 't1', 'full'));
      await register(store(), 'free', { agent_tags: ['b'] });
      await reopen();
      must(await noneFree('a'));
      expect(await noneFree('b')).toMatchObject({ agent_id: 'free' });
    });

    test('stands or falls with the commit: whoever ends for want of an agent raced no free one', async () => {
      await register(store(), 'A');
      const first = await submit(store(), 't1');
      const ended = { ...(await readState(store(), 't1')).value, status: 'failed' as const, settledMs: 1 };
      const outcomes = await Promise.all([
        store().commit(writeTask('t1', first, ended, { noneFree: ['a'] })),
        change(grant('A', 'other')),
        store().commit(writeTask('t1', first, ended, { noneFree: ['a'] })),
      ]);
      expect(outcomes.map(({ ok }) => ok)).toEqual([false, true, true]);
    });
  });

  describe('an agent as it stands', () => {
    test('has its record, its slots, its last grant and its contact', async () => {
      const revision = await register(store(), 'A', { max_concurrent: 5 });
      expect(await store().getAgentStatus('A')).toMatchObject({ revision, slots: 0, lastGrantMs: 0 });
      await subject().advance(10);
      must(await change(grant('A', 't1')));
      const agentStatus = await store().getAgentStatus('A');
      expect(agentStatus).toMatchObject({ revision, slots: 1, lastGrantMs: store().nowMs() });
      expect(agentStatus?.record.max_concurrent).toBe(5);
      expect(agentStatus?.contact).toMatchObject({ beatMs: null, beatGapMs: null, push: null });
    });

    test('is undefined without a record', async () => {
      expect(await store().getAgentStatus('nobody')).toBeUndefined();
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

    test('forget the last push when the agent registers: it says where the next one goes', async () => {
      await register(store(), 'A');
      await store().touch('A', { by: 'push', taken: false, status: 500, error: 'no' });
      expect((await store().getAgentStatus('A'))?.contact.push).toEqual({
        taken: false,
        status: 500,
        error: 'no',
      });
      await store().touch('A', { by: 'call' });
      expect((await store().getAgentStatus('A'))?.contact.push).not.toBeNull();
      await store().touch('A', { by: 'register' });
      expect((await store().getAgentStatus('A'))?.contact.push).toBeNull();
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

    test('name those that went, until they come again', async () => {
      await register(store(), 'A');
      const { cursor } = await ids(null);
      must(await store().commit({ writes: [{ kind: 'agent', id: 'A', expect: 'any', value: null }] }));
      expect(await ids(cursor)).toMatchObject({ reset: false, changed: [], removed: ['A'] });
      await register(store(), 'A');
      expect(await ids(cursor)).toMatchObject({ changed: ['A'], removed: [] });
    });

    test('start over for a cursor that is not known, as after a restart', async () => {
      await register(store(), 'A');
      const { cursor } = await ids(null);
      expect(await ids('nonsense')).toMatchObject({ reset: true, changed: ['A'] });
      await reopen();
      expect((await ids(cursor)).changed).toEqual(['A']);
    });
  });
}

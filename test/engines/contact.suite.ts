/** Contacts of agents: what is one, how old it counts as, and commits that expect none after a time. */
import { describe, expect, test } from 'vitest';
import { register } from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

export function describeContacts({ store, reopen, underTest }: SuiteContext): void {
  describe('contact', () => {
    const contact = async () => (await store().getAgentStatus('A'))?.contact;

    test('is noted by touch(), which returns the record of the agent', async () => {
      expect(await store().touch('A', { by: 'call' })).toBeUndefined();
      await register(store(), 'A');
      await underTest().advance(1_000);
      const record = await store().touch('A', { by: 'call' });
      expect(await contact()).toMatchObject({ contactMs: store().nowMs(), beatMs: null });
      expect(record).toEqual((await store().get('agent', 'A'))?.value);
    });

    test('that may be late is noted within a quarter of a second, and what ended before it is forgotten', async () => {
      const taken = { by: 'push', taken: true, status: 202, error: null, mayBeLate: true } as const;
      const failed = { by: 'push', taken: false, status: 500, error: 'failed' } as const;
      expect(await store().touch('A', taken)).toBeUndefined();
      await register(store(), 'A');
      await underTest().advance(1_000);
      const record = (await store().get('agent', 'A'))?.value;
      expect(await store().touch('A', taken)).toEqual(record);
      expect(await contact()).toMatchObject({ contactMs: store().nowMs(), push: { taken: true } });
      await store().touch('A', failed);
      expect(await contact()).toMatchObject({ push: { taken: false }, unreachedSinceMs: store().nowMs() });
      for (let n = 0; n < 3; n += 1) expect(await store().touch('A', taken)).toEqual(record);
      expect(await contact()).toMatchObject({ push: { taken: true }, unreachedSinceMs: null });
      await store().touch('A', taken);
      await store().touch('A', failed);
      await underTest().advance(1_000);
      expect(await contact()).toMatchObject({ push: { taken: false } });
      expect(await store().touch('A', { by: 'call', mayBeLate: true })).toEqual(record);
      expect((await contact())?.contactMs).toBe(store().nowMs());
    });

    test('by registration is part of its commit, and other changes of the record are none', async () => {
      await store().takeDue(1);
      await underTest().advance(1_000);
      await register(store(), 'A');
      const registeredMs = store().nowMs();
      expect(await contact()).toMatchObject({ contactMs: registeredMs, beatMs: null });
      await underTest().advance(1_000);
      await register(store(), 'A', { draining: true });
      expect((await contact())?.contactMs).toBe(registeredMs);
      await register(store(), 'A', { registration: 'another' });
      expect((await contact())?.contactMs).toBe(store().nowMs());
    });

    test('by heartbeat reports the gap to the heartbeat or the registration before', async () => {
      await store().takeDue(1);
      await register(store(), 'A');
      await underTest().advance(3_000);
      await store().touch('A', { by: 'beat' });
      expect(await contact()).toMatchObject({ beatMs: store().nowMs(), beatGapMs: 3_000 });
      await underTest().advance(4_000);
      await store().touch('A', { by: 'beat' });
      expect(await contact()).toMatchObject({ beatMs: store().nowMs(), beatGapMs: 4_000 });
      await underTest().advance(2_000);
      await register(store(), 'A', { registration: 'another' });
      await underTest().advance(1_000);
      await store().touch('A', { by: 'beat' });
      expect(await contact()).toMatchObject({ beatMs: store().nowMs(), beatGapMs: 1_000 });
    });

    test('by heartbeat has a gap in which no pause of the sweeps counts', async () => {
      await store().takeDue(1);
      await register(store(), 'A');
      await store().touch('A', { by: 'beat' });
      await underTest().advance(600_000);
      await store().takeDue(1);
      await underTest().advance(2_000);
      await store().touch('A', { by: 'beat' });
      expect((await contact())?.beatGapMs).toBe(2_000);
    });

    test('by push that found the agent busy counts; the first push in a row that failed is remembered', async () => {
      const failed = { by: 'push', taken: false, status: null, error: 'refused' } as const;
      await store().takeDue(1);
      await register(store(), 'A');
      await underTest().advance(1_000);
      await store().touch('A', failed);
      const failedMs = store().nowMs();
      await underTest().advance(1_000);
      await store().touch('A', { ...failed, error: 'refused again' });
      await store().touch('A', { by: 'call' });
      expect((await contact())?.unreachedSinceMs).toBe(failedMs);
      await underTest().advance(1_000);
      await store().touch('A', { ...failed, status: 429, busy: true });
      expect(await contact()).toMatchObject({
        contactMs: store().nowMs(),
        unreachedSinceMs: null,
        push: { taken: false, status: 429 },
      });
      await store().touch('A', failed);
      expect((await contact())?.unreachedSinceMs).toBe(store().nowMs());
      await store().touch('A', { ...failed, taken: true });
      expect((await contact())?.unreachedSinceMs).toBeNull();
    });

    test('after a time makes a commit that expects none a conflict, and so does a pause of the sweeps', async () => {
      await store().takeDue(1);
      await register(store(), 'A');
      await register(store(), 'B');
      const atMs = store().nowMs();
      const expectSilence = (agent_id: string) =>
        store().commit({ writes: [], due: [], noContactAfter: { agent_id, atMs } });
      await underTest().advance(1_000);
      expect(await expectSilence('A')).toMatchObject({ ok: true });
      await store().touch('A', { by: 'push', taken: false, status: null, error: 'refused' });
      expect(await expectSilence('A')).toMatchObject({ ok: true });
      await store().touch('A', { by: 'beat' });
      expect(await expectSilence('A')).toEqual({ ok: false, conflict: 'contact' });
      expect(await expectSilence('B')).toMatchObject({ ok: true });
      await register(store(), 'B', { registration: 'another' });
      expect(await expectSilence('B')).toEqual({ ok: false, conflict: 'contact' });
      await register(store(), 'C');
      const at = { agent_id: 'C', atMs: store().nowMs() };
      await underTest().advance(6_000);
      await store().takeDue(1);
      expect(await store().commit({ writes: [], noContactAfter: at })).toMatchObject({ conflict: 'contact' });
    });

    test('by push counts only when the task was taken; a failed push is recorded too', async () => {
      await register(store(), 'A');
      await store().takeDue(1);
      await store().touch('A', { by: 'call' });
      const calledMs = store().nowMs();
      await underTest().advance(2_000);
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

    test('is never older than the first sweep after a pause of more than five seconds', async () => {
      await register(store(), 'A');
      await store().takeDue(1);
      await store().touch('A', { by: 'beat' });
      const touchedMs = store().nowMs();
      for (let times = 0; times < 4; times += 1) {
        await underTest().advance(5_000);
        await store().takeDue(1);
      }
      expect((await contact())?.contactMs).toBe(touchedMs);
      await underTest().advance(5_001);
      await store().takeDue(1);
      expect((await contact())?.contactMs).toBe(store().nowMs());
      expect((await contact())?.beatMs).toBe(touchedMs);
    });

    test('counts from the first sweep after a restart', async () => {
      await register(store(), 'A');
      await store().touch('A', { by: 'call' });
      await reopen();
      await underTest().advance(600_000);
      await store().takeDue(1);
      expect((await contact())?.contactMs).toBe(store().nowMs());
    });
  });
}

/** Listings of tasks, slots and unreported tasks: order, pages, no repeats, no gaps. */
import { describe, expect, test } from 'vitest';
import type { Lists } from '../../server/ports/store.ts';
import { assign, endingOf, must, register, settle, submit } from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

export function describeListings({ store, reopen, underTest }: SuiteContext): void {
  /** Every item of a listing, page by page. */
  async function listAll<Q extends keyof Lists>(
    query: Q,
    filter: Lists[Q]['ask'],
    limit: number,
  ): Promise<readonly Lists[Q]['item'][]> {
    const items: Lists[Q]['item'][] = [];
    let after: string | undefined;
    do {
      const page = await store().list(query, filter, { limit, ...(after !== undefined && { after }) });
      expect(page.items.length).toBeLessThanOrEqual(limit);
      items.push(...page.items);
      after = page.next ?? undefined;
    } while (after !== undefined);
    return items;
  }
  const tasks = async (filter: Lists['tasks']['ask'] = {}, limit = 100): Promise<readonly string[]> =>
    (await listAll('tasks', filter, limit)).map(({ request_id }) => request_id);

  describe('the listing of tasks', () => {
    test('is newest first by creation and id, settled and open tasks together', async () => {
      await submit(store(), 'b', { createdMs: 10 });
      await submit(store(), 'a', { createdMs: 10 });
      await submit(store(), 'newest', { createdMs: 30 });
      await submit(store(), 'middle', { createdMs: 20 });
      await settle(store(), 'middle');
      expect(await tasks()).toEqual(['newest', 'middle', 'b', 'a']);
      await reopen();
      expect(await tasks()).toEqual(['newest', 'middle', 'b', 'a']);
    });

    test('of a session has the tasks of that session only', async () => {
      await submit(store(), 't1', { cli_session_id: 'one', createdMs: 1 });
      await submit(store(), 't2', { cli_session_id: 'two', createdMs: 2 });
      await submit(store(), 't3', { cli_session_id: '', createdMs: 3 });
      await submit(store(), 't4', { cli_session_id: 'one', createdMs: 4 });
      expect(await tasks({ session: 'one' })).toEqual(['t4', 't1']);
      expect(await tasks({ session: '' })).toEqual(['t3']);
      expect(await tasks({ session: 'none' })).toEqual([]);
    });

    test('of an agent has the tasks that were assigned to it', async () => {
      await register(store(), 'A', { max_concurrent: 5 });
      await register(store(), 'B', { max_concurrent: 5 });
      for (const [index, id] of ['t1', 't2', 't3'].entries()) await submit(store(), id, { createdMs: index });
      must(await assign(store(), 't1', 'A'));
      must(await assign(store(), 't2', 'B'));
      must(await assign(store(), 't3', 'A'));
      await settle(store(), 't1');
      expect(await tasks({ agent_id: 'A' })).toEqual(['t3', 't1']);
      expect(await tasks({ agent_id: 'B' })).toEqual(['t2']);
      expect(await tasks({ agent_id: 'absent' })).toEqual([]);
    });

    test('is paged without repeat or gap, even when a new task arrives in between', async () => {
      for (let index = 0; index < 25; index += 1) await submit(store(), `t${index}`, { createdMs: index });
      const expected = Array.from({ length: 25 }, (_, index) => `t${24 - index}`);
      expect(await tasks({}, 4)).toEqual(expected);
      const first = await store().list('tasks', {}, { limit: 10 });
      await submit(store(), 'later', { createdMs: 1_000 });
      const rest = await store().list('tasks', {}, { limit: 100, after: first.next ?? '' });
      expect([...first.items, ...rest.items].map(({ request_id }) => request_id)).toEqual(expected);
      expect(rest.next).toBeNull();
    });

    test('continues after the position of any item', async () => {
      for (let index = 0; index < 5; index += 1) await submit(store(), `t${index}`, { createdMs: index });
      const { items } = await store().list('tasks', { session: 's' }, { limit: 5 });
      for (const [index, { position }] of items.entries()) {
        const rest = await store().list('tasks', { session: 's' }, { limit: 5, after: position });
        expect(rest.items).toEqual(items.slice(index + 1));
      }
    });

    test('has no next page when a page ends exactly at the end', async () => {
      for (let index = 0; index < 4; index += 1) await submit(store(), `t${index}`, { createdMs: index });
      expect((await store().list('tasks', {}, { limit: 4 })).next).toBeNull();
      expect((await store().list('tasks', {}, { limit: 3 })).next).not.toBeNull();
    });

    test.each(['', '~', '/', '\u{10ffff}', 'zzz', '0', '99999999999999/zzz'])(
      'stays within its session when it continues after %j',
      async (after) => {
        await submit(store(), 't1', { cli_session_id: 'a' });
        await submit(store(), 't2', { cli_session_id: 'b' });
        await submit(store(), 't3', { cli_session_id: 'c' });
        const { items } = await store().list('tasks', { session: 'b' }, { limit: 10, after });
        expect(items.every(({ request_id }) => request_id === 't2')).toBe(true);
      },
    );
  });

  describe('the listing of slots', () => {
    test('is oldest grant first, page by page, even when slots are released in between', async () => {
      await register(store(), 'A', { max_concurrent: 100 });
      const ids = Array.from({ length: 10 }, (_, index) => `t${(index * 7) % 10}`);
      for (const id of ids) {
        await submit(store(), id);
        must(await assign(store(), id, 'A'));
      }
      const all = await listAll('slots', { agent_id: 'A' }, 3);
      expect(all.map(({ request_id }) => request_id)).toEqual(ids);
      const first = await store().list('slots', { agent_id: 'A' }, { limit: 3 });
      for (const id of ids.slice(0, 4)) await settle(store(), id);
      const rest = await store().list('slots', { agent_id: 'A' }, { limit: 20, after: first.next ?? '' });
      expect(rest.items.map(({ request_id }) => request_id)).toEqual(ids.slice(4));
    });

    test('of an agent that holds no slot is empty', async () => {
      expect(await store().list('slots', { agent_id: 'absent' }, { limit: 3 })).toEqual({
        items: [],
        next: null,
      });
    });
  });

  describe('tasks that settled without the report of their agent', () => {
    async function settleUnreported(id: string, agent_id: string): Promise<void> {
      await submit(store(), id);
      must(await store().commit(await endingOf(store(), id, { unreported: agent_id })));
    }
    const unreported = async (agent_id: string, limit = 100): Promise<readonly string[]> =>
      (await listAll('unreported', { agent_id }, limit)).map(({ request_id }) => request_id);

    test('are listed newest first, for ten minutes, for that agent only', async () => {
      await settleUnreported('t1', 'A');
      await underTest().advance(300_000);
      await settleUnreported('t2', 'A');
      await settleUnreported('t3', 'B');
      expect(await unreported('A')).toEqual(['t2', 't1']);
      expect(await unreported('B')).toEqual(['t3']);
      await reopen();
      expect(await unreported('A')).toEqual(['t2', 't1']);
      await underTest().advance(300_000);
      expect(await unreported('A')).toEqual(['t2']);
      await underTest().advance(300_000);
      expect(await unreported('A')).toEqual([]);
    });

    test('are listed page by page', async () => {
      for (let index = 0; index < 5; index += 1) {
        await settleUnreported(`t${index}`, 'A');
        await underTest().advance(1);
      }
      expect(await unreported('A', 2)).toEqual(['t4', 't3', 't2', 't1', 't0']);
    });
  });
}

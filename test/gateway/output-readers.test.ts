/** What readers of a task's output get: pages, and streams to an exact end. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../server/ports/store.ts';
import { flushMicrotasks } from '../harness/fake-clock.ts';
import { type Following, follow, nameItems, readPage, write } from '../harness/outputs.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, type World } from '../harness/world.ts';
import { submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

/** The pieces that a reader got first, as they were handed to it. */
function piecesOf(following: Following | null | undefined): unknown {
  return following?.items.find((item) => 'pieces' in item)?.pieces;
}

describeEachStore('readers of output on %s', (_name, open) => {
  const start = useWorlds(open);

  async function startTask(more = {}): Promise<{ world: World; request_id: string }> {
    const world = await start(more);
    await world.gateway.registerAgent(buildRegistration('A'));
    return { world, request_id: await submit(world) };
  }

  describe('a page', () => {
    test('says how the task stands, and where the next one begins', async () => {
      const { world, request_id } = await startTask();
      const none = { status: 'running', progress: 0, outcome: null, pieces: [], last: 0 };
      expect(await readPage(world, request_id)).toEqual({ ...none, complete: false, missing: null });
      await write(world, request_id, ['a', 'b']);
      expect(await readPage(world, request_id, 1)).toMatchObject({ pieces: [{ n: 2 }], last: 2 });
      expect(await readPage(world, request_id, 2)).toMatchObject({ pieces: [], last: 2, complete: false });
      await world.gateway.cancelTask(request_id);
      const over = { status: 'failed', outcome: 'cancelled', last: 2, complete: true, missing: null };
      expect(await readPage(world, request_id, 2)).toEqual({ ...over, progress: 0, pieces: [] });
      expect(await readPage(world, request_id)).toMatchObject({ ...over, pieces: [{ n: 1 }, { n: 2 }] });
      await expect(readPage(world, 'nothing')).rejects.toMatchObject({ code: 'task_not_found' });
    });

    test('has everything for a number beyond what there is, but nothing for that of the end', async () => {
      const { world, request_id } = await startTask();
      await write(world, request_id, ['a', 'b']);
      for (const after of [3, 1_000])
        expect((await readPage(world, request_id, after)).pieces).toHaveLength(2);
      await world.gateway.cancelTask(request_id);
      expect(await readPage(world, request_id, 3)).toMatchObject({ pieces: [], last: 2, complete: true });
      expect(await readPage(world, request_id, 4)).toMatchObject({ last: 2, pieces: [{ n: 1 }, { n: 2 }] });
    });

    test('has at most a thousand pieces', async () => {
      const { world, request_id } = await startTask();
      for (let from = 0; from < 1_100; from += 100) {
        await write(world, request_id, Array(100).fill('a'), { from });
      }
      await world.gateway.cancelTask(request_id);
      expect(await readPage(world, request_id)).toMatchObject({ last: 1_000, complete: false });
      expect(await readPage(world, request_id, 1_000)).toMatchObject({ last: 1_100, complete: true });
    });

    test('waits for a piece, for the end, or for as long as it asks', async () => {
      const { world, request_id } = await startTask();
      const wait = (after: number) => readPage(world, request_id, after, 20_000);
      const piece = wait(0);
      await flushMicrotasks();
      await write(world, request_id, ['a']);
      expect(await piece).toMatchObject({ pieces: [{ n: 1 }], last: 1 });
      const nothing = wait(1);
      await flushMicrotasks();
      await world.clock.advance(20_000);
      expect(await nothing).toMatchObject({ pieces: [], last: 1, complete: false });
      const end = wait(1);
      await flushMicrotasks();
      await world.gateway.cancelTask(request_id);
      expect(await end).toMatchObject({ pieces: [], complete: true, outcome: 'cancelled' });
      expect(await wait(1)).toMatchObject({ complete: true });
    });
  });

  describe('a follower', () => {
    test('gets how the task stands, each piece once and in order, and the end', async () => {
      const { world, request_id } = await startTask();
      const following = await follow(world, request_id);
      await flushMicrotasks();
      await write(world, request_id, ['a', 'b']);
      await flushMicrotasks();
      await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'running', progress: 40 });
      await flushMicrotasks();
      await write(world, request_id, ['c'], { from: 2 });
      await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'success' });
      await following?.ended;
      expect(nameItems(following?.items ?? [])).toEqual([
        'running 0',
        '1',
        '2',
        'running 40',
        '3',
        'end 4 success',
      ]);
    });

    test('gets the progress of a task without output, from its submission to its end', async () => {
      const world = await start();
      const request_id = await submit(world, { queue_timeout: 60 });
      const following = await follow(world, request_id);
      await flushMicrotasks();
      await world.gateway.registerAgent(buildRegistration('A'));
      await world.runUntilIdle();
      await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'running', progress: 70 });
      await flushMicrotasks();
      await world.gateway.reportResult({
        request_id,
        agent_id: 'A',
        status: 'failed',
        error_info: 'timeout',
      });
      await following?.ended;
      const seen = nameItems(following?.items ?? []);
      expect(seen).toEqual(['pending 0', 'running 0', 'running 70', 'end 1 failed']);
    });

    test('that comes late gets everything, and one that returns the rest', async () => {
      const { world, request_id } = await startTask();
      await write(world, request_id, ['a', 'b', 'c']);
      await world.gateway.cancelTask(request_id);
      const all = ['1', '2', '3', 'end 4 cancelled'];
      for (const after of [0, 1, 2, 3, 5, 1_000]) {
        const following = await follow(world, request_id, after);
        await following?.ended;
        expect(nameItems(following?.items ?? []), String(after)).toEqual(after > 3 ? all : all.slice(after));
      }
      expect(await follow(world, request_id, 4)).toBeNull();
      await expect(follow(world, 'nothing')).rejects.toMatchObject({ code: 'task_not_found' });
    });

    test('on a task that is open begins anew with a number beyond what there is', async () => {
      const { world, request_id } = await startTask();
      await write(world, request_id, ['a', 'b']);
      const following = await follow(world, request_id, 3);
      await flushMicrotasks();
      expect(nameItems(following?.items ?? [])).toEqual(['running 0', '1', '2']);
      following?.leave();
      await following?.ended;
    });

    test('shares its reads with the others of the task, and one that leaves ends no other', async () => {
      let reads = 0;
      const countReads = (store: Store): Store => ({
        ...store,
        readOutput(...asked) {
          reads += 1;
          return store.readOutput(...asked);
        },
      });
      const { world, request_id } = await startTask({ wrap: countReads });
      const readers = await Promise.all(Array.from({ length: 20 }, () => follow(world, request_id)));
      await flushMicrotasks();
      reads = 0;
      await write(world, request_id, ['a']);
      await flushMicrotasks();
      expect(reads).toBeLessThan(10);
      readers[0]?.leave();
      await readers[0]?.ended;
      await world.gateway.cancelTask(request_id);
      for (const reader of readers.slice(1)) await reader?.ended;
      for (const reader of readers.slice(1)) {
        expect(nameItems(reader?.items ?? [])).toEqual(['running 0', '1', 'end 2 cancelled']);
        // The very same pieces, so that they are rendered once.
        expect(piecesOf(reader)).toBe(piecesOf(readers[1]));
      }
    });
  });
});

/**
 * Each pass over a large payload or result waits in the rotation of callers: the fingerprint of a submission,
 * and rendering it. What follows copies its text.
 */
import { expect, test } from 'vitest';
import { createLargeWork, passOver } from '../../server/async/large-work.ts';
import type { JsonObject } from '../../server/domain/task.ts';
import type { Caller } from '../../server/ports/caller.ts';
import { createFakeClock, flushMicrotasks } from '../harness/fake-clock.ts';
import { openFreshStore } from '../harness/stores.ts';
import { buildRegistration, buildSubmission, createWorld } from '../harness/world.ts';
import { read, submitLong } from '../harness/world-calls.ts';

const caller: Caller = { key: 'a', isGone: () => false };
const LARGE = { keys: Object.fromEntries(Array.from({ length: 19_000 }, (_, n) => [`key ${n}`, n])) };

/** A gateway whose turns for large work are counted. */
async function arrange() {
  const clock = createFakeClock();
  const store = await openFreshStore(clock);
  const turns: string[] = [];
  const work = createLargeWork(clock);
  const world = createWorld(store, {
    clock,
    largeWork: {
      run(turn, piece) {
        turns.push(`${turn.caller.key} ${turn.order}`);
        return work.run(turn, piece);
      },
    },
  });
  return { clock, store, world, turns };
}

test('a small value has no turn, and its caller nothing to wait for', async () => {
  const clock = createFakeClock();
  const work = createLargeWork(clock);
  expect(passOver(work, caller, { text: 'small' }, (isLarge) => isLarge)).toBe(false);
  expect(await clock.drive(Promise.resolve(passOver(work, caller, LARGE, (isLarge) => isLarge)))).toBe(true);
});

test('of a submission with a key there are two, of its repeat one, of a small one none', async () => {
  const { clock, store, world, turns } = await arrange();
  const submit = (payload: JsonObject, key?: string) =>
    clock.drive(world.gateway.submitTask(buildSubmission({ payload }), key, caller));
  const first = await submit(LARGE, 'k');
  expect(turns).toEqual(['a holding', 'a holding']);
  expect((await submit(LARGE, 'k')).request_id).toBe(first.request_id);
  expect(turns).toEqual(['a holding', 'a holding', 'a holding']);
  await submit(LARGE);
  expect(turns).toHaveLength(4);
  await submit({ text: 'small' }, 'other');
  expect(turns).toHaveLength(4);
  await store.close();
});

test('of a result there is one; a reply that was reported before joins it, unless it has its own', async () => {
  const { clock, store, world, turns } = await arrange();
  await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3 }));
  for (const [own, expected] of [
    [{}, 'before'],
    [{ reply: 'own' }, 'own'],
  ] as const) {
    const request_id = await submitLong(world);
    const report = (status: 'running' | 'success', result: object) =>
      clock.drive(
        world.gateway.reportResult({ request_id, agent_id: 'A', status, result: { ...result } }, caller),
      );
    await report('running', { reply: 'before' });
    turns.length = 0;
    await report('success', { ...LARGE, ...own });
    expect(turns).toEqual(['a holding']);
    const { result } = JSON.parse(JSON.stringify(await read(world, request_id)));
    expect(result).toEqual({ ...LARGE, reply: expected });
  }
  await store.close();
});

test('readers of an output have one place for their reads of the task: one that leaves takes none away', async () => {
  const { clock, store, world, turns } = await arrange();
  const { request_id } = await clock.drive(world.gateway.submitTask(buildSubmission({ payload: LARGE })));
  const leaving = new AbortController();
  let hasLeft = false;
  const readers = ['b', 'c'].map(async (key) => {
    const open = await world.gateway.followOutput(request_id, 0, {
      key,
      isGone: () => hasLeft && key === 'b',
    });
    const items: unknown[] = [];
    for await (const item of open?.(leaving.signal) ?? []) items.push(item);
    return items.length;
  });
  await flushMicrotasks();
  turns.length = 0;
  hasLeft = true;
  await clock.drive(world.gateway.cancelTask(request_id));
  expect(await Promise.all(readers)).toEqual([2, 2]);
  expect(turns.some((turn) => turn.startsWith(`output ${request_id} `))).toBe(true);
  await store.close();
});

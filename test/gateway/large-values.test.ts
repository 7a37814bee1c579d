/**
 * Each pass over a large payload or result is a piece of the large work: the fingerprint of a submission, and
 * rendering it. What follows copies its text.
 */
import { expect, test } from 'vitest';
import { createLargeWork } from '../../server/async/large-work.ts';
import type { JsonObject } from '../../server/domain/task.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { openFreshStore } from '../harness/stores.ts';
import { buildRegistration, buildSubmission, createWorld } from '../harness/world.ts';
import { read, submitLong } from '../harness/world-calls.ts';

const LARGE = { keys: Object.fromEntries(Array.from({ length: 19_000 }, (_, n) => [`key ${n}`, n])) };

/** A gateway whose pieces of large work are counted. */
async function arrange() {
  const clock = createFakeClock();
  const store = await openFreshStore(clock);
  const work = createLargeWork();
  const pieces = { count: 0 };
  const world = createWorld(store, {
    clock,
    largeWork: {
      run(piece) {
        pieces.count += 1;
        return work.run(piece);
      },
    },
  });
  return { clock, store, world, pieces };
}

test('of a submission with a key there are two, of its repeat one, of a small one none', async () => {
  const { clock, store, world, pieces } = await arrange();
  const submit = (payload: JsonObject, key?: string) =>
    clock.drive(world.gateway.submitTask(buildSubmission({ payload }), key));
  const first = await submit(LARGE, 'k');
  expect(pieces.count).toBe(2);
  expect((await submit(LARGE, 'k')).request_id).toBe(first.request_id);
  expect(pieces.count).toBe(3);
  await submit(LARGE);
  expect(pieces.count).toBe(4);
  await submit({ text: 'small' }, 'other');
  expect(pieces.count).toBe(4);
  await store.close();
});

test('of a result there is one; a reply that was reported before joins it, unless it has its own', async () => {
  const { clock, store, world, pieces } = await arrange();
  await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3 }));
  for (const [own, expected] of [
    [{}, 'before'],
    [{ reply: 'own' }, 'own'],
  ] as const) {
    const request_id = await submitLong(world);
    const report = (status: 'running' | 'success', result: object) =>
      clock.drive(world.gateway.reportResult({ request_id, agent_id: 'A', status, result: { ...result } }));
    await report('running', { reply: 'before' });
    pieces.count = 0;
    await report('success', { ...LARGE, ...own });
    expect(pieces.count).toBe(1);
    const { result } = JSON.parse(JSON.stringify(await read(world, request_id)));
    expect(result).toEqual({ ...LARGE, reply: expected });
  }
  await store.close();
});

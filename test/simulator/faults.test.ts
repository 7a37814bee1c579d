/** The faults of a world: each happens where, and as often as, the test says; all else is as without it. */
import { describe, expect, test } from 'vitest';
import { createClient } from '../../sdk/index.ts';
import { createSimulator, type World } from '../../server/simulator/index.ts';

const TASK = { task_type: 't', task_tags: ['pdf'], payload: {}, queue_timeout: 60 };

/** A client that tries each call once. */
function createSingle(world: World) {
  return createClient({ ...world.options, maxRetries: 0 });
}

/** Opens a session's stream, and returns how to read all of its text that has come. */
async function openStream(world: World, session = 's') {
  const { baseUrl, auth, fetch } = world.options;
  const url = `${baseUrl}/api/cli/events?cli_session_id=${session}`;
  const response = await fetch(new Request(url, { headers: { authorization: `Bearer ${auth}` } }));
  const pieces: string[] = [];
  const isCut = (async () => {
    try {
      for await (const piece of response.body ?? []) pieces.push(new TextDecoder().decode(piece));
      return false;
    } catch {
      return true;
    }
  })();
  return { text: () => pieces.join(''), isCut, events: () => pieces.join('').match(/^id: /gm)?.length ?? 0 };
}

/** Ends a task with success for the session. */
async function endTask(world: World): Promise<void> {
  await createSingle(world).submitTask({ ...TASK, cli_session_id: 's' });
  await world.clock.advance(1);
}

describe('in place of an answer', () => {
  test.each([
    ['unauthorized', 401, '7'],
    ['too_many_streams', 429, '7'],
    ['busy', 503, '7'],
  ] as const)(
    '%s: a problem as the gateway has it, as often as it is asked for',
    async (fault, status, after) => {
      const world = createSimulator();
      const client = createSingle(world);
      const { request_id } = await client.submitTask(TASK);
      world.faults.add({ fault, operation: 'getTask', times: 2, retry_after: 7 });
      for (let n = 0; n < 2; n += 1) {
        await expect(client.getTask(request_id)).rejects.toMatchObject({ status, code: fault });
      }
      expect((await client.getTask(request_id)).status).toBe('pending');
      expect(world.faults.list()).toEqual([]);
      const refused = JSON.parse(
        world
          .transcript()
          .split('\n')
          .find((line) => line.includes(`"status":${status}`)) ?? '{}',
      );
      expect(refused.headers['retry-after'] ?? null).toBe(after);
    },
  );

  test('no_response: nothing was done, and the SDK sends it again', async () => {
    const world = createSimulator();
    world.faults.add({ fault: 'no_response', times: 1 });
    await expect(createSingle(world).submitTask(TASK)).rejects.toMatchObject({ code: 'connection_failed' });
    world.faults.add({ fault: 'no_response', times: 1 });
    await world.clock.runUntil(createClient({ ...world.options }).submitTask(TASK));
    const admin = createClient({ ...world.options, adminAuth: world.adminAuth });
    expect((await admin.listTasks()).tasks).toHaveLength(1);
  });

  test('lose_response: it was done, and a repeat with its key finds it', async () => {
    const world = createSimulator();
    const client = createSingle(world);
    world.faults.add({ fault: 'lose_response', operation: 'submitTask', times: 1 });
    const keyed = { idempotencyKey: 'k' };
    await expect(client.submitTask(TASK, keyed)).rejects.toMatchObject({ code: 'connection_failed' });
    const { request_id } = await client.submitTask(TASK, keyed);
    const admin = createClient({ ...world.options, adminAuth: world.adminAuth });
    expect((await admin.listTasks()).tasks.map((task) => task.request_id)).toEqual([request_id]);
  });

  test('delay: the call waits in the world’s time', async () => {
    const world = createSimulator();
    world.faults.add({ fault: 'delay', operation: 'submitTask', seconds: 8, times: 1 });
    await world.clock.runUntil(createSingle(world).submitTask(TASK));
    expect(world.clock.monotonicMs()).toBe(8_000);
  });

  test('of another operation: nothing happens', async () => {
    const world = createSimulator();
    world.faults.add({ fault: 'busy', operation: 'getTask' });
    await createSingle(world).submitTask(TASK);
    expect(world.faults.list()).toMatchObject([{ id: 'fault-1', happened: 0 }]);
    expect([world.faults.remove('fault-1'), world.faults.remove('fault-1')]).toEqual([true, false]);
  });
});

describe('in a stream', () => {
  test('cut_stream: open streams at once, as many as it has times', async () => {
    const world = createSimulator();
    const streams = [await openStream(world, 'one'), await openStream(world, 'two')];
    await world.clock.settle();
    world.faults.add({ fault: 'cut_stream', times: 1 });
    expect(await streams[0]?.isCut).toBe(true);
    await world.agents.add({ tags: ['pdf'] });
    await createSingle(world).submitTask({ ...TASK, cli_session_id: 'two' });
    await world.clock.advance(1);
    expect(streams[1]?.events()).toBe(1);
  });

  test('cut_stream: after events, or at a byte of one', async () => {
    const world = createSimulator();
    await world.agents.add({ tags: ['pdf'] });
    world.faults.add({ fault: 'cut_stream', after_events: 2, times: 1 });
    const first = await openStream(world);
    for (let n = 0; n < 4; n += 1) await endTask(world);
    expect(await first.isCut).toBe(true);
    expect(first.events()).toBe(2);
    world.faults.add({ fault: 'cut_stream', after_bytes: 9, times: 1 });
    const second = await openStream(world);
    expect(await second.isCut).toBe(true);
    expect(second.text().split('\n\n').at(-1)).toHaveLength(9);
    const third = await openStream(world);
    await world.clock.settle();
    expect(third.events()).toBe(4);
  });

  test('repeat_event: an event comes twice', async () => {
    const world = createSimulator();
    await world.agents.add({ tags: ['pdf'] });
    world.faults.add({ fault: 'repeat_event', times: 1 });
    const stream = await openStream(world);
    await endTask(world);
    await endTask(world);
    expect(stream.events()).toBe(3);
  });

  test('a run of the SDK goes on through each of them', async () => {
    const world = createSimulator();
    await world.agents.add({ tags: ['pdf'], after: 20 });
    world.faults.add({ fault: 'cut_stream', after_bytes: 3, times: 1 });
    world.faults.add({ fault: 'repeat_event', times: 1 });
    world.faults.add({ fault: 'lose_response', operation: 'submitTask', times: 1 });
    const { result } = await world.clock.runUntil(createClient({ ...world.options }).runTask(TASK));
    expect(result).toEqual({ output: 'done' });
    expect(world.faults.list()).toEqual([]);
  });
});

test('store_outage: calls are 503 until it is over, and what is due then is done', async () => {
  const world = createSimulator();
  const client = createSingle(world);
  const { request_id } = await client.submitTask({ ...TASK, timeout: 30 });
  const { id } = world.faults.add({ fault: 'store_outage' });
  await expect(client.getTask(request_id)).rejects.toMatchObject({ status: 503, code: 'store_unavailable' });
  await world.clock.advance(60);
  world.faults.remove(id);
  await world.clock.advance(5);
  expect(await client.getTask(request_id)).toMatchObject({ status: 'failed', error_info: 'timeout' });
});

test('what is no fault is refused, in process as over HTTP, with what to give instead', () => {
  const world = createSimulator();
  const add = (fault: object) => () => world.faults.add(fault as never);
  expect(add({ fault: 'earthquake' })).toThrow(
    /`\/fault` must be one of unauthorized, too_many_streams, busy/,
  );
  expect(add({ fault: 'busy', time: 1 })).toThrow(
    /`\/time` is not known here; send any of fault, operation, times/,
  );
  expect(add({ fault: 'busy', operation: 'getTasks' })).toThrow(/`\/operation` must be one of .*submitTask/);
  expect(add({ fault: 'delay', seconds: -1, times: 0 })).toThrow(/`\/times` must .*; `\/seconds` must/);
  expect(world.faults.list()).toEqual([]);
});

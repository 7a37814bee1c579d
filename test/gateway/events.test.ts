/** What a reader of a session's stream keeps in memory. */
import { expect, test } from 'vitest';
import type { StreamItem } from '../../server/ports/gateway.ts';
import { collectGarbage } from '../harness/heap.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, buildSubmission, type World } from '../harness/world.ts';
import { useWorlds } from '../harness/worlds.ts';

const EVENTS = 20;

async function settleTasks(world: World): Promise<void> {
  await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: EVENTS }));
  for (let n = 0; n < EVENTS; n += 1) {
    const { request_id } = await world.gateway.submitTask(buildSubmission({ cli_session_id: 's' }));
    await world.gateway.cancelTask(request_id);
  }
}

describeEachStore('on %s', (_name, open) => {
  const start = useWorlds(open);

  test('a reader that pauses keeps its present event in memory, and none of the events before it', async () => {
    const world = await start();
    await settleTasks(world);
    const leave = new AbortController();
    const items = world.gateway
      .subscribeEvents('s', null, (item) => item, leave.signal)
      [Symbol.asyncIterator]();
    const passed: WeakRef<StreamItem>[] = [];
    // Read in a separate call, so that no event stays referenced by this function's stack.
    const read = async (): Promise<void> => {
      const { value } = await items.next();
      passed.push(new WeakRef(value as StreamItem));
    };
    for (let n = 0; n < EVENTS - 1; n += 1) await read();
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(passed.filter((item) => item.deref() !== undefined).length).toBeLessThanOrEqual(2);
    expect(passed).toHaveLength(EVENTS - 1);
    leave.abort();
    await items.return?.();
  });
});

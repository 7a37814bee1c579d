/**
 * A task of which the store has only one half is reported as damage, never as a task that was not submitted.
 */
import { expect, test } from 'vitest';
import { readTask } from '../../server/gateway/tasks/read-task.ts';
import { type Store, StoreDamaged } from '../../server/ports/store.ts';
import { buildInput, buildState, must, submissionOf } from '../engines/store-under-test.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { describeEachStore } from '../harness/stores.ts';

describeEachStore('half a task in %s', (_name, openStore) => {
  const put = async (store: Store, half: 'input' | 'task'): Promise<void> => {
    const { writes } = submissionOf(buildInput('t1'), buildState(store));
    must(await store.commit({ writes: writes.filter(({ kind }) => kind === half) }));
  };

  test.each(['input', 'task'] as const)('the %s alone is an error that names the task', async (half) => {
    const store = await openStore(createFakeClock());
    await put(store, half);
    const reading = readTask(store, 't1');
    await expect(reading).rejects.toThrow(StoreDamaged);
    await expect(reading).rejects.toThrow(
      /damaged: it has the (input|state) of task t1 but not its (state|input)/,
    );
    await store.close();
  });

  test('that is complete a moment later is returned complete, and an absent task as absent', async () => {
    const store = await openStore(createFakeClock());
    await put(store, 'input');
    let reads = 0;
    const late: Store = {
      ...store,
      async get(kind, id) {
        reads += 1;
        const isLast = reads === 2;
        const found = await store.get(kind, id);
        if (isLast) await put(store, 'task');
        return found;
      },
    };
    expect((await readTask(late, 't1'))?.task.request_id).toBe('t1');
    expect(await readTask(store, 't2')).toBeUndefined();
    await store.close();
  });
});

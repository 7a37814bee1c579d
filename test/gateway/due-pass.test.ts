/** One pass over what is due: a part that fails stops no other part. */
import { describe, expect, test } from 'vitest';
import type { TaskState } from '../../server/domain/task.ts';
import { createDispatcher } from '../../server/gateway/dispatch/dispatcher.ts';
import { createDuePass } from '../../server/gateway/dispatch/due-pass.ts';
import { createSweepTimes } from '../../server/gateway/dispatch/sweep-times.ts';
import {
  type Lease,
  type Ref,
  type Store,
  StoreDamaged,
  StoreUnavailable,
} from '../../server/ports/store.ts';
import { buildState } from '../engines/store-under-test.ts';
import { SILENT } from '../harness/silent-log.ts';

type Looked = { readonly refs: string[]; readonly rescheduled: unknown[] };

/** A pass over these refs. `fail` is called before each look; what it throws is how that look fails. */
function createPass(refs: readonly Ref[], fail: (id: string) => void, refresh: () => Promise<void>) {
  const looked: Looked = { refs: [], rescheduled: [] };
  const errors: object[] = [];
  const look = async (id: string, _lease: Lease): Promise<void> => {
    fail(id);
    looked.refs.push(id);
  };
  const store = {
    nowMs: () => 1_000,
    health: () => ({ ok: true }),
    takeDue: async () => refs.map((ref) => ({ ref, lease: `lease of ${ref}` })),
  } as Partial<Store> as Store;
  const runDuePass = createDuePass({
    store,
    log: { ...SILENT, error: (fields, message) => void errors.push({ ...fields, message }) },
    commits: {
      reschedule: async (due: unknown) => {
        looked.rescheduled.push(due);
        return { ok: true, revision: 'r' };
      },
    } as never,
    agentIndex: { refresh, whenRefreshed: () => refresh().catch(() => undefined) } as never,
    dispatcher: { lookAtTask: look },
    sweeper: { lookAtAgent: look, trim: async () => 0 },
    sweepTimes: createSweepTimes(),
  });
  return { runDuePass, looked, errors };
}

test('A task waits for the pace before each look but the first, so that thousands hold up no call.', async () => {
  const store = { nowMs: () => 1_000 } as Store;
  const states: Readonly<Record<string, TaskState>> = {
    'is new': buildState(store, { deadlineMs: 2_000 }),
    'is late': buildState(store, { deadlineMs: 1_000 }),
    'waits for an agent': buildState(store, { waiting: true, deadlineMs: 2_000 }),
    runs: buildState(store, { status: 'running', agent_id: 'A', deadlineMs: 2_000 }),
  };
  const paced: string[] = [];
  for (const [id, value] of Object.entries(states)) {
    const looking = createDispatcher({
      store: { ...store, get: async () => ({ value, revision: 'r' }) },
      keepPace: () => Promise.reject(new Error('paced')),
      agentIndex: { whenRefreshed: () => Promise.reject(new Error('looked at')) },
    } as never).lookAtTask(id, 'lease' as Lease);
    await looking.catch(({ message }: Error) => message === 'paced' && paced.push(id));
  }
  expect(paced).toEqual(['is late', 'waits for an agent', 'runs']);
});

const REFS: readonly Ref[] = ['task:t1', 'agent:A', 'task:t2'];

describe('a pass', () => {
  test('goes on with an older copy of the agents', async () => {
    const refresh = () => Promise.reject(new StoreUnavailable('the agents cannot be read'));
    const { runDuePass, looked, errors } = createPass(REFS, () => undefined, refresh);
    expect(await runDuePass()).toBe(3);
    expect(await runDuePass()).toBe(3);
    expect(looked.refs).toEqual(['t1', 'A', 't2', 't1', 'A', 't2']);
    // The index logs it.
    expect(errors).toEqual([]);
  });

  test.each([
    ['fails', new SyntaxError('damaged')],
    ['is damaged', new StoreDamaged('damaged')],
  ])('logs an entry that %s by its ref, postpones it and does the others', async (_how, error) => {
    const fail = (id: string): void => {
      if (id === 't1') throw error;
    };
    const { runDuePass, looked, errors } = createPass(REFS, fail, async () => undefined);
    expect(await runDuePass()).toBe(3);
    expect(looked.refs).toEqual(['A', 't2']);
    expect(errors).toMatchObject([{ ref: 'task:t1' }]);
    expect(looked.rescheduled).toEqual([[{ ref: 'task:t1', atMs: 31_000, lease: 'lease of task:t1' }]]);
  });

  test('looks less and less often at an entry that goes on failing, and logs it once', async () => {
    let isDamaged = true;
    const fail = (id: string): void => {
      if (id === 't1' && isDamaged) throw new SyntaxError('damaged');
    };
    const { runDuePass, looked, errors } = createPass(['task:t1'], fail, async () => undefined);
    for (let n = 0; n < 10; n += 1) await runDuePass();
    const pausesMs = (looked.rescheduled as { atMs: number }[][]).map(([due]) => (due?.atMs ?? 0) - 1_000);
    expect(pausesMs.slice(0, 4)).toEqual([30_000, 60_000, 120_000, 240_000]);
    expect(pausesMs.slice(7)).toEqual([3_600_000, 3_600_000, 3_600_000]);
    expect(errors).toHaveLength(1);
    isDamaged = false;
    await runDuePass();
    isDamaged = true;
    await runDuePass();
    expect(errors).toHaveLength(2);
    expect(looked.rescheduled.at(-1)).toMatchObject([{ atMs: 31_000 }]);
  });

  test('tries every entry in an outage, then throws it', async () => {
    const fail = (id: string): void => {
      if (id !== 't2') throw new StoreUnavailable('out');
    };
    const { runDuePass, looked } = createPass(REFS, fail, async () => undefined);
    await expect(runDuePass()).rejects.toThrow('out');
    expect(looked.refs).toEqual(['t2']);
    expect(looked.rescheduled).toEqual([]);
  });
});

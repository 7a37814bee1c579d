/** The wall clock and the embedded engine: looked at once, at opening; after it was set back nothing waits for it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keepInMemory } from '../../server/engines/embedded/open.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { createDisk } from './embedded-under-test.ts';
import { finish, register, submit, until } from './store-under-test.ts';

const START_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;

let clock: FakeClock;
let memory: ReturnType<typeof keepInMemory>;
let opened: Store[];
beforeEach(() => {
  clock = createFakeClock();
  memory = keepInMemory();
  opened = [];
});
afterEach(async () => {
  for (const store of opened) await store.close();
  memory.close();
});

async function open(wallMs: () => number, openStorage = memory.open): Promise<Store> {
  const store = await createEmbeddedStore({ openStorage, clock, log: SILENT, wallMs });
  opened.push(store);
  return store;
}

test('the wall clock is looked at once, at opening, also when the store goes out and comes back', async () => {
  let looks = 0;
  const disk = createDisk();
  const wallMs = () => {
    looks += 1;
    return START_MS + looks * DAY_MS;
  };
  const store = await open(wallMs, async () => disk.wrap(await memory.open()));
  const startMs = store.nowMs();
  await register(store, 'a1');
  await finish(store, 't1');
  disk.fail('lost');
  await expect(submit(store, 't2')).rejects.toThrow(/could not write/);
  disk.mend();
  await until(
    'it is back',
    () => store.health().ok,
    () => clock.advance(100),
  );
  await submit(store, 't3');
  await store.takeDue(10);
  expect(looks).toBe(1);
  expect(store.nowMs()).toBe(startMs + clock.nowMs());
});

test('open tasks that were stored before the clock was set back are due at once', async () => {
  const before = await open(() => START_MS);
  await submit(before, 't1');
  await submit(before, 't2');
  await before.close();
  const after = await open(() => START_MS - DAY_MS);
  const due = (await after.takeDue(10)).map(({ ref }) => ref);
  expect(due.sort()).toEqual(['task:t1', 'task:t2']);
});

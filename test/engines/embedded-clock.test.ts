/**
 * The wall clock and the embedded engine: its time is taken once, at opening, and no task waits for a clock
 * that was set back.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keepInMemory } from '../../server/engines/embedded/storage/memory-storage.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { createDisk } from './embedded-under-test.ts';
import { finish, register, submit, until } from './store-under-test.ts';

const START_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;

let clock: FakeClock;
let openMemory: ReturnType<typeof keepInMemory>;
let opened: Store[];
beforeEach(() => {
  clock = createFakeClock();
  openMemory = keepInMemory();
  opened = [];
});
afterEach(async () => {
  for (const store of opened) await store.close();
});

async function open(wallMs: () => number, openStorage = openMemory): Promise<Store> {
  const store = await createEmbeddedStore({ openStorage, clock, log: SILENT, wallMs });
  opened.push(store);
  return store;
}

test('a step of the wall clock is left out, even when the store goes out and recovers, and is a warning', async () => {
  let stepMs = 0;
  const disk = createDisk();
  const wallMs = () => START_MS + clock.nowMs() + stepMs;
  const store = await open(wallMs, async () => disk.wrap(await openMemory()));
  const startMs = store.nowMs();
  stepMs = DAY_MS;
  await register(store, 'a1');
  await finish(store, 't1');
  disk.fail('lost');
  await expect(submit(store, 't2')).rejects.toThrow(/could not write/);
  disk.mend();
  await until(
    'the store has recovered',
    () => store.health().ok,
    () => clock.advance(100),
  );
  await submit(store, 't3');
  await store.takeDue(10);
  expect(store.nowMs()).toBe(startMs + clock.nowMs());
  expect(store.health()).toMatchObject({ ok: true, warning: expect.stringContaining('86400 s forward') });
  stepMs = -90_000;
  expect(store.health()).toMatchObject({ ok: true, warning: expect.stringContaining('90 s back') });
  stepMs = 60_000;
  expect(store.health()).toEqual({ ok: true });
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

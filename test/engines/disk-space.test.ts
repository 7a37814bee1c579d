/**
 * A disk that fills: what each stage refuses and what goes on to the last, by readings that the test gives.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDiskSpace, type Space } from '../../server/engines/embedded/disk-space.ts';
import { keepInMemory } from '../../server/engines/embedded/storage/memory-storage.ts';
import { openKeyv, type StorageAdapter } from '../../server/engines/embedded/storage/ordered-storage.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Log } from '../../server/ports/log.ts';
import { type Store, StoreRefused } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { begin, changeOutput, readPieces } from './output-calls.ts';
import {
  assign,
  buildAgent,
  endingOf,
  must,
  readState,
  register,
  submit,
  writeTask,
} from './store-under-test.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

let clock: FakeClock;
let space: Space;
let readings: number;
let lines: string[];
let isLogShort: boolean[];
let store: Store;
let log: Log;
const openMemory = keepInMemory();

beforeEach(async () => {
  clock = createFakeClock();
  space = { freeBytes: 10 * GIB, totalBytes: 100 * GIB };
  readings = 0;
  lines = [];
  isLogShort = [];
  const note = (_fields: object, message: string): void => void lines.push(message);
  log = { ...SILENT, info: note, error: note };
  store = await createEmbeddedStore({ openStorage, clock, log });
});
afterEach(() => store.close());

async function openStorage() {
  const adapter = (await openMemory()).store as unknown as StorageAdapter;
  return openKeyv({
    ...adapter,
    async readSpace() {
      readings += 1;
      return space;
    },
    keepLogShort: (isShort) => void isLogShort.push(isShort),
  });
}

/** The disk has this much space, and the store has looked. */
async function leave(freeBytes: number): Promise<void> {
  space = { ...space, freeBytes };
  await clock.advance(1_000);
  await store.takeDue(1);
}

let ids = 0;
/** Submits and assigns a task, while there is space; returns the batch that ends it. */
async function start() {
  ids += 1;
  const id = `task-${ids}`;
  await register(store, `agent-${ids}`);
  await submit(store, id);
  must(await assign(store, id, `agent-${ids}`));
  return { id, ending: await endingOf(store, id) };
}

describe('a disk with less space than', () => {
  test('128 MiB takes no new tasks and agents, and everything that ends or changes', async () => {
    const { id, ending } = await start();
    await leave(128 * MIB);
    await submit(store, 'last');
    await leave(128 * MIB - 1);
    await expect(submit(store, 'more')).rejects.toThrow(StoreRefused);
    await expect(
      store.commit({ writes: [{ kind: 'agent', id: 'more', expect: 'absent', value: buildAgent('more') }] }),
    ).rejects.toThrow(/nearly full: it takes no new tasks, agents and output now/);
    expect(store.health()).toMatchObject({
      ok: true,
      diskStage: 1,
      warning: expect.stringMatching(/nearly full/),
    });
    must(await store.commit(ending));
    const last = await readState(store, 'last');
    must(await store.commit(writeTask('last', last, { ...last.value, result: { a: 'x'.repeat(MIB) } })));
    expect((await readState(store, id)).value.status).toBe('success');
  });

  test('128 MiB takes no output but what is needed, to the last', async () => {
    const { id } = await start();
    await begin(store, id, 'w', ['{"text":"a"}']);
    const pieces = ['{"question":{}}'];
    for (const [from, freeBytes] of [
      [1, 128 * MIB - 1],
      [2, MIB],
    ] as const) {
      await leave(freeBytes);
      const by = { writer: 'w', from };
      await expect(store.appendOutput({ request_id: id, pieces, by })).rejects.toThrow(StoreRefused);
      await expect(changeOutput(store, id, { append: { pieces, by } })).rejects.toThrow(StoreRefused);
      must(await changeOutput(store, id, { append: { pieces, by, isNeeded: true } }));
      must(await changeOutput(store, id, { append: { pieces } }));
      // It asks how many are stored, before the question is committed.
      expect(await store.appendOutput({ request_id: id, pieces: [], by })).toMatchObject({ ok: true });
    }
    expect(await readPieces(store, id)).toHaveLength(5);
    must(await store.commit(await endingOf(store, id)));
  });

  test('32 MiB takes no results above 64 KiB either, and small ones as before', async () => {
    const { ending } = await start();
    await submit(store, 'large');
    await leave(32 * MIB - 1);
    const before = await readState(store, 'large');
    const withResult = (chars: number) =>
      store.commit(writeTask('large', before, { ...before.value, result: { a: 'x'.repeat(chars) } }));
    await expect(withResult(70_000)).rejects.toThrow(/nearly full: it takes no results above 64 KiB now/);
    must(await withResult(60_000));
    must(await store.commit(ending));
  });

  test('an eighth and 1/32 of a small file system', async () => {
    space = { freeBytes: 0, totalBytes: 64 * MIB };
    await leave(8 * MIB);
    expect(store.health()).toEqual({ ok: true });
    await leave(8 * MIB - 1);
    expect(store.health()).toMatchObject({ diskStage: 1 });
    await leave(2 * MIB - 1);
    expect(store.health()).toMatchObject({ diskStage: 2 });
  });
});

test('each change of the stage is one line, and keeps the log of the database short or long', async () => {
  for (const mib of [200, 100, 90, 20, 10, 35, 33, 100, 130, 140, 200, 300]) await leave(mib * MIB);
  expect(lines).toEqual([
    'the disk of the store is nearly full: new tasks, agents and output are refused',
    'the disk of the store is nearly full: new tasks, agents and output, and results above 64 KiB, are refused',
    'the disk of the store is nearly full: new tasks, agents and output are refused',
    'the disk of the store has space again: everything is accepted',
  ]);
  expect(isLogShort).toEqual([false, true, true, true, false]);
});

test('space is read once a second however many calls come, and what is written meanwhile is counted', async () => {
  await leave(200 * MIB);
  const before = readings;
  for (let n = 0; n < 100; n += 1) await submit(store, `many-${n}`);
  expect(readings).toBe(before);
  const diskSpace = createDiskSpace({ clock, log, read: async () => space, onStage: () => undefined });
  await diskSpace.update();
  expect(diskSpace.stage()).toBe(0);
  diskSpace.noteWritten(80 * MIB);
  expect(diskSpace.stage()).toBe(1);
  space = { ...space, freeBytes: 300 * MIB };
  await diskSpace.update();
  expect(diskSpace.stage()).toBe(0);
});

test('a disk of which nothing is known has space', async () => {
  const diskSpace = createDiskSpace({
    clock,
    log,
    onStage: () => undefined,
    read: () => Promise.reject(new Error('no such call')),
  });
  await diskSpace.update();
  diskSpace.noteWritten(GIB);
  expect(diskSpace.stage()).toBe(0);
});

/**
 * The tails of feeds that are being read: which events memory has, and that a reader gets the same events
 * with them as from the file alone, through trims, failed writes and readers that stand still.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { yieldToEventLoop } from '../../server/async/waiting.ts';
import {
  createFeedEntry,
  createFeedTails,
  type FeedEntry,
} from '../../server/engines/embedded/memory/feed-tails.ts';
import { keepInMemory } from '../../server/engines/embedded/storage/memory-storage.ts';
import { openKeyv, type StorageAdapter } from '../../server/engines/embedded/storage/ordered-storage.ts';
import { eventKey } from '../../server/engines/embedded/storage/row-keys.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import { type FeedItem, FeedTrimmed, type Store } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { createDisk } from './embedded-under-test.ts';
import {
  createRandom,
  drawSeed,
  endingOf,
  finish,
  follow,
  idsOf,
  must,
  NEVER,
  readFeed,
  submit,
  until,
} from './store-under-test.ts';

describe('tails', () => {
  function entry(session: string, number: number): FeedEntry {
    const cursor = `${number}-0`;
    return createFeedEntry(eventKey(session, cursor) ?? '', cursor, { number, request_id: `t${number}` });
  }
  const START = 'feed/s/0';
  const numbersOf = (entries: readonly FeedEntry[] | undefined) => entries?.map(({ number }) => number);

  test('have the events since the reader came, each when it is durable', () => {
    let durable = 0;
    const tails = createFeedTails(
      () => true,
      (seq) => seq <= durable,
    );
    expect(tails.read('s', START, 0)).toBeUndefined();
    tails.add('s', entry('s', 1), 11);
    tails.add('s', entry('s', 2), 12);
    expect(numbersOf(tails.read('s', START, 0))).toEqual([]);
    durable = 11;
    expect(numbersOf(tails.read('s', START, 0))).toEqual([1]);
    durable = 12;
    expect(numbersOf(tails.read('s', START, 0))).toEqual([1, 2]);
    expect(numbersOf(tails.read('s', entry('s', 1).next, 1))).toEqual([2]);
    expect(numbersOf(tails.read('s', entry('s', 2).next, 2))).toEqual([]);
    expect(tails.read('other', 'feed/other/0', 0)).toBeUndefined();
  });

  test('leave a reader to the file that has not read what comes before them', () => {
    const tails = createFeedTails(
      () => true,
      () => true,
    );
    for (let number = 5; number <= 100; number += 1) tails.add('s', entry('s', number), number);
    expect(tails.read('s', entry('s', 3).next, 3)).toBeUndefined();
    expect(tails.read('s', entry('s', 35).next, 35)).toBeUndefined();
    expect(numbersOf(tails.read('s', entry('s', 36).next, 36))).toHaveLength(64);
    tails.drop('s');
    expect(tails.read('s', entry('s', 100).next, 100)).toBeUndefined();
    // After all events were trimmed long ago, numbers begin again.
    tails.add('s', createFeedEntry(entry('s', 200).key, '200-0', { number: 1, request_id: 't' }), 101);
    expect(tails.read('s', entry('s', 100).next, 100)).toBeUndefined();
  });

  test('end with an event that comes while there is no reader', () => {
    let isRead = true;
    const tails = createFeedTails(
      () => isRead,
      () => true,
    );
    tails.add('s', entry('s', 1), 1);
    isRead = false;
    tails.add('s', entry('s', 2), 2);
    expect(tails.read('s', entry('s', 1).next, 1)).toBeUndefined();
    isRead = true;
    tails.add('s', entry('s', 3), 3);
    expect(tails.read('s', entry('s', 1).next, 1)).toBeUndefined();
    expect(numbersOf(tails.read('s', entry('s', 2).next, 2))).toEqual([3]);
  });

  test('of all sessions together are bounded: those go first that got no event for longest', () => {
    const tails = createFeedTails(
      () => true,
      () => true,
    );
    const sessions = Array.from({ length: 20_000 }, (_, n) => `s${n}`);
    for (const session of sessions) tails.add(session, entry(session, 1), 1);
    const kept = sessions.filter((session) => tails.read(session, `feed/${session}/0`, 0) !== undefined);
    expect(kept.length).toBeGreaterThan(1_000);
    expect(kept.length).toBeLessThan(10_000);
    expect(kept).toEqual(sessions.slice(-kept.length));
  });
});

describe('a reader at the end of its feed', () => {
  const disk = createDisk();
  let feedReads: string[];
  let store: Store;
  let openMemory: ReturnType<typeof keepInMemory>;
  let clock: ReturnType<typeof createFakeClock>;
  beforeEach(async () => {
    openMemory = keepInMemory();
    clock = createFakeClock();
    feedReads = [];
    store = await createEmbeddedStore({ openStorage, clock, log: SILENT });
  });
  afterEach(async () => {
    disk.mend();
    disk.release();
    await store.close();
  });

  async function openStorage() {
    const adapter = (await openMemory()).store as unknown as StorageAdapter;
    const note = (key: string) => (key.startsWith('feed/') ? feedReads.push(key) : 0);
    return disk.wrap(
      openKeyv({
        ...adapter,
        get: (async (key: string) => {
          note(key);
          return await adapter.get(key);
        }) as StorageAdapter['get'],
        async scan(from, to, limit, reverse) {
          note(from);
          return await adapter.scan(from, to, limit, reverse);
        },
      }),
    );
  }

  /** Reads on and on; stands still while `pause` is not over. */
  function readOn(pause: { over: Promise<void> } = { over: Promise.resolve() }) {
    const items: FeedItem[] = [];
    const ended = (async () => {
      for await (const item of store.feed('s', null, NEVER)) {
        items.push(item);
        await pause.over;
      }
    })();
    return { items, ended };
  }

  test('gets an event without a read of the file', async () => {
    const { items } = readOn();
    await finish(store, 't1');
    await until('it has the first event', () => items.length === 1);
    feedReads.length = 0;
    for (let n = 2; n <= 100; n += 1) await finish(store, `t${n}`);
    await until('it has all events', () => items.length === 100);
    expect(feedReads).toEqual([]);
    expect(idsOf(items)).toEqual(Array.from({ length: 100 }, (_, n) => `t${n + 1}`));
    expect(await readFeed(store, 's', null, 100)).toEqual(items);
  });

  test('gets none of a group that is not durable, while the group before it is', async () => {
    const { items } = readOn();
    for (const id of ['t1', 't2']) await submit(store, id);
    const endings = [await endingOf(store, 't1'), await endingOf(store, 't2')] as const;
    disk.hold();
    const first = store.commit(endings[0]);
    await until('the first write is held', disk.isHolding);
    const second = store.commit(endings[1]);
    disk.release();
    disk.hold();
    must(await first);
    await until('the second write is held', disk.isHolding);
    for (let ticks = 0; ticks < 20; ticks += 1) await yieldToEventLoop();
    expect(idsOf(items)).toEqual(['t1']);
    disk.release();
    must(await second);
    await until('it has both', () => items.length === 2);
  });

  test('gets none of a write that failed', async () => {
    const { items } = readOn();
    await finish(store, 't1');
    await until('it has the first event', () => items.length === 1);
    await submit(store, 't2');
    const ending = await endingOf(store, 't2');
    disk.hold();
    disk.fail('lost');
    const committed = follow(store.commit(ending));
    await until('the write is held', disk.isHolding);
    for (let ticks = 0; ticks < 20; ticks += 1) await yieldToEventLoop();
    expect(items).toHaveLength(1);
    disk.release();
    await until('it has failed', () => committed.now() === 'failed');
    disk.mend();
    await until(
      'the store is back',
      () => store.health().ok,
      () => clock.advance(50),
    );
    expect((await store.get('task', 't2'))?.value.status).toBe('pending');
    await finish(store, 't3');
    await until('it has the next event', () => items.length === 2);
    expect(idsOf(items)).toEqual(['t1', 't3']);
  });

  test('that stood still gets what memory has dropped from the file, and learns what was trimmed', async () => {
    const pause = Promise.withResolvers<void>();
    const { items, ended } = readOn({ over: pause.promise });
    for (let n = 1; n <= 200; n += 1) await finish(store, `t${n}`);
    expect(items).toHaveLength(1);
    const late = readOn({ over: pause.promise });
    await until('it has one', () => late.items.length === 1);
    pause.resolve();
    await until('it has all', () => items.length === 200 && late.items.length === 200);
    expect(late.items).toEqual(items);

    const again = Promise.withResolvers<void>();
    const slow = { over: again.promise };
    const trimmed = readOn(slow);
    await until('it has one', () => trimmed.items.length === 1);
    const rejection = expect(trimmed.ended).rejects.toThrow(FeedTrimmed);
    for (let n = 201; n <= 240; n += 1) await finish(store, `t${n}`);
    while ((await store.trim({ keepTasksMs: 1e9, sessionEventsMax: 3, outputBytesMax: 2 ** 28 }, 500)) > 0);
    again.resolve();
    await rejection;
    await until('the others have all', () => items.length === 240);
    expect(follow(ended).now()).toBe('waiting');
  });

  test('gets what is in the file, in any order of readers, events and outages', async () => {
    const random = createRandom(drawSeed());
    const readers = [readOn()];
    let count = 0;
    for (let step = 0; step < 250; step += 1) {
      const roll = random.next(20);
      if (roll === 0) readers.push(readOn());
      else if (roll === 1) {
        disk.fail('lost');
        await finish(store, `lost${step}`).catch(() => undefined);
        disk.mend();
        await until(
          'the store is back',
          () => store.health().ok,
          () => clock.advance(50),
        );
      } else if (roll === 2) await finish(store, `other${step}`, 'other');
      else {
        const ids = Array.from({ length: 1 + random.next(4) }, (_, n) => `t${step}-${n}`);
        for (const id of ids) await submit(store, id);
        const endings = await Promise.all(ids.map((id) => endingOf(store, id)));
        for (const result of await Promise.all(endings.map((ending) => store.commit(ending)))) must(result);
        count += ids.length;
      }
    }
    const stored = await readFeed(store, 's', null, count);
    for (const { items } of readers) {
      await until(`seed ${random.seed}: it has all`, () => items.length === count);
      expect(items, `seed ${random.seed}`).toEqual(stored);
    }
  });
});

/**
 * A disk that fails or is stuck: every call ends in time, nothing is half done, and what was durable stays.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { type Store, StoreUnavailable } from '../../server/ports/store.ts';
import { append, begin, readPieces } from './output-calls.ts';
import {
  agentRef,
  assign,
  type Disk,
  endingOf,
  finish,
  follow,
  idsOf,
  must,
  NEVER,
  readFeed,
  readState,
  register,
  settle,
  submit,
  taskRef,
  until,
  writeTask,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

export function describeOutages(context: SuiteContext): void {
  const { store, underTest, reopen } = context;
  let disk: Disk;
  beforeEach(() => {
    disk = context.disk();
  });
  /**
   * Creates a function that advances the store's clock by the real time since its last call, times `speed`.
   */
  function createTimePasser(speed = 1): () => Promise<void> {
    let lastMs = performance.now();
    return async () => {
      const nowMs = performance.now();
      const passedMs = Math.ceil((nowMs - lastMs) * speed);
      lastMs = nowMs;
      await underTest().advance(passedMs);
    };
  }
  /**
   * Waits for the end of an outage. Time advances meanwhile, but no faster than for the thread and the disk
   * that the store waits for: else their timeouts would expire before they could begin.
   */
  const recovered = () => until('the store is back', () => store().health().ok, createTimePasser());

  /** The error of a call that may wait a while for the end of the outage; time advances meanwhile. */
  async function awaitRejection(call: Promise<unknown>): Promise<unknown> {
    let rejection: unknown;
    let isOver = false;
    const end = (error?: unknown): void => {
      rejection = error;
      isOver = true;
    };
    call.then(() => end(), end);
    await until('the call has ended', () => isOver, createTimePasser(5));
    return rejection;
  }

  describe('a write that fails', () => {
    test('rejects its commit and all later ones, and none of them is there afterwards', async () => {
      await submit(store(), 'kept');
      const kept = await readState(store(), 'kept');
      disk.hold();
      const lost = Array.from({ length: 10 }, (_, index) => submit(store(), `lost${index}`));
      lost.push(
        store()
          .commit(writeTask('kept', kept, { ...kept.value, progress: 9 }))
          .then(must),
      );
      for (const call of lost) call.catch(() => undefined);
      await until('the write is held', disk.isHolding);
      disk.fail('lost');
      disk.release();
      for (const call of lost) expect(await awaitRejection(call)).toBeInstanceOf(StoreUnavailable);
      disk.mend();
      await recovered();
      expect(await store().get('task', 'lost0')).toBeUndefined();
      expect(await readState(store(), 'kept')).toEqual(kept);
      await submit(store(), 'lost0');
    });

    test('but was applied is found afterwards with everything that belongs to it', async () => {
      await register(store(), 'A');
      await submit(store(), 't1');
      must(await assign(store(), 't1', 'A'));
      const ending = await endingOf(store(), 't1');
      disk.fail('applied');
      expect(await awaitRejection(store().commit(ending))).toBeInstanceOf(StoreUnavailable);
      disk.mend();
      await recovered();
      expect((await readState(store(), 't1')).value.status).toBe('success');
      expect((await store().getAgentStatus('A'))?.slots).toBe(0);
      expect(idsOf(await readFeed(store(), 's', null, 1))).toEqual(['t1']);
      expect(await store().commit(ending)).toMatchObject({ conflict: 'revision' });
    });

    test('leaves output as if it was appended or not: the same call again has its pieces stored once', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w', ['0']);
      for (const [from, how] of (['lost', 'applied', 'lost'] as const).entries()) {
        const call = () => append(store(), 't1', 'w', 1 + from, [String(1 + from)]);
        disk.fail(how);
        expect(await awaitRejection(call())).toBeInstanceOf(StoreUnavailable);
        disk.mend();
        await recovered();
        expect(await readPieces(store(), 't1')).toHaveLength(how === 'lost' ? 1 + from : 2 + from);
        expect(await call()).toEqual({ ok: true, next: 2 + from, last: 2 + from, isFull: false });
      }
      expect(await readPieces(store(), 't1')).toEqual(['1:0', '2:1', '3:2', '4:3']);
    });

    test('makes every call throw at once that writes, until the store recovers, and health says why', async () => {
      await register(store(), 'A');
      await submit(store(), 't1');
      expect(store().health()).toEqual({ ok: true });
      disk.fail('lost');
      expect(await awaitRejection(submit(store(), 't2'))).toBeInstanceOf(StoreUnavailable);
      const health = store().health();
      expect(health.ok).toBe(false);
      expect(!health.ok && health.outage.message.length).toBeGreaterThan(10);
      for (const call of writesOf(store())) await expect(call()).rejects.toThrow(StoreUnavailable);
      expect(store().nowMs()).toBeGreaterThan(0);
      disk.mend();
      await recovered();
      for (const call of [...writesOf(store()), ...readsOf(store())]) await call();
    });

    test('leaves what is stored readable where the store says so, and makes every read throw elsewhere', async () => {
      await register(store(), 'A');
      await finish(store(), 't1');
      disk.fail('lost');
      expect(await awaitRejection(submit(store(), 't2'))).toBeInstanceOf(StoreUnavailable);
      if (disk.readsWaitForWrites) {
        for (const call of readsOf(store())) await expect(call()).rejects.toThrow(StoreUnavailable);
        return;
      }
      await until('it reads again', () => isReadable(store()), createTimePasser());
      for (const call of writesOf(store())) await expect(call()).rejects.toThrow(StoreUnavailable);
      for (const call of readsOf(store())) await call();
      expect((await readState(store(), 't1')).value.status).toBe('success');
      expect(await store().get('task', 't2')).toBeUndefined();
      expect(idsOf(await readFeed(store(), 's', null, 1))).toEqual(['t1']);
      const { cursor, changed } = await store().readAgentChanges(null);
      expect(changed).toHaveLength(1);
      disk.mend();
      await recovered();
      expect(await store().readAgentChanges(cursor)).toMatchObject({ reset: true });
      await finish(store(), 't2');
      expect(idsOf(await readFeed(store(), 's', null, 2))).toEqual(['t1', 't2']);
    });

    test('keeps the store out until the disk takes writes again', async () => {
      disk.fail('lost');
      expect(await awaitRejection(submit(store(), 't1'))).toBeInstanceOf(StoreUnavailable);
      for (let seconds = 0; seconds < 20; seconds += 1) {
        await underTest().advance(1_000);
        expect(store().health().ok).toBe(false);
      }
      disk.mend();
      await recovered();
      await submit(store(), 't1');
      await reopen();
      expect(await store().get('task', 't1')).toBeDefined();
    });

    test('notifies every watcher after the recovery, and resets the readers of changes', async () => {
      await register(store(), 'A');
      const { cursor } = await store().readAgentChanges(null);
      const stop = new AbortController();
      const watchers = [taskRef('t1'), agentRef('A'), 'due' as const].map((topic) =>
        store().watch(topic, stop.signal)[Symbol.asyncIterator](),
      );
      for (const watcher of watchers) await watcher.next();
      const notifications = watchers.map((watcher) => follow(watcher.next()));
      disk.fail('lost');
      expect(await awaitRejection(submit(store(), 't1'))).toBeInstanceOf(StoreUnavailable);
      disk.mend();
      await recovered();
      await until('all are notified', () =>
        notifications.every((notification) => notification.now() === 'done'),
      );
      expect(await store().readAgentChanges(cursor)).toMatchObject({ reset: true, removed: [] });
      stop.abort();
    });

    test('lets a feed continue where it was, without gap or repeat', async () => {
      await finish(store(), 't1');
      const reading = readFeed(store(), 's', null, 4);
      await submit(store(), 't2');
      const ending = await endingOf(store(), 't2');
      disk.fail('applied');
      expect(await awaitRejection(store().commit(ending))).toBeInstanceOf(StoreUnavailable);
      disk.mend();
      await recovered();
      await finish(store(), 't3');
      await finish(store(), 't4');
      expect(idsOf(await reading)).toEqual(['t1', 't2', 't3', 't4']);
    });

    test('never leads to a cursor or a revision that is issued twice', async () => {
      const revisions: string[] = [];
      for (let round = 0; round < 3; round += 1) {
        await finish(store(), `t${round}`);
        disk.fail(round % 2 === 0 ? 'applied' : 'lost');
        expect(await awaitRejection(finish(store(), `x${round}`))).toBeInstanceOf(StoreUnavailable);
        disk.mend();
        await recovered();
        revisions.push(await submit(store(), `y${round}`));
        revisions.push(await settle(store(), `y${round}`));
      }
      const items = await readFeed(store(), 's', null, 6);
      expect(new Set(items.map((item) => JSON.stringify(item))).size).toBe(6);
      expect(new Set(revisions).size).toBe(revisions.length);
    });
  });

  test('a disk that does not respond for 4.5 s is an outage', async () => {
    await submit(store(), 't1');
    disk.hold();
    const stuck = submit(store(), 't2').then(
      () => 'done',
      (error: unknown) => error,
    );
    const reader = readState(store(), 't1');
    await until('the write is held', disk.isHolding);
    if (!disk.readsWaitForWrites) await reader;
    else reader.catch(() => undefined);
    await underTest().advance(4_499);
    expect(store().health().ok).toBe(true);
    await underTest().advance(1);
    expect(await stuck).toBeInstanceOf(StoreUnavailable);
    expect(store().health().ok).toBe(false);
    await expect(store().get('task', 't1')).rejects.toThrow(StoreUnavailable);
    disk.release();
    await recovered();
    expect(await store().get('task', 't1')).toBeDefined();
    await submit(store(), 't3');
    // Whether it was written is unknown at first; what the first read after the recovery returns must stay.
    const found = await store().get('task', 't2');
    await reopen();
    expect(await store().get('task', 't2')).toEqual(found);
  });

  test('closing waits until running commits are durable, and ends feeds and watchers', async () => {
    const stop = new AbortController();
    const watching = (async () => {
      for await (const _notification of store().watch('due', stop.signal));
    })();
    const reading = (async () => {
      for await (const _item of store().feed('s', null, NEVER));
    })();
    disk.hold();
    const committed = submit(store(), 't1');
    await until('the write is held', disk.isHolding);
    const closing = store().close();
    disk.release();
    await committed;
    await closing;
    await Promise.all([watching, reading, store().close()]);
    await expect(store().get('task', 't1')).rejects.toThrow(StoreUnavailable);
    await reopen();
    expect(await store().get('task', 't1')).toBeDefined();
  });
}

function isReadable(store: Store): boolean {
  const health = store.health();
  return !health.ok && health.isReadable === true;
}

/** One call of each method that only reads. */
function readsOf(store: Store): readonly (() => Promise<unknown>)[] {
  return [
    () => store.get('task', 't1'),
    () => store.get('input', 'absent'),
    () => store.getForCommit('t1'),
    () => store.getAgentStatus('A'),
    () => store.readAgentChanges(null),
    () => store.readOutput('t1', 0, 1),
    () => store.list('tasks', {}, { limit: 1 }),
    () => startIterating((signal) => store.watch('due', signal)),
    () => startIterating((signal) => store.feed('s', null, signal)),
  ];
}

/** One call of each method that writes. */
function writesOf(store: Store): readonly (() => Promise<unknown>)[] {
  return [
    () => store.commit({ writes: [] }),
    () => append(store, 't1', 'w', 0, ['0']),
    () => store.takeDue(1),
    () => store.renewLeases([]),
    () => store.touch('A', { by: 'call' }),
    () => store.trim({ keepTasksMs: 1e9, sessionEventsMax: 10, outputBytesMax: 2 ** 28 }, 1),
  ];
}

/** Begins an iteration and ends it again; rejects when it cannot begin. */
async function startIterating(iterate: (signal: AbortSignal) => AsyncIterable<unknown>): Promise<void> {
  const stop = new AbortController();
  const first = iterate(stop.signal)[Symbol.asyncIterator]().next();
  const someTurns = new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
  await Promise.race([first, someTurns]);
  stop.abort();
  await first;
}

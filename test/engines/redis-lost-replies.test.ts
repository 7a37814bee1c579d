/**
 * A commit whose reply is lost on the way is sent again, found where it was applied, and never applied twice.
 * @module-tag redis
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseRedisAddress } from '../../server/engines/redis/client/address.ts';
import type { Reply } from '../../server/engines/redis/client/client.ts';
import { NO_BARRIER } from '../../server/engines/redis/connection/barrier.ts';
import { openConnection } from '../../server/engines/redis/connection/connection.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import { scripts } from '../../server/engines/redis/scripts.ts';
import type { Store } from '../../server/ports/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { createFakeClock, flushMicrotasks } from '../harness/fake-clock.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { SILENT } from '../harness/silent-log.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { append, outputBatch, readPieces } from './output-calls.ts';
import {
  buildAgent,
  endingOf,
  finish,
  idsOf,
  must,
  readFeed,
  readState,
  submit,
  until,
} from './store-under-test.ts';

const PREFIX = '{lost-replies}:';
let redis: RedisProcess;
let proxy: TcpProxy;
let store: Store;
/** Another replica on the same store, whose network has no fault. */
let other: Store;

async function open(port: number): Promise<Store> {
  const address = parseRedisAddress(`redis://127.0.0.1:${port}`);
  if ('mistake' in address) throw new Error(address.mistake);
  return await openRedisStore({
    address,
    durability: 'disk',
    clock: createClock(),
    log: SILENT,
    prefix: PREFIX,
  });
}

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.dispose());
beforeEach(async () => {
  proxy = await startTcpProxy(redis.port);
  store = await open(proxy.port);
  other = await open(redis.port);
});
afterEach(async () => {
  await store.close();
  await other.close();
  await proxy.close();
});

/** Breaks the connection once, and runs `whileDown` before there is a new one. */
async function breakOnce(
  fault: 'cut-before' | 'cut-after',
  whileDown?: () => Promise<unknown>,
): Promise<void> {
  await proxy.setFault(fault);
  await until('the connection broke', () => !store.health().ok);
  await whileDown?.();
  await proxy.setFault(null);
}

let ids = 0;
const newId = (): string => {
  ids += 1;
  return `t${ids}`;
};

describe.each(['cut-before', 'cut-after'] as const)('a commit on a connection that is %s', (fault) => {
  test('resolves on the next connection, and was applied once', async () => {
    const id = newId();
    const submitting = submit(store, id, { cli_session_id: id });
    await breakOnce(fault);
    const revision = await submitting;
    const stored = await readState(other, id);
    expect(stored.revision).toBe(revision);
    const ending = await endingOf(store, id);
    const settling = store.commit(ending);
    await breakOnce(fault);
    const settled = must(await settling);
    expect((await readState(other, id)).revision).toBe(settled);
    const next = newId();
    await finish(other, next, id);
    expect(idsOf(await readFeed(other, id, null, 2))).toEqual([id, next]);
  });

  test('appends output once, and returns how it stands', async () => {
    const id = newId();
    await submit(store, id);
    const first = { pieces: ['{"text":"a"}', '{"text":"b"}'], by: { writer: 'w', from: 0 } };
    const beginning = store.commit(await outputBatch(store, id, { begins: { writer: 'w' }, append: first }));
    await breakOnce(fault);
    expect(await beginning).toMatchObject({ ok: true, output: { next: 2, last: 2, isFull: false } });
    const appending = append(store, id, 'w', 2, ['{"text":"c"}']);
    await breakOnce(fault);
    expect(await appending).toEqual({ ok: true, next: 3, last: 3, isFull: false });
    const own = store.commit(await outputBatch(store, id, { append: { pieces: ['{"answer":1}'] } }));
    await breakOnce(fault);
    expect(await own).toMatchObject({ output: { next: 3, last: 4 } });
    expect(await readPieces(other, id)).toEqual(await readPieces(store, id));
    expect(await readPieces(other, id)).toHaveLength(4);
  });

  test('resolves and was applied once where it writes an agent, too', async () => {
    const id = newId();
    const value = buildAgent(id);
    const registering = store.commit({ writes: [{ kind: 'agent', id, expect: 'absent', value }] });
    await breakOnce(fault);
    const revision = must(await registering);
    expect((await other.get('agent', id))?.revision).toBe(revision);
  });

  test('is a conflict where another replica was faster', async () => {
    const id = newId();
    await submit(store, id);
    const ending = await endingOf(store, id);
    const otherEnding = await endingOf(other, id);
    const settling = store.commit(ending);
    let otherIsApplied: unknown;
    await breakOnce(fault, async () => {
      otherIsApplied = (await other.commit(otherEnding)).ok;
    });
    // If the first was applied before its reply was lost, it is found; else it is too late. Exactly one is
    // applied.
    expect([otherIsApplied, (await settling).ok].sort()).toEqual([false, true]);
    expect(otherIsApplied).toBe(fault === 'cut-before');
  });
});

test('a commit rejects as unavailable when there is no new connection in time', async () => {
  const submitting = submit(store, newId()).catch((error: unknown) => error);
  await proxy.setFault('cut-before');
  expect(await submitting).toMatchObject({ name: 'StoreUnavailable' });
});

test('a call that is sent again has no more time than one that is sent once; a late reply wakes all listeners', async () => {
  const clock = createFakeClock();
  const late = Promise.withResolvers<Reply>();
  let opened = 0;
  let wakened = 0;
  const connection = await openConnection({
    clock,
    log: SILENT,
    prefix: PREFIX,
    timeArgument: () => '',
    async open() {
      opened += 1;
      const isFirst = opened === 1;
      const lost = (): Promise<Reply> => Promise.reject(new Error('Socket closed unexpectedly'));
      const client = {
        send: () => (isFirst ? clock.sleep(2_000).then(lost) : late.promise),
        subscribe: async () => undefined,
        peer: 'redis',
        destroy: () => undefined,
      };
      return { client, notifications: client, barrier: NO_BARRIER, epoch: 'e' };
    },
    onReopened() {
      wakened += 1;
    },
  });
  let failure: unknown;
  connection.callRepeatable(scripts.commit, []).catch((error: unknown) => {
    failure = error;
  });
  await clock.advance(4_499);
  expect(opened).toBe(2);
  expect(failure).toBeUndefined();
  await clock.advance(1);
  expect(failure).toMatchObject({ name: 'StoreUnavailable' });
  // The one for the connection that was opened again.
  expect(wakened).toBe(1);
  late.resolve('');
  await flushMicrotasks();
  expect(wakened).toBe(2);
  await connection.close();
});

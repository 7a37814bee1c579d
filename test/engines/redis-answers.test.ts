/** A commit whose answer is lost on the way: asked again, found where it was applied, and never applied twice. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseRedisAddress } from '../../server/engines/redis/address.ts';
import { NO_BARRIER } from '../../server/engines/redis/barrier.ts';
import type { Reply } from '../../server/engines/redis/client.ts';
import { openConnection } from '../../server/engines/redis/connection.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import { scripts } from '../../server/engines/redis/scripts.ts';
import type { Store } from '../../server/ports/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { demandRedis, type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { SILENT } from '../harness/silent-log.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { endingOf, finish, idsOf, must, readFeed, readState, submit, until } from './store-under-test.ts';

demandRedis('the suite on lost answers');

const PREFIX = '{answers}:';
let redis: RedisProcess;
let proxy: TcpProxy;
let store: Store;
/** The same store, seen by somebody whose network is well. */
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

/** Lets the connection break once, and does something before there is a new one. */
async function breakOnce(how: 'cut-before' | 'cut-after', meanwhile?: () => Promise<unknown>): Promise<void> {
  await proxy.setFault(how);
  await until('the connection broke', () => !store.health().ok);
  await meanwhile?.();
  await proxy.setFault(null);
}

let count = 0;
const newId = (): string => {
  count += 1;
  return `t${count}`;
};

describe.each(['cut-before', 'cut-after'] as const)('a commit that meets a network that is %s', (how) => {
  test('is answered once there is a connection again, and was applied once', async () => {
    const id = newId();
    const submitting = submit(store, id, { cli_session_id: id });
    await breakOnce(how);
    const revision = await submitting;
    const stored = await readState(other, id);
    expect(stored.revision).toBe(revision);
    const ending = await endingOf(store, id);
    const settling = store.commit(ending);
    await breakOnce(how);
    const outcome = must(await settling);
    expect((await readState(other, id)).revision).toBe(outcome);
    const next = newId();
    await finish(other, next, id);
    expect(idsOf(await readFeed(other, id, null, 2))).toEqual([id, next]);
  });

  test('is refused where somebody else was faster', async () => {
    const id = newId();
    await submit(store, id);
    const ending = await endingOf(store, id);
    const theirs = await endingOf(other, id);
    const settling = store.commit(ending);
    let faster: unknown;
    await breakOnce(how, async () => {
      faster = (await other.commit(theirs)).ok;
    });
    // Applied before the answer was lost, it is found; else it comes too late. Never both, never neither.
    expect([faster, (await settling).ok].sort()).toEqual([false, true]);
    expect(faster).toBe(how === 'cut-before');
  });
});

test('a commit is refused as unavailable when there is no connection again in time', async () => {
  const startMs = performance.now();
  const submitting = submit(store, newId()).catch((error: unknown) => error);
  await proxy.setFault('cut-before');
  expect(await submitting).toMatchObject({ name: 'StoreUnavailable' });
  expect(performance.now() - startMs).toBeLessThan(5_000);
});

test('what is asked a second time has no more time than if it had been asked once', async () => {
  const clock = createFakeClock();
  let opened = 0;
  const line = await openConnection({
    clock,
    log: SILENT,
    prefix: PREFIX,
    tellTime: () => '',
    async open() {
      opened += 1;
      const isFirst = opened === 1;
      const lost = (): Promise<Reply> => Promise.reject(new Error('Socket closed unexpectedly'));
      const client = {
        send: () => (isFirst ? clock.sleep(2_000).then(lost) : new Promise<Reply>(() => undefined)),
        listen: async () => undefined,
        peer: 'redis',
        destroy: () => undefined,
      };
      return { client, barrier: NO_BARRIER, epoch: 'e' };
    },
    onBack: () => undefined,
  });
  let answer: unknown;
  line.callRepeatable(scripts.commit, []).catch((error: unknown) => {
    answer = error;
  });
  await clock.advance(4_499);
  expect(opened).toBe(2);
  expect(answer).toBeUndefined();
  await clock.advance(1);
  expect(answer).toMatchObject({ name: 'StoreUnavailable' });
  await clock.advance(4_500);
  await line.close();
});

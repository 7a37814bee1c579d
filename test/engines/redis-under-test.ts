/**
 * The Redis engine for the conformance suite: a store with a prefix of its own in a real Redis, behind a
 * network that the test controls. What the network holds back is not durable; what it cuts before it arrives
 * is lost; what it cuts after that is applied without a reply.
 */
import { parseRedisAddress } from '../../server/engines/redis/client/address.ts';
import type { Durability } from '../../server/engines/redis/client/durability.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { createOrderedConnect } from '../harness/redis-order.ts';
import type { RedisProcess } from '../harness/redis-process.ts';
import { SILENT } from '../harness/silent-log.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import type { Disk, StoreUnderTest } from './store-under-test.ts';

const START_MS = 1_700_000_000_000;
let subjects = 0;

/** Creates an empty store in a running Redis. */
export async function createRedisSubject(
  redis: RedisProcess,
  durability: Durability = 'disk',
  log = SILENT,
): Promise<StoreUnderTest> {
  const clock = createFakeClock();
  const proxy = await startTcpProxy(redis.port);
  const stores: Store[] = [];
  const connect = createOrderedConnect();
  subjects += 1;
  // As many characters in each, because a suite compares what is sent.
  const prefix = `{subject-${String(subjects).padStart(3, '0')}}:`;
  const address = parseRedisAddress(`redis://127.0.0.1:${proxy.port}`);
  if ('mistake' in address) throw new Error(address.mistake);
  return {
    disk: createDisk(proxy),
    async open({ wallShiftMs = 0 } = {}) {
      const testMs = (): number => START_MS + clock.nowMs() + wallShiftMs;
      const store = await openRedisStore({
        address,
        durability,
        clock,
        log,
        prefix,
        testMs,
        connect,
      });
      stores.push(store);
      return store;
    },
    advance: (ms) => clock.advance(ms),
    async dispose() {
      await proxy.setFault(null);
      proxy.release();
      for (const store of stores) await store.close();
      await proxy.close();
    },
  };
}

function createDisk(proxy: TcpProxy): Disk {
  return {
    readsWaitForWrites: true,
    readsShowDurable: false,
    hold: proxy.hold,
    release: proxy.release,
    isHolding: proxy.isHolding,
    fail: (how) => void proxy.setFault(how === 'lost' ? 'cut-before' : 'cut-after'),
    mend: () => void proxy.setFault(null),
  };
}

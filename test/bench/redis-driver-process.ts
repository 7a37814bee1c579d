/**
 * A process that gives Redis the work of a gateway with nothing around it: no HTTP, and an agent that takes
 * and ends each task at once. It gets one `DriverOrder`, says when it is warm, waits for a word, and runs its
 * tasks.
 */
import { once } from 'node:events';
import { createLargeWork } from '../../server/async/large-work.ts';
import { startDuties } from '../../server/duties.ts';
import { parseRedisAddress } from '../../server/engines/redis/client/address.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import { createGateway } from '../../server/gateway/gateway.ts';
import type { Gateway } from '../../server/ports/gateway.ts';
import type { Pusher } from '../../server/ports/pusher.ts';
import { createClock } from '../../server/system/clock.ts';
import { createIds, random } from '../../server/system/ids.ts';
import { SILENT, UNOBSERVED } from '../harness/silent-log.ts';
import { PAYLOAD } from './parties.ts';
import type { DriverOrder } from './redis-alone.ts';

const WARM_UP_TASKS = 20_000;
const AGENT = 'bench';
const DAY_MS = 86_400_000;

/** Tasks that ended before their submission returned, and what waits for the end of others. */
const ended = new Set<string>();
const waiting = new Map<string, () => void>();
const [order] = (await once(process, 'message')) as [DriverOrder];
const gateway = await openGateway();
await runTasks(WARM_UP_TASKS);
process.send?.('ready');
await once(process, 'message');
await runTasks(order.tasks);
process.send?.('ended');

async function openGateway(): Promise<Gateway> {
  const clock = createClock();
  const address = parseRedisAddress(order.url);
  if ('mistake' in address) throw new Error(address.mistake);
  const store = await openRedisStore({
    address,
    durability: 'disk',
    clock,
    log: SILENT,
    // Each process has a store of its own: what gateways of one store tell each other is not measured here.
    prefix: `{driver-${process.pid}}:`,
  });
  const ids = createIds();
  const pusher: Pusher = {
    async push({ task: { request_id } }) {
      setImmediate(() => void endTask(request_id));
      return { kind: 'acknowledged', status: 202 };
    },
    close: async () => {},
  };
  const created = createGateway({
    store,
    clock,
    ids,
    random,
    pusher,
    log: SILENT,
    observer: UNOBSERVED,
    limits: {
      timeoutMaxMs: DAY_MS,
      openTasksMax: 100_000,
      keepKeysMs: DAY_MS,
      agentsMax: 1_000,
      pushesMax: 10_000,
    },
    retention: { keepTasksMs: DAY_MS, sessionEventsMax: 100_000, outputBytesMax: 2 ** 28 },
    largeWork: createLargeWork(),
  });
  startDuties({ duties: created.duties, store, clock, log: SILENT });
  await created.gateway.registerAgent({
    agent_id: AGENT,
    endpoint: 'http://agent.test/tasks',
    agent_tags: ['bench'],
    max_concurrent: 100_000,
    current_load: 0,
  });
  return created.gateway;
}

async function endTask(request_id: string): Promise<void> {
  await gateway.reportResult({
    request_id,
    agent_id: AGENT,
    status: 'success',
    progress: 100,
    error_info: null,
    result: { reply: '收到', output: 'Translate this sentence.' },
  });
  const resolve = waiting.get(request_id);
  waiting.delete(request_id);
  if (resolve) resolve();
  else ended.add(request_id);
}

async function runTasks(count: number): Promise<void> {
  let begun = 0;
  const runLane = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      const { request_id } = await gateway.submitTask({
        task_type: 'translate',
        task_tags: ['bench'],
        payload: PAYLOAD,
        cli_session_id: 'bench',
        timeout: 600,
      });
      if (!ended.delete(request_id)) await new Promise<void>((resolve) => waiting.set(request_id, resolve));
    }
  };
  await Promise.all(Array.from({ length: order.inFlight }, runLane));
}

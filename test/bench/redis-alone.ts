/**
 * What one Redis can do: processes that do nothing but a gateway's commits give it more and more work. One
 * Redis runs commands on one thread; it is full when more processes bring no more tasks.
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { readCpuMs, sumOver } from './process-figures.ts';
import { type Redis, startRedis } from './servers.ts';
import { receive } from './workload.ts';

/** What a process is asked to do. */
export type DriverOrder = { readonly url: string; readonly tasks: number; readonly inFlight: number };

/** What this many processes brought. */
export type RedisAlone = {
  readonly processes: number;
  readonly inFlight: number;
  readonly tasksPerSecond: number;
  /** CPU a task, in ms. */
  readonly redisCpuMs: number;
  readonly driverCpuMs: number;
  /** Of the time: how much of one core Redis had. */
  readonly redisShare: number;
};

const DRIVER = join(import.meta.dirname, 'redis-driver-process.ts');

/** Processes, and the tasks that each has in flight. */
const LOADS = [
  [1, 64],
  [1, 512],
  [2, 64],
  [2, 512],
  [3, 512],
] as const;

/** What the table shows. */
export const REDIS_ALONE =
  'Processes that do nothing but the commits of a gateway, each on a store of its own in one Redis that writes with ' +
  'fsync always.';

/** Gives a fresh Redis each of the loads; without Redis there are no rows. */
export async function fillRedis(tasks: number, smoke: boolean): Promise<readonly RedisAlone[]> {
  const rows: RedisAlone[] = [];
  for (const [processes, inFlight] of smoke ? LOADS.slice(0, 1) : LOADS) {
    const redis = await startRedis('always');
    if (!redis) return [];
    try {
      rows.push(await measureRedisAlone(redis, processes, { tasks, inFlight }));
    } finally {
      redis.stop();
    }
  }
  return rows;
}

/** Runs this many tasks in each of this many processes at once, after their warm-up. */
async function measureRedisAlone(
  redis: Redis,
  processes: number,
  order: Omit<DriverOrder, 'url'>,
): Promise<RedisAlone> {
  const children = Array.from({ length: processes }, () =>
    fork(DRIVER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  );
  try {
    for (const child of children) child.send({ ...order, url: redis.url });
    await Promise.all(children.map((child) => receive(child)));
    const pids = children.map(({ pid }) => pid ?? 0);
    const [redisMs, driversMs, startMs] = [readCpuMs(redis.pid), sumOver(pids, readCpuMs), performance.now()];
    for (const child of children) child.send('start');
    await Promise.all(children.map((child) => receive(child)));
    const wallMs = performance.now() - startMs;
    const tasks = processes * order.tasks;
    const redisCpuMs = readCpuMs(redis.pid) - redisMs;
    return {
      processes,
      inFlight: order.inFlight,
      tasksPerSecond: (tasks / wallMs) * 1_000,
      redisCpuMs: redisCpuMs / tasks,
      driverCpuMs: (sumOver(pids, readCpuMs) - driversMs) / tasks,
      redisShare: redisCpuMs / wallMs,
    };
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

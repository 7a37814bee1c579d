/**
 * What may happen between a gateway and its Redis, and to Redis itself, under load: every call returns in
 * time with the truth or a 503, the gateway is back within two seconds, and what was acknowledged is there.
 * @module-tag redis
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, type TestContext, test, vi } from 'vitest';
import { get, getAdmin, post, submit } from '../e2e/plain-calls.ts';
import { printFigure, printTally } from '../harness/figures.ts';
import { SECRET } from '../harness/gateway-process.ts';
import { REDIS_COMMANDS, type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { expectWithin } from '../harness/slack.ts';
import { type NetworkFault, startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { createAnswerHistory } from './answer-history.ts';
import { createLoad } from './load.ts';
import { OUTAGE_SECONDS, readLogOfOutage } from './outage.ts';
import { createOutageChecker, type OutageChecker } from './outage-checker.ts';
import { type Replicas, startReplicas } from './replicas.ts';

/** How long each fault lasts; `STORE_FAULT_SECONDS` asks for more. */
const FAULT_MS = 1_000 * Number(process.env.STORE_FAULT_SECONDS ?? 5);
/** How often Redis is killed under load; `REDIS_KILLS` asks for more. */
const REDIS_KILLS = Number(process.env.REDIS_KILLS ?? 2);
/** Back to normal within 2 s. */
const BACK_WITHIN_MS = 2_000;
const WAIT = { timeout: 60_000, interval: 20 };

const FAULTS: readonly (readonly [string, NetworkFault])[] = [
  ['refuses connections', 'refuse'],
  ['resets connections', 'reset'],
  ['cuts before the command arrives', 'cut-before'],
  ['cuts after the command was applied', 'cut-after'],
  ['is a black hole', 'black-hole'],
  ['is slow', { slowMs: 300 }],
  ['trickles', { trickleBytes: 48 }],
];

type Cleanup = Pick<TestContext, 'onTestFinished'>;
/** A gateway, its Redis, and the network between them. */
type Party = {
  readonly redis: RedisProcess;
  readonly proxy: TcpProxy;
  readonly replicas: Replicas;
  readonly url: string;
};

async function start(command: string, { onTestFinished }: Cleanup): Promise<Party> {
  const redis = await startRedis([], command);
  onTestFinished(() => redis.dispose());
  const proxy = await startTcpProxy(redis.port);
  onTestFinished(() => proxy.close());
  const replicas = await startReplicas(`redis://127.0.0.1:${proxy.port}`, 1);
  onTestFinished(() => replicas.stop());
  return { redis, proxy, replicas, url: replicas.urls[0] ?? '' };
}

/** Milliseconds until it is ready again; it must be so in time. */
async function awaitReady(url: string): Promise<number> {
  const startMs = performance.now();
  await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), WAIT);
  await submit(url, { timeout: 5 });
  const tookMs = performance.now() - startMs;
  expectWithin('redis:submitting-after', tookMs, BACK_WITHIN_MS);
  return tookMs;
}

async function startLoad(url: string, checker: OutageChecker, { onTestFinished }: Cleanup) {
  const history = createAnswerHistory();
  const load = await createLoad(url, history, checker);
  onTestFinished(() => load.close());
  load.go();
  await vi.waitFor(() => expect(checker.count().answered).toBeGreaterThan(50), WAIT);
  return { history, load };
}

// While a fault lasts, almost nothing is done but to wait: so some of them are tried at once.
describe.each(REDIS_COMMANDS.slice(0, 1))('a gateway on %s', { concurrent: true }, (command) => {
  // The longest comes first.
  test(`logs an outage of ${OUTAGE_SECONDS} s under load in one line when it begins, and in one when it is over`, {
    timeout: 240_000 + 1_000 * OUTAGE_SECONDS,
  }, async (context) => {
    const { redis, replicas } = await start(command, context);
    const outage = { begin: () => redis.kill(), end: () => redis.restart() };
    expect(await readLogOfOutage(replicas.at(0), outage)).toEqual([
      expect.objectContaining({ level: 'error', msg: 'the connection to Redis was lost' }),
      expect.objectContaining({ level: 'info', msg: 'the connection to Redis was opened again' }),
    ]);
  });

  test.for(FAULTS)(
    'whose network %s responds in time, and is back at once',
    { timeout: 240_000 + 2 * FAULT_MS },
    async ([name, fault], context) => {
      const { proxy, url } = await start(command, context);
      const checker = createOutageChecker();
      const { history, load } = await startLoad(url, checker, context);
      checker.reset();
      await proxy.setFault(fault);
      await new Promise((resolve) => setTimeout(resolve, FAULT_MS));
      const { answered, unavailable, longestMs } = checker.count();
      expect(answered + unavailable).toBeGreaterThan(0);
      // Readiness is open to every caller, so it does not name the address of Redis.
      expect(await (await fetch(`${url}/readyz`)).text()).not.toMatch(/127\.0\.0\.1|localhost/);
      await proxy.setFault(null);
      const backMs = await awaitReady(url);
      await load.pause();
      expect(checker.broken).toEqual([]);
      expect(await history.findBroken(url)).toEqual([]);
      printFigure(`redis.${name.replaceAll(' ', '-')}:longest-call`, Math.round(longestMs), 'ms');
      printFigure(`redis.${name.replaceAll(' ', '-')}:back-after`, Math.round(backMs), 'ms');
    },
  );

  test('that returned 503 for a commit delayed in the network does not find it applied later', async (context) => {
    const { proxy, url } = await start(command, context);
    await submit(url);
    const before = (await getAdmin(url, '/api/admin/tasks')).body;
    await proxy.setFault('black-hole');
    const late = await Promise.all(
      Array.from({ length: 5 }, () =>
        post(url, '/api/cli/tasks', { auth: SECRET, task_type: 't', task_tags: ['a'], payload: {} }),
      ),
    );
    expect(late.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
    await proxy.setFault(null);
    await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), WAIT);
    // Commands that were on their way have arrived: this one was sent after them.
    await submit(url);
    const tasks = (await getAdmin(url, '/api/admin/tasks')).body.tasks as readonly unknown[];
    expect(tasks).toHaveLength((before.tasks as readonly unknown[]).length + 1);
  });

  test(`whose Redis is killed ${REDIS_KILLS} times under load has lost nothing that was acknowledged`, {
    timeout: 240_000 + 20_000 * REDIS_KILLS,
  }, async (context) => {
    const { redis, url } = await start(command, context);
    const checker = createOutageChecker();
    const { history, load } = await startLoad(url, checker, context);
    for (let kill = 0; kill < REDIS_KILLS; kill += 1) {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 500));
      await redis.kill();
      await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(503), WAIT);
      await redis.restart();
      const backMs = await awaitReady(url);
      printFigure('redis.killed:back-after', Math.round(backMs), 'ms');
    }
    await load.pause();
    expect(checker.broken).toEqual([]);
    expect(await history.findBroken(url)).toEqual([]);
    printTally('redis.killed:acknowledged', history.count().submitted, 'tasks');
  });

  test('whose Redis comes back empty reports that, returns nothing from it, and starts with it only after a restart', async (context) => {
    const { redis, replicas, url } = await start(command, context);
    const id = await submit(url, { timeout: 600 });
    await redis.kill();
    rmSync(join(redis.folder, 'appendonlydir'), { recursive: true });
    await redis.restart();
    await vi.waitFor(async () => {
      const answer = await fetch(`${url}/readyz`);
      expect(answer.status).toBe(503);
      expect(((await answer.json()) as { reason: string }).reason).toMatch(/emptied or replaced/);
    }, WAIT);
    expect((await get(url, `/api/cli/tasks/${id}`)).status).toBe(503);
    expect(replicas.at(0).output()).toMatch(/"level":"error"[^\n]*emptied or replaced/);
    await replicas.kill(0);
    await replicas.restart(0);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect((await get(url, `/api/cli/tasks/${id}`)).status).toBe(404);
  });
});

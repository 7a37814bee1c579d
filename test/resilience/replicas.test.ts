/**
 * Three gateways on one Redis: each of them serves any call, each sees what another has committed, and when
 * one is killed the others take over within seconds.
 * @module-tag redis
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { get, post, replay, startPushAgent, submit, subscribe } from '../e2e/plain-calls.ts';
import { printTally } from '../harness/figures.ts';
import { SECRET } from '../harness/gateway-process.ts';
import { REDIS_COMMANDS, type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { expectWithin } from '../harness/slack.ts';
import { createAnswerHistory } from './answer-history.ts';
import { awaitEnded, createLoad, SESSION } from './load.ts';
import { type Replicas, startReplicas } from './replicas.ts';

/** How often one of the three is killed under load; `REPLICA_KILLS` asks for more. */
const KILLS = Number(process.env.REPLICA_KILLS ?? 6);
const RUN_MAX_MS = 500;
const WAIT = { timeout: 60_000, interval: 20 };
/** Other replicas take over within 2 s. */
const TAKEN_OVER_MS = 2_000;

describe.each(REDIS_COMMANDS)('three replicas on %s', (command) => {
  let redis: RedisProcess;
  let replicas: Replicas;
  const closing: (() => unknown)[] = [];
  beforeAll(async () => {
    redis = await startRedis([], command);
    replicas = await startReplicas(redis.url, 3);
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });
  afterAll(async () => {
    await replicas.stop();
    await redis.dispose();
  });
  const [a, b, c] = [0, 1, 2].map((index) => () => replicas.urls[index] ?? '') as [
    () => string,
    () => string,
    () => string,
  ];
  const status = async (url: string, id: string) => (await get(url, `/api/cli/tasks/${id}`)).body.status;

  test('a task is submitted on one, its agent registered on another, its result reported on the third; any returns it', async () => {
    const register = { auth: SECRET, agent_id: 'story', endpoint: 'pull', agent_tags: ['story'] };
    await post(b(), '/api/agent/register', { ...register, max_concurrent: 3 });
    const stream = await subscribe(a(), 'story');
    closing.push(stream.leave);
    const more = { task_tags: ['story'], cli_session_id: 'story' };
    const waiting = post(c(), '/api/agent/claim', { auth: SECRET, agent_id: 'story', wait: 10 });
    const first = await submit(a(), more);
    expect((await waiting).body.request_id).toBe(first);
    const polling = get(b(), `/api/cli/tasks/${first}?wait=10`);
    const report = { agent_id: 'story', status: 'success', result: { output: '完成' } };
    expect((await post(c(), '/api/agent/result', { request_id: first, ...report })).body.accepted).toBe(true);
    expect((await polling).body.status).toBe('success');
    await vi.waitFor(() => expect(stream.events).toHaveLength(1), WAIT);
    expect((await post(a(), '/api/agent/result', { request_id: first, ...report })).body.accepted).toBe(
      false,
    );

    const second = await submit(b(), more);
    await vi.waitFor(async () => expect(await status(c(), second)).toBe('running'), WAIT);
    await post(a(), `/api/cli/tasks/${second}/cancel?auth=${SECRET}`, undefined);
    const resumed = await subscribe(b(), 'story', stream.events[0]?.id);
    const replayed = await subscribe(c(), 'story');
    closing.push(resumed.leave, replayed.leave);
    await vi.waitFor(() => expect(resumed.events).toHaveLength(1), WAIT);
    await vi.waitFor(() => expect(replayed.events).toHaveLength(2), WAIT);
    await vi.waitFor(() => expect(stream.events).toHaveLength(2), WAIT);
    expect(resumed.events).toEqual(stream.events.slice(1));
    expect(replayed.events).toEqual(stream.events);
    expect(stream.events[1]?.data).toMatchObject({ request_id: second, error_info: 'cancelled by user' });
  });

  test('registering, unregistering and cancelling on one is known to a call on another at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const agent_id = `coming-${round}`;
      const tags = [`tag-${round}`];
      const agent = { auth: SECRET, agent_id, endpoint: 'pull', agent_tags: tags, max_concurrent: 1 };
      await post(a(), '/api/agent/register', agent);
      const task = { task_tags: tags };
      const [one, two] = await Promise.all([submit(b(), task), submit(c(), { ...task, queue_timeout: 60 })]);
      await vi.waitFor(async () => {
        const both = await Promise.all([status(a(), one), status(a(), two)]);
        // One has the agent; the other waits, or had no time to wait and failed without a second agent.
        expect(both.filter((each) => each === 'running')).toHaveLength(1);
        expect(both).not.toEqual(['pending', 'running']);
      }, WAIT);
      const [running, other] = (await status(b(), one)) === 'running' ? [one, two] : [two, one];
      const cancelled = await post(c(), `/api/cli/tasks/${running}/cancel?auth=${SECRET}`, undefined);
      expect(cancelled.status).toBe(200);
      expect(await status(b(), running)).toBe('failed');
      if ((await status(b(), other)) !== 'failed') {
        await vi.waitFor(async () => expect(await status(b(), other)).toBe('running'), WAIT);
        await post(b(), `/api/cli/tasks/${other}/cancel?auth=${SECRET}`, undefined);
      }
      const unregistered = await post(b(), '/api/agent/unregister', { auth: SECRET, agent_id });
      expect(unregistered.status).toBe(200);
      const late = await submit(c(), task);
      await vi.waitFor(async () => expect(await status(a(), late)).toBe('failed'), WAIT);
      expect((await get(a(), `/api/cli/tasks/${late}`)).body.error_info).toBe('无可用 Agent');
    }
  });

  test('a flood over all three gets through one agent: each task once, never more than it can take', async () => {
    const agent = await startPushAgent(a(), { agent_id: 'flood', capacity: 20, pauseMs: 5 });
    closing.push(agent.close);
    const stream = await subscribe(b(), 'flood');
    closing.push(stream.leave);
    const more = { cli_session_id: 'flood', queue_timeout: 60 };
    const ids = await Promise.all(
      Array.from({ length: 300 }, (_, index) => submit(replicas.urls[index % 3] ?? '', more)),
    );
    await vi.waitFor(() => expect(stream.events.length).toBe(300), WAIT);
    expect(new Set(stream.events.map(({ data }) => data.request_id))).toEqual(new Set(ids));
    expect(stream.events.every(({ data }) => data.status === 'success')).toBe(true);
    expect(agent.mostAtOnce()).toBeLessThanOrEqual(20);
    expect([...agent.pushes.values()].every((count) => count === 1)).toBe(true);
    await post(c(), '/api/agent/unregister', { auth: SECRET, agent_id: 'flood' });
  });

  /** Twelve pushes that get no response, by any of the replicas; more of them come to the same list. */
  async function pushToSilent(agent_id: string) {
    const arrived: { readonly id: string; readonly atMs: number }[] = [];
    const server = createServer((incoming) => {
      arrived.push({ id: String(incoming.headers['webhook-id']), atMs: performance.now() });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(
      () => server.closeAllConnections(),
      () => server.close(),
    );
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`;
    const agent = { auth: SECRET, agent_id, endpoint, agent_tags: [agent_id], max_concurrent: 100 };
    await post(b(), '/api/agent/register', agent);
    // Any replica may push, so several tasks are needed for each of them to have some.
    for (let index = 0; index < 12; index += 1)
      await submit(replicas.urls[index % 3] ?? '', { task_tags: [agent_id] });
    await vi.waitFor(() => expect(arrived).toHaveLength(12), WAIT);
    return arrived;
  }

  test('a push that a killed replica had under way is made again by another within two seconds, under the same id', async () => {
    const arrived = await pushToSilent('silent');
    const known = new Set(arrived.map(({ id }) => id));
    await replicas.kill(0);
    await replicas.kill(1);
    const killedMs = performance.now();
    await vi.waitFor(() => expect(arrived.length).toBeGreaterThan(12), WAIT);
    const tookMs = (arrived[12]?.atMs ?? 0) - killedMs;
    expectWithin('replicas:take-over', tookMs, TAKEN_OVER_MS);
    expect(known).toContain(arrived[12]?.id);
    await replicas.restart(0);
    await replicas.restart(1);
    await post(c(), '/api/agent/unregister', { auth: SECRET, agent_id: 'silent' });
  });

  type OnRedis = (one: RedisProcess) => unknown;
  test.each<readonly [string, OnRedis, OnRedis]>([
    ['is killed and started again', (one) => one.kill(), (one) => one.restart()],
    [
      'stands still',
      (one) => process.kill(one.pid(), 'SIGSTOP'),
      (one) => process.kill(one.pid(), 'SIGCONT'),
    ],
  ])(
    'pushes under way, whose leases ran out while Redis %s, are not made again by another',
    async (_how, stop, goOn) => {
      const agent_id = `hanging-${_how}`;
      const arrived = await pushToSilent(agent_id);
      const untilReady = async (expected: number) => {
        for (const url of replicas.urls)
          await vi.waitFor(async () => expect((await get(url, '/readyz')).status).toBe(expected), WAIT);
      };
      await stop(redis);
      await untilReady(503);
      // A lease lasts 1.5 s.
      await new Promise((resolve) => setTimeout(resolve, 1_600));
      await goOn(redis);
      await untilReady(200);
      // What is due is taken in its order: a lease that runs out is taken before this task ends.
      const late = await submit(a(), { task_tags: ['nobody'], queue_timeout: 2 });
      await vi.waitFor(async () => expect(await status(b(), late)).toBe('failed'), WAIT);
      await submit(a(), { task_tags: [agent_id] });
      await vi.waitFor(() => expect(arrived.length).toBeGreaterThan(12), WAIT);
      expect(new Set(arrived.map(({ id }) => id)).size).toBe(arrived.length);
      await post(c(), '/api/agent/unregister', { auth: SECRET, agent_id });
    },
  );

  test(`${KILLS} kills of one in three under load break no promise`, {
    timeout: 240_000 + KILLS * 10_000,
  }, async () => {
    const history = createAnswerHistory();
    let turn = 0;
    const spread = {
      post(_url: string, path: string, body: unknown) {
        turn += 1;
        return post(replicas.urls[turn % 3] ?? '', path, body);
      },
    };
    // The subscriber stays with the first, which is killed as often as the others.
    const load = await createLoad(a(), history, spread);
    closing.push(load.close);
    const runOn = () => new Promise((resolve) => setTimeout(resolve, Math.random() * RUN_MAX_MS));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const index = kill % 3;
      load.go();
      await runOn();
      await replicas.kill(index);
      await runOn();
      await load.pause();
      const found = await history.findBroken(replicas.urls[(index + 1) % 3] ?? '', { onlyNew: true });
      expect(found, `kill ${kill + 1}`).toEqual([]);
      await replicas.restart(index);
    }
    load.finish();
    await awaitEnded(b());
    await load.pause();
    for (const url of replicas.urls) expect(await history.findBroken(url)).toEqual([]);
    const ended = (await replay(c(), SESSION)).map(({ data }) => data.request_id);
    expect(new Set(ended).size).toBe(ended.length);
    expect(history.ids.filter((id) => !ended.includes(id))).toEqual([]);
    const { submitted, cancelled, reported, shown } = history.count();
    printTally('replicas.acknowledged', submitted, 'tasks');
    expect(Math.min(submitted, cancelled, reported, shown)).toBeGreaterThan(0);
  });
});

/**
 * Party A fills the memory of a real Redis with tasks. New tasks and agents are refused before it is full;
 * what ends or frees goes on even when it is full, and everything goes on by itself once memory is free.
 * @module-tag redis
 */
import { afterEach, describe, expect, test } from 'vitest';
import { type Answer, get, post, submit } from '../../e2e/plain-calls.ts';
import { type GatewayProcess, SECRET, startGateway } from '../../harness/gateway-process.ts';
import {
  REDIS_COMMANDS,
  type RedisProcess,
  startRedis,
  startReplicated,
} from '../../harness/redis-process.ts';

const WAIT = { timeout: 60_000, interval: 50 };
const agent = { auth: SECRET, agent_id: 'b' };

describe.each(REDIS_COMMANDS)('a gateway on %s', (command) => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });
  let url: string;
  let gateway: GatewayProcess;

  async function open(redis: RedisProcess, env: Readonly<Record<string, string>>): Promise<void> {
    closing.push(redis.dispose);
    gateway = await startGateway({ STORE: redis.url, ...env });
    closing.push(gateway.stop);
    url = gateway.baseUrl;
  }

  /** What party B has before memory is short: two tasks that its agent runs, and two that wait. */
  async function prepare(): Promise<{ readonly running: readonly string[]; readonly waiting: string }> {
    await post(url, '/api/agent/register', {
      ...agent,
      endpoint: 'pull',
      agent_tags: ['b'],
      max_concurrent: 2,
    });
    const running: string[] = [];
    for (let n = 0; n < 2; n += 1) {
      await submit(url, { task_tags: ['b'], cli_session_id: 'b' });
      running.push(String((await post(url, '/api/agent/claim', { ...agent, wait: 10 })).body.request_id));
    }
    const waiting = await submit(url, { task_tags: ['none'], queue_timeout: 600 });
    return { running, waiting };
  }

  const submitOne = (): Promise<Answer> =>
    post(url, '/api/cli/tasks', {
      auth: SECRET,
      task_type: 't',
      task_tags: ['none'],
      payload: { text: 'x'.repeat(100_000) },
      queue_timeout: 600,
    });
  const register = (agent_id: string): Promise<Answer> =>
    post(url, '/api/agent/register', { auth: SECRET, agent_id, endpoint: 'pull', agent_tags: ['c'] });
  const report = (request_id: string): Promise<Answer> =>
    post(url, '/api/agent/result', {
      request_id,
      agent_id: 'b',
      status: 'success',
      result: { text: 'y'.repeat(200_000) },
    });

  /** Everything that ends a task, frees memory or keeps an agent has its effect. */
  async function expectEndings({ running, waiting }: Awaited<ReturnType<typeof prepare>>, late: string) {
    expect((await post(url, '/api/agent/heartbeat', agent)).status).toBe(200);
    for (const id of running) expect((await report(id)).body.accepted).toBe(true);
    const cancel = await fetch(`${url}/api/cli/tasks/${waiting}/cancel?auth=${SECRET}`, { method: 'POST' });
    expect(cancel.status).toBe(200);
    await expect
      .poll(async () => (await get(url, `/api/cli/tasks/${late}`)).body.error_info, WAIT)
      .toMatch(/timeout/);
    expect((await register('b')).status).toBe(200);
    expect((await post(url, '/api/agent/unregister', agent)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  }

  test('refuses new tasks before its memory is full, ends what it has, and goes on', {
    timeout: 300_000,
  }, async () => {
    await open(await startRedis(['--appendonly', 'no', '--maxmemory', '40mb'], command), {
      REDIS_DURABILITY: 'memory',
    });
    const prepared = await prepare();
    const late = await submit(url, { task_tags: ['none'], queue_timeout: 600, timeout: 8 });
    const accepted: string[] = [];
    let refused: Answer | undefined;
    while (!refused && accepted.length < 1_000) {
      const answer = await submitOne();
      if (answer.status === 200) accepted.push(String(answer.body.request_id));
      else refused = answer;
    }
    expect(refused).toMatchObject({ status: 503 });
    await expect.poll(() => gateway.output(), WAIT).toMatch(/memory of Redis is nearly full/);
    expect((await register('new')).status).toBe(503);
    await expectEndings(prepared, late);
    for (const id of accepted)
      await fetch(`${url}/api/cli/tasks/${id}/cancel?auth=${SECRET}`, { method: 'POST' });
  });

  test.each(['memory', 'replica'] as const)(
    'ends what it has even when no byte is left, with REDIS_DURABILITY=%s',
    { timeout: 300_000 },
    async (durability) => {
      const settings = ['--appendonly', 'no'];
      const redis =
        durability === 'replica'
          ? await startReplicated(settings, command)
          : { primary: await startRedis(settings, command), replica: null };
      if (redis.replica) closing.push(redis.replica.dispose);
      await open(redis.primary, { REDIS_DURABILITY: durability });
      const prepared = await prepare();
      const late = await submit(url, { task_tags: ['none'], queue_timeout: 600, timeout: 4 });
      await redis.primary.send('CONFIG SET maxmemory 1');
      expect((await submitOne()).status).toBe(503);
      await expectEndings(prepared, late);
      await redis.primary.send('CONFIG SET maxmemory 0');
      await expect.poll(async () => (await submitOne()).status, WAIT).toBe(200);
    },
  );

  test('starts on a Redis whose memory is full, and takes up what is due', async () => {
    const redis = await startRedis(['--appendonly', 'no'], command);
    await open(redis, { REDIS_DURABILITY: 'memory' });
    const late = await submit(url, { task_tags: ['none'], queue_timeout: 600, timeout: 4 });
    await gateway.kill();
    await redis.send('CONFIG SET maxmemory 1');
    gateway = await startGateway({ STORE: redis.url, REDIS_DURABILITY: 'memory' });
    closing.push(gateway.stop);
    await expect
      .poll(async () => (await get(gateway.baseUrl, `/api/cli/tasks/${late}`)).body.status, WAIT)
      .toBe('failed');
  });
});

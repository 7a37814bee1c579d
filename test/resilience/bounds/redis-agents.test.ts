/**
 * Party A registers agents with as many and as long tags as are allowed, over a real Redis: the tasks of
 * party B are matched beside them, also by a gateway that starts later. An agent or a task whose record is
 * damaged is in no other's way.
 * @module-tag redis
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { getAdmin, post, submit } from '../../e2e/plain-calls.ts';
import { type GatewayProcess, SECRET, startGateway } from '../../harness/gateway-process.ts';
import { type RedisProcess, startRedis } from '../../harness/redis-process.ts';
import { SCALE } from '../soak.ts';

const AGENTS = Math.min(20_000, Math.round(600 * SCALE));
const AT_ONCE = 5;
const LONG_TAGS = Array.from({ length: 64 }, (_, index) => `${index}`.padEnd(256, '\u0001'));

describe('a gateway on Redis', () => {
  let redis: RedisProcess;
  const gateways: GatewayProcess[] = [];
  beforeEach(async () => {
    redis = await startRedis(['--appendonly', 'no']);
  });
  afterEach(async () => {
    for (const gateway of gateways.splice(0)) await gateway.stop();
    await redis.dispose();
  });

  async function start(): Promise<string> {
    const gateway = await startGateway({ STORE: redis.url, REDIS_DURABILITY: 'memory' });
    gateways.push(gateway);
    return gateway.baseUrl;
  }

  async function register(url: string, agent_id: string, agent_tags: readonly string[]): Promise<void> {
    const body = { auth: SECRET, agent_id, endpoint: 'pull', agent_tags };
    expect((await post(url, '/api/agent/register', body)).status).toBe(200);
  }

  /** Submits a task for an agent of party B, which claims it. */
  async function expectMatched(url: string, agent_id: string): Promise<void> {
    const id = await submit(url, { task_tags: [`of ${agent_id}`] });
    const claimed = await post(url, '/api/agent/claim', { auth: SECRET, agent_id, wait: 10 });
    expect([claimed.status, claimed.body.request_id]).toEqual([200, id]);
    const result = { request_id: id, agent_id, status: 'success' };
    expect((await post(url, '/api/agent/result', result)).status).toBe(200);
  }

  test(`matches tasks beside ${AGENTS} agents with long tags, also after a restart`, {
    timeout: 240_000 * Math.max(1, SCALE),
  }, async () => {
    const first = await start();
    await register(first, 'b', ['of b']);
    for (let from = 0; from < AGENTS; from += AT_ONCE) {
      const ids = Array.from({ length: AT_ONCE }, (_, index) => `a${from + index}`);
      await Promise.all(ids.map((agent_id) => register(first, agent_id, LONG_TAGS)));
    }
    await expectMatched(first, 'b');
    const second = await start();
    await expectMatched(second, 'b');
    await register(second, 'late', ['of late']);
    await expectMatched(first, 'late');
    for (const gateway of gateways) expect(gateway.output()).not.toMatch(/to Redis was lost/);
  });

  test('goes on beside an agent whose record is damaged, and forgets that agent', async () => {
    const url = await start();
    await register(url, 'damaged', ['of b']);
    await register(url, 'b', ['of b']);
    await redis.send('HSET {task-gateway}:agent:damaged v {damaged');
    await redis.send('ZADD {task-gateway}:due 1 agent:damaged');
    await expectMatched(url, 'b');
    await expect
      .poll(async () => (await getAdmin(url, '/api/admin/agents')).body.total, { timeout: 60_000 })
      .toBe(1);
    await expect
      .poll(() => gateways[0]?.output(), { timeout: 60_000 })
      .toMatch(/"entry":"the record of agent damaged,[^\n]*cannot be read/);
    await register(url, 'damaged', ['of damaged']);
    await expectMatched(url, 'damaged');
  });

  test('expires tasks and matches others beside a task whose state is damaged', async () => {
    const url = await start();
    await register(url, 'b', ['of b']);
    const damaged = await submit(url, { task_tags: ['none'], queue_timeout: 100 });
    const expiring = await submit(url, { task_tags: ['none'], queue_timeout: 100, timeout: 1 });
    // A commit under way would replace the damage.
    await expect.poll(() => redis.send('ZCARD {task-gateway}:waiting-tasks')).toBe(':2\r\n');
    await redis.send(`HSET {task-gateway}:task:${damaged} s {damaged`);
    await redis.send(`ZADD {task-gateway}:due 1 task:${damaged}`);
    await expect
      .poll(() => gateways[0]?.output(), { timeout: 60_000 })
      .toMatch(new RegExp(`"ref":"task:${damaged}"[^\\n]*looked at again`));
    await expectMatched(url, 'b');
    const ended = await fetch(`${url}/api/cli/tasks/${expiring}?auth=${SECRET}&wait=10`);
    expect(await ended.json()).toMatchObject({ status: 'failed' });
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });
});

/**
 * Party A reads many large tasks at once, over a real Redis: each can be read, and the calls of party B are
 * served beside them.
 * @module-tag redis
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCall } from '../../contract/usual-calls.ts';
import { get, post, submit } from '../../e2e/plain-calls.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../../harness/gateway-process.ts';
import { type RedisProcess, startRedis } from '../../harness/redis-process.ts';
import { expectUnaffected, measureBeside } from './beside.ts';

/** Almost the most that is accepted; each task has it twice, as payload and as result. */
const LARGE = 'x'.repeat(1_000_000);
const READERS = 20;
const secrets = { gateway: SECRET, admin: ADMIN_SECRET };

describe('a gateway whose tasks are as large as is allowed', () => {
  let redis: RedisProcess;
  let gateway: GatewayProcess;
  let id: string;
  beforeAll(async () => {
    redis = await startRedis(['--appendonly', 'no']);
    gateway = await startGateway({ STORE: redis.url, REDIS_DURABILITY: 'memory' });
    const agent = { auth: SECRET, agent_id: 'large' };
    await post(gateway.baseUrl, '/api/agent/register', { ...agent, endpoint: 'pull', agent_tags: ['large'] });
    id = await submit(gateway.baseUrl, { task_tags: ['large'], payload: { text: LARGE } });
    const claimed = await post(gateway.baseUrl, '/api/agent/claim', { ...agent, wait: 10 });
    expect(claimed.body.request_id).toBe(id);
    const result = { request_id: id, agent_id: 'large', status: 'success', result: { output: LARGE } };
    expect((await post(gateway.baseUrl, '/api/agent/result', result)).status).toBe(200);
  });
  afterAll(async () => {
    await gateway?.stop();
    await redis?.dispose();
  });

  const readStatus = async (): Promise<number> => {
    const response = await fetch(`${gateway.baseUrl}/api/cli/tasks/${id}?auth=${SECRET}`);
    await response.body?.cancel();
    return response.status;
  };

  test('returns such a task whole', async () => {
    const { status, body } = await get(gateway.baseUrl, `/api/cli/tasks/${id}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ payload: { text: LARGE }, result: { output: LARGE } });
  });

  test(`returns it to ${READERS} callers at once`, async () => {
    const statuses = await Promise.all(Array.from({ length: READERS }, readStatus));
    expect(statuses).toEqual(Array.from({ length: READERS }, () => 200));
    expect(gateway.output()).not.toMatch(/to Redis was lost/);
  });

  test('serves the calls of another party meanwhile', { timeout: 300_000 }, async () => {
    const small = await submit(gateway.baseUrl);
    const failed: number[] = [];
    const measured = await measureBeside({
      name: 'large-reads-on-redis',
      baseUrl: gateway.baseUrl,
      calls: [buildCall('submitTask', secrets), buildCall('getTask', secrets, {}, small)],
      async takeAll() {
        let isOver = false;
        const reading = (async () => {
          while (!isOver) {
            const status = await readStatus();
            if (status !== 200) failed.push(status);
          }
        })();
        return async () => {
          isOver = true;
          await reading;
        };
      },
    });
    expectUnaffected(measured);
    expect(failed).toEqual([]);
  });
});

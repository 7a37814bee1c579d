/**
 * Two gateways on one Redis: which of them is called makes no difference.
 * @module-tag redis
 */
import { afterAll, afterEach, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { endRedis, nameRedisStore, openRedisTestStore } from '../harness/redis-stores.ts';
import { buildRegistration, buildSubmission, countIds, createWorld, type World } from '../harness/world.ts';
import { read } from '../harness/world-calls.ts';

let worlds: World[] = [];
afterEach(async () => {
  for (const { store } of worlds) await store.close();
  worlds = [];
});
afterAll(endRedis);

async function openTwo(clock: FakeClock): Promise<readonly [World, World]> {
  const prefix = nameRedisStore();
  const ids = countIds();
  const openOne = async () => createWorld(await openRedisTestStore(clock, prefix), { clock, ids });
  const both = [await openOne(), await openOne()] as const;
  worlds = [...both];
  return both;
}

test('a heartbeat that crosses the report of its agent at the other gateway does not fill the agent', async () => {
  const clock = createFakeClock();
  const [one, two] = await openTwo(clock);
  await one.gateway.registerAgent(buildRegistration('A'));
  const { request_id } = await one.gateway.submitTask(buildSubmission());
  await one.runUntilIdle();
  await one.gateway.reportResult({ request_id, agent_id: 'A', status: 'success', result: {} });
  // Sent before the agent had the response to its report.
  await two.gateway.heartbeatAgent({ agent_id: 'A', current_load: 1 });
  await clock.advance(1_000);
  const next = await one.gateway.submitTask(buildSubmission());
  expect(await read(one, next.request_id)).toMatchObject({ status: 'running' });
  // A load of its own, five seconds after the last report, is one.
  await one.gateway.reportResult({ ...next, agent_id: 'A', status: 'success', result: {} });
  await clock.advance(6_000);
  await two.gateway.heartbeatAgent({ agent_id: 'A', current_load: 1 });
  await clock.advance(1_000);
  expect(await one.gateway.submitTask(buildSubmission())).toMatchObject({ agent_id: null });
});

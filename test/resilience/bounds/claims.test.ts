/**
 * Party A is an agent that holds thousands of tasks, waits with a hundred claims, and names a thousand tasks
 * in each heartbeat. Party B is served as before, and each new task of A reaches one claim.
 */
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildCall, send } from '../../contract/usual-calls.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../../harness/gateway-process.ts';
import { expectUnaffected, measureBeside, SCALE } from './beside.ts';

const HELD = Math.min(20_000, Math.round(2_000 * SCALE));
const CLAIMS = 100;
/** While the claims wait, a task arrives this often. */
const TASK_EVERY_MS = 25;
const NAMED = 1_000;
const BEATING_AT_ONCE = 3;
/** Each beats this often: what is bounded is the cost of a call, not how often it may come. */
const BEAT_EVERY_MS = 250;
const RESULT_CHARS = 50_000;
const TIMEOUT = { timeout: 300_000 };

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const agent_id = 'holder';

let gateway: GatewayProcess;
beforeEach(async () => {
  gateway = await startGateway();
});
afterEach(() => gateway?.stop());

type Body = Readonly<Record<string, unknown>>;

/** The body of the response to an agent's call; empty when it has none. */
async function ask(operationId: Parameters<typeof buildCall>[0], body: Body, id?: string): Promise<Body> {
  const { text, status } = await send(gateway.baseUrl, buildCall(operationId, secrets, body, id));
  expect([200, 204]).toContain(status);
  return text === '' ? {} : JSON.parse(text);
}

/** Submits tasks for the agent, a hundred at a time. */
async function submitHeld(count: number): Promise<readonly string[]> {
  const request_ids: string[] = [];
  while (request_ids.length < count) {
    const some = Math.min(100, count - request_ids.length);
    const submitted = await Promise.all(Array.from({ length: some }, submitOne));
    request_ids.push(...submitted);
  }
  return request_ids;
}

async function submitOne(): Promise<string> {
  const { request_id } = await ask('submitTask', { task_tags: ['held'], timeout: 3_600 });
  return String(request_id);
}

async function registerHolder(): Promise<void> {
  await ask('registerAgent', { agent_id, agent_tags: ['held'], max_concurrent: 100_000 });
}

/** Calls again and again until the signal fires; what fails then is no failure. */
async function repeat(signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
  while (!signal.aborted) await work();
}

test(
  `beside an agent that holds ${HELD} tasks and waits with ${CLAIMS} claims, calls are as fast as alone`,
  TIMEOUT,
  async () => {
    await registerHolder();
    const held = await submitHeld(HELD);
    for (let from = 0; from < held.length; from += NAMED) {
      await expect
        .poll(async () => {
          const beat = { agent_id, auth: SECRET, request_ids: held.slice(from, from + NAMED) };
          return (await ask('heartbeatAgent', beat)).cancelled_request_ids;
        })
        .toEqual([]);
    }
    let submitted = 0;
    const claimed: string[] = [];
    const claimNext = async (): Promise<void> => {
      const { request_id } = await ask('claimTask', { agent_id, wait: 2 });
      if (request_id === undefined) return;
      claimed.push(String(request_id));
      await ask('reportResult', { agent_id, request_id });
    };
    const measured = await measureBeside({
      name: 'claims',
      baseUrl: gateway.baseUrl,
      async takeAll() {
        const ending = new AbortController();
        const claims = Array.from({ length: CLAIMS }, () => repeat(ending.signal, claimNext));
        const tasks = repeat(ending.signal, async () => {
          await submitOne();
          submitted += 1;
          await setTimeout(TASK_EVERY_MS);
        });
        return async () => {
          ending.abort();
          await Promise.all([...claims, tasks]);
        };
      },
    });
    expectUnaffected(measured);
    expect(submitted).toBeGreaterThan(10);
    expect(claimed.length).toBe(submitted);
    expect(new Set(claimed).size).toBe(submitted);
  },
);

test(
  `beside heartbeats that name ${NAMED} tasks with large results, calls are as fast as alone`,
  TIMEOUT,
  async () => {
    await registerHolder();
    const request_ids = await submitHeld(NAMED);
    const result = { output: 'x'.repeat(RESULT_CHARS) };
    for (const request_id of request_ids) {
      // Whether it is assigned already, the claim knows.
      await expect
        .poll(async () => (await ask('getTask', {}, request_id)).status, { interval: 5 })
        .toBe('running');
      await ask('reportResult', { agent_id, request_id, result });
    }
    const beat = { agent_id, auth: SECRET, request_ids };
    expect((await ask('heartbeatAgent', beat)).cancelled_request_ids).toEqual(request_ids);
    const measured = await measureBeside({
      name: 'named-tasks',
      baseUrl: gateway.baseUrl,
      async takeAll() {
        const ending = new AbortController();
        const beats = Array.from({ length: BEATING_AT_ONCE }, () =>
          repeat(ending.signal, async () => {
            await ask('heartbeatAgent', beat);
            await setTimeout(BEAT_EVERY_MS);
          }),
        );
        return async () => {
          ending.abort();
          await Promise.all(beats);
        };
      },
    });
    expectUnaffected(measured);
  },
);

/**
 * Who is available, on the real process with real sockets: an agent that is silent is offline in time and
 * loses its tasks in time, one that calls is not, and one that ends never takes its successor with it. Where
 * the promise is in minutes, the process has a clock that runs faster.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, createAgent } from '../../../sdk/agent/index.ts';
import { createClient } from '../../../sdk/index.ts';
import { get, getAdmin, post, submit } from '../../e2e/plain-calls.ts';
import { printFigure } from '../../harness/figures.ts';
import { type GatewayProcess, SECRET, startGateway } from '../../harness/gateway-process.ts';
import { MACHINE_SLACK_MS } from '../../harness/slack.ts';
import { SCALE } from '../soak.ts';

let gateway: GatewayProcess;

const agentBody = (agent_id: string, more: object = {}) => ({
  auth: SECRET,
  agent_id,
  endpoint: 'pull',
  agent_tags: [agent_id],
  max_concurrent: 20,
  ...more,
});

async function register(agent_id: string, more: object = {}): Promise<unknown> {
  return (await post(gateway.baseUrl, '/api/agent/register', agentBody(agent_id, more))).body.state;
}

async function beat(agent_id: string, more: object = {}): Promise<unknown> {
  return (await post(gateway.baseUrl, '/api/agent/heartbeat', { auth: SECRET, agent_id, ...more })).body
    .state;
}

/** Claims once; resolves with the id of the task, or undefined. */
async function claim(agent_id: string, wait: number): Promise<unknown> {
  return (await post(gateway.baseUrl, '/api/agent/claim', { auth: SECRET, agent_id, wait })).body.request_id;
}

type Listed = { readonly agent_id: string; readonly state: string; readonly current_load: number };

async function listAgents(): Promise<readonly Listed[]> {
  return (await getAdmin(gateway.baseUrl, '/api/admin/agents')).body.agents as readonly Listed[];
}

async function listOffline(): Promise<readonly string[]> {
  return (await listAgents()).filter(({ state }) => state === 'offline').map(({ agent_id }) => agent_id);
}

describe('time without contact, by a clock that runs ten times as fast', () => {
  const SPEED = 10;
  const FAST_CLOCK = pathToFileURL(join(import.meta.dirname, '../../harness/fast-clock.ts')).href;
  /** Passes by the gateway's clock. */
  const pass = (seconds: number) => sleep((seconds * 1_000) / SPEED);

  beforeAll(async () => {
    gateway = await startGateway({ NODE_OPTIONS: `--import=${FAST_CLOCK}`, CLOCK_SPEED: String(SPEED) });
  });
  afterAll(() => gateway.stop());

  test('agents that are answered `ready` after 95 s of silence stay so', async () => {
    const ids = Array.from({ length: 60 * SCALE }, (_, n) => `back-${n}`);
    await Promise.all(ids.map((id) => register(id)));
    await Promise.all(ids.map((id) => beat(id)));
    await pass(95);
    await expect.poll(listOffline, { timeout: 60_000, interval: 20 }).toHaveLength(ids.length);
    const states = await Promise.all(ids.map((id, n) => (n % 2 === 0 ? register(id) : beat(id))));
    expect(new Set(states)).toEqual(new Set(['ready']));
    for (const seconds of [0, 1, 9]) {
      await pass(seconds);
      expect(await listOffline()).toEqual([]);
    }
  });

  test('agents that call at the moment at which they would be offline stay `ready`', async () => {
    const ids = Array.from({ length: 60 * SCALE }, (_, n) => `edge-${n}`);
    await Promise.all(ids.map((id) => register(id)));
    await Promise.all(ids.map((id) => beat(id)));
    const offlineAfterCall = ids.map(async (id, n) => {
      await pass(88 + (4 * n) / ids.length);
      const state = n % 2 === 0 ? await register(id) : await beat(id);
      await pass(1);
      return state === 'ready' && (await listOffline()).includes(id);
    });
    expect((await Promise.all(offlineAfterCall)).filter(Boolean)).toHaveLength(0);
  });

  test('a pull agent that stops claiming is offline after 90 s, one that goes on is not', async () => {
    await register('stops');
    await register('goes-on');
    const ending = new AbortController();
    const claiming = (async () => {
      while (!ending.signal.aborted) await claim('goes-on', 50);
    })();
    try {
      await claim('stops', 0);
      const startMs = performance.now();
      await expect.poll(listOffline, { timeout: 60_000, interval: 20 }).toContain('stops');
      const silenceMs = (performance.now() - startMs) * SPEED;
      printFigure('offline-after-silence', Math.round(silenceMs), 'ms');
      expect(silenceMs).toBeGreaterThan(89_000);
      expect(silenceMs).toBeLessThan(93_000 + SPEED * MACHINE_SLACK_MS);
      expect(await listOffline()).not.toContain('goes-on');
    } finally {
      ending.abort();
      await claiming;
    }
  });
});

describe('by the usual clock', () => {
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.stop());

  const LOST_AFTER_S = 3;
  const PROMISED_MS = 2_000;

  test('the tasks of an agent without contact fail within 2 s of its lost_after, the others stay', async () => {
    await register('lost', { lost_after: LOST_AFTER_S });
    await register('calls', { lost_after: LOST_AFTER_S });
    const lost = await Promise.all(
      Array.from({ length: 10 }, () => submit(gateway.baseUrl, { task_tags: ['lost'] })),
    );
    const kept = await submit(gateway.baseUrl, { task_tags: ['calls'] });
    expect(await claim('calls', 5)).toBe(kept);
    const beating = setInterval(() => void beat('calls', { request_ids: [kept] }), 500);
    try {
      for (const _ of lost) expect(lost).toContain(await claim('lost', 5));
      await beat('lost', { request_ids: lost });
      const startMs = performance.now();
      const ends = lost.map(async (id) => {
        const { body } = await get(gateway.baseUrl, `/api/cli/tasks/${id}?wait=30`);
        expect(body.error_info).toMatch(/^agent lost: no contact for [345] s$/);
        return performance.now() - startMs;
      });
      const tookMs = await Promise.all(ends);
      printFigure('lost-after-silence', Math.round(Math.max(...tookMs)), 'ms');
      expect(Math.min(...tookMs)).toBeGreaterThan(LOST_AFTER_S * 1_000 - 500);
      expect(Math.max(...tookMs)).toBeLessThan(LOST_AFTER_S * 1_000 + PROMISED_MS + MACHINE_SLACK_MS);
      expect(await listOffline()).toEqual(['lost']);
      expect((await get(gateway.baseUrl, `/api/cli/tasks/${kept}`)).body.status).toBe('running');
    } finally {
      clearInterval(beating);
    }
  });

  async function startProcessOf(agentId: string): Promise<Agent> {
    const agent = createAgent({
      baseUrl: gateway.baseUrl,
      auth: SECRET,
      agentId,
      tags: [agentId],
      maxConcurrent: 100,
      listen: {},
      handler: () => 'done',
    });
    await agent.start();
    return agent;
  }

  test('In a rolling restart the process that ends neither unregisters nor drains its successor.', async () => {
    const client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET });
    const old = await startProcessOf('rolling');
    const successor = await startProcessOf('rolling');
    try {
      const run = async (): Promise<string> => {
        const submission = { task_type: 't', task_tags: ['rolling'], payload: {}, timeout: 60 };
        const outcome = await client.runTask(submission).catch((error: Error) => error.message);
        return typeof outcome === 'string' ? outcome : outcome.status;
      };
      const tasks = Array.from({ length: 50 * SCALE }, run);
      await old.stop();
      const outcomes = await Promise.all([...tasks, run()]);
      expect(outcomes.filter((outcome) => outcome !== 'success')).toEqual([]);
      const idle = (await listAgents()).find(({ agent_id }) => agent_id === 'rolling');
      expect(idle).toMatchObject({ state: 'ready', current_load: 0 });
    } finally {
      await successor.stop({ drainMs: 0 });
    }
  });
});

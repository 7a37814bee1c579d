/** What people do with the service, over real sockets and the real process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { get, getAdmin, post, startPushAgent, submit, subscribe } from './plain-calls.ts';
import { submitMany } from './submitter.ts';

const WAIT = { timeout: 300_000, interval: 50 };
let folder: string;
let gateway: GatewayProcess;
const closing: (() => unknown)[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-e2e-'));
  gateway = await start();
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

const start = (): Promise<GatewayProcess> => startGateway({ STORE: `sqlite:${folder}/gateway.db` });

async function startAgent(options: { capacity: number; pauseMs: number; request_ids?: string[] }) {
  const agent = await startPushAgent(gateway.baseUrl, { agent_id: 'agent-1', ...options });
  closing.push(agent.close);
  return agent;
}

async function listen(session: string, lastEventId?: string) {
  const stream = await subscribe(gateway.baseUrl, session, lastEventId);
  closing.push(stream.leave);
  return stream;
}

describe('a flood', () => {
  test('of a thousand queued tasks is done by one agent with fifty slots: each succeeds once, never more than fifty run', async () => {
    const agent = await startAgent({ capacity: 50, pauseMs: 20 });
    const stream = await listen('flood');
    const fields = { cli_session_id: 'flood', queue_timeout: 300, timeout: 600 };
    const submitted = await submitMany(gateway.baseUrl, 1_000, fields);
    await vi.waitFor(() => expect(stream.events.length).toBe(1_000), WAIT);
    expect(new Set(stream.events.map(({ data }) => data.request_id))).toEqual(new Set(submitted));
    expect(stream.events.every(({ data }) => data.status === 'success')).toBe(true);
    expect(agent.mostAtOnce()).toBeLessThanOrEqual(50);
    expect([...agent.pushes.values()].every((count) => count === 1)).toBe(true);
  });

  test('without a queue timeout ends the surplus as no agent, one event each', async () => {
    await startAgent({ capacity: 50, pauseMs: 300 });
    const stream = await listen('surplus');
    await submitMany(gateway.baseUrl, 400, { cli_session_id: 'surplus' });
    await vi.waitFor(() => expect(stream.events.length).toBe(400), WAIT);
    expect(new Set(stream.events.map(({ data }) => data.request_id)).size).toBe(400);
    const failed = stream.events.filter(({ data }) => data.status === 'failed');
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.every(({ data }) => data.error_info === '无可用 Agent' && data.result === null)).toBe(true);
  });
});

describe('a restart', () => {
  test('after SIGKILL loses nothing that was accepted, and streams resume by their last id', async () => {
    await startAgent({ capacity: 5, pauseMs: 50 });
    const before = await listen('crash');
    const submitted = await Promise.all(
      Array.from({ length: 60 }, () =>
        submit(gateway.baseUrl, { cli_session_id: 'crash', queue_timeout: 100 }),
      ),
    );
    await vi.waitFor(() => expect(before.events.length).toBeGreaterThan(5), WAIT);
    await gateway.kill();
    const seen = before.events.slice();
    gateway = await start();
    // The agent restarts too: it registers with an empty list of tasks, and is pushed what it had
    // acknowledged again.
    const agent = await startAgent({ capacity: 5, pauseMs: 10, request_ids: [] });
    const after = await listen('crash', seen.at(-1)?.id);
    await vi.waitFor(() => expect(seen.length + after.events.length).toBe(60), WAIT);
    const ids = [...seen, ...after.events].map(({ data }) => data.request_id);
    expect(new Set(ids)).toEqual(new Set(submitted));
    expect(agent.mostAtOnce()).toBeGreaterThan(0);
    for (const { data } of after.events.slice(0, 5)) {
      const { body } = await get(gateway.baseUrl, `/api/cli/tasks/${String(data.request_id)}`);
      expect(body).toMatchObject({ status: data.status, result: data.result, error_info: data.error_info });
    }
  });

  test('on SIGTERM ends with what was accepted on disk, its long polls answered and its streams ended', async () => {
    await startAgent({ capacity: 1, pauseMs: 60_000 });
    await listen('drain');
    const request_id = await submit(gateway.baseUrl, { cli_session_id: 'drain' });
    const waiting = get(gateway.baseUrl, `/api/cli/tasks/${request_id}?wait=60`);
    await vi.waitFor(async () => {
      expect((await get(gateway.baseUrl, `/api/cli/tasks/${request_id}`)).body.status).toBe('running');
    }, WAIT);
    expect(await gateway.stop()).toBe(0);
    expect((await waiting).body).toMatchObject({ request_id, status: 'running' });
    gateway = await start();
    expect((await get(gateway.baseUrl, `/api/cli/tasks/${request_id}`)).body).toMatchObject({
      status: 'running',
    });
  });

  test('on SIGTERM ends also when its log has no reader any more', async () => {
    gateway.hangUp();
    expect(await gateway.stop()).toBe(0);
  });
});

describe('a task', () => {
  test('expires at its deadline, also when its agent never responds', async () => {
    await post(gateway.baseUrl, '/api/agent/register', {
      auth: SECRET,
      agent_id: 'dead',
      endpoint: 'http://127.0.0.1:1/tasks',
      agent_tags: ['e2e'],
    });
    const stream = await listen('late');
    const request_id = await submit(gateway.baseUrl, { cli_session_id: 'late', timeout: 0.8 });
    await vi.waitFor(() => expect(stream.events).toHaveLength(1), WAIT);
    expect(stream.events[0]?.data).toEqual({
      event: 'task_done',
      request_id,
      status: 'failed',
      result: null,
      error_info: 'timeout',
    });
    const { body } = await getAdmin(gateway.baseUrl, '/api/admin/agents');
    expect(body).toMatchObject({
      agents: [{ agent_id: 'dead', push: { last_error: expect.stringContaining('refused') } }],
    });
  });

  test('is cancelled once: the event comes, the slot is free, a second cancel is refused', async () => {
    await startAgent({ capacity: 1, pauseMs: 60_000 });
    const stream = await listen('cancel');
    const request_id = await submit(gateway.baseUrl, { cli_session_id: 'cancel' });
    await vi.waitFor(async () => {
      expect((await get(gateway.baseUrl, `/api/cli/tasks/${request_id}`)).body.status).toBe('running');
    }, WAIT);
    const cancel = () =>
      post(gateway.baseUrl, `/api/cli/tasks/${request_id}/cancel?auth=${SECRET}`, undefined);
    expect(await cancel()).toEqual({ status: 200, body: { ok: true, request_id } });
    expect(await cancel()).toMatchObject({ status: 400, body: { code: 'task_terminal' } });
    await vi.waitFor(() => expect(stream.events).toHaveLength(1), WAIT);
    expect(stream.events[0]?.data).toMatchObject({ status: 'failed', error_info: 'cancelled by user' });
    const { body } = await getAdmin(gateway.baseUrl, '/api/admin/agents');
    expect(body).toMatchObject({ agents: [{ state: 'ready', running: 0, full: false }] });
    expect((await post(gateway.baseUrl, '/api/agent/heartbeat', { agent_id: 'agent-1' })).body).toMatchObject(
      {
        cancelled_request_ids: [request_id],
      },
    );
  });

  test('no secret is found in anything the gateway printed', async () => {
    await submit(gateway.baseUrl, {});
    await get(gateway.baseUrl, '/api/cli/tasks/none');
    expect(gateway.output()).not.toContain(SECRET);
  });
});

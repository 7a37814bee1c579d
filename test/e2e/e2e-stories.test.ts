/** What people do with the service, over real sockets and the real process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { get, startPushAgent, submit, subscribe } from './plain-calls.ts';
import { submitMany } from './submitter.ts';

const WAIT = { timeout: 60_000, interval: 50 };
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

test('a flood of four hundred queued tasks is done by one agent with fifty slots: each succeeds once, never more than fifty run', async () => {
  const agent = await startAgent({ capacity: 50, pauseMs: 20 });
  const stream = await listen('flood');
  const fields = { cli_session_id: 'flood', queue_timeout: 300, timeout: 600 };
  const submitted = await submitMany(gateway.baseUrl, 400, fields);
  await vi.waitFor(() => expect(stream.events.length).toBe(400), WAIT);
  expect(new Set(stream.events.map(({ data }) => data.request_id))).toEqual(new Set(submitted));
  expect(stream.events.every(({ data }) => data.status === 'success')).toBe(true);
  expect(agent.mostAtOnce()).toBeLessThanOrEqual(50);
  expect([...agent.pushes.values()].every((count) => count === 1)).toBe(true);
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

/** An agent as a process: what it does while its thread is blocked, and how a second signal ends it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createClient } from '../../sdk/index.ts';
import { until } from './sdk-clock.ts';
import { type ServedGateway, serveSimulatedGateway } from './served-gateway.ts';

let gateway: ServedGateway;
let folder: string;
let child: ChildProcess;
let printed: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-process-'));
  gateway = await serveSimulatedGateway(1);
  await startAgent();
});

afterEach(async () => {
  await kill();
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the agent with an outbox. Resolves once it has registered. */
async function startAgent(): Promise<void> {
  printed = '';
  const environment = {
    TASK_GATEWAY_URL: gateway.url,
    TASK_GATEWAY_AUTH: gateway.options.auth,
    OUTBOX: join(folder, 'outbox'),
  };
  child = spawn(process.execPath, [join(import.meta.dirname, 'agent-process.ts')], { env: environment });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      printed += text;
    });
  }
  await until(() => printed.includes('registered'), 'the agent registers');
}

/** Kills the agent with SIGKILL, so that it can do nothing more. */
async function kill(): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Submits a task for the agent. Resolves once the agent has taken it. */
async function submit(payload: Record<string, unknown>): Promise<string> {
  const taken = printed.split('taken').length;
  const submission = { auth: gateway.options.auth, task_type: 'x', task_tags: ['own'], payload };
  const response = await fetch(`${gateway.url}/api/cli/tasks`, {
    method: 'POST',
    body: JSON.stringify(submission),
  });
  const { request_id } = (await response.json()) as { request_id: string };
  await until(() => printed.split('taken').length > taken, 'the agent takes the task');
  return request_id;
}

const taskOf = async (request_id: string) =>
  (await gateway.tasks()).find((task) => task.request_id === request_id);

/** Resolves when a task has this status. */
async function untilStatus(request_id: string, status: string): Promise<void> {
  await expect.poll(async () => (await taskOf(request_id))?.status).toBe(status);
}

test('An agent sends heartbeats with the ids of its tasks while its handler blocks the event loop.', async () => {
  const request_id = await submit({ block_ms: 4_500 });
  const fromMs = gateway.calls.at(-1)?.atMs ?? 0;
  await untilStatus(request_id, 'success');
  const resultMs = gateway.calls.findLast(({ operation }) => operation === 'result')?.atMs ?? 0;
  const during = gateway.calls.filter(
    ({ operation, atMs }) => operation === 'heartbeat' && atMs > fromMs && atMs < resultMs - 200,
  );
  expect(during.length).toBeGreaterThanOrEqual(2);
  for (const { body } of during) {
    expect(body).toMatchObject({ agent_id: 'own-process', request_ids: [request_id] });
  }
});

test('An agent that the gateway no longer knows registers again at once, even while its handler blocks.', async () => {
  const request_id = await submit({ block_ms: 4_000 });
  await gateway.forgetAgents();
  await expect.poll(() => gateway.agents()).toHaveLength(1);
  expect((await taskOf(request_id))?.status).toBe('running');
  const again = gateway.calls.findLast(({ operation }) => operation === 'register');
  expect(again?.body).toMatchObject({ agent_tags: ['own'], max_concurrent: 2, request_ids: [request_id] });
  await untilStatus(request_id, 'success');
});

test('A second SIGTERM stops a running task: it is reported as failed, and the agent exits.', async () => {
  const request_id = await submit({ last_ms: 60_000 });
  child.kill('SIGTERM');
  await until(() => gateway.calls.some(({ body }) => body.draining === true), 'the agent drains');
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
  expect(await taskOf(request_id)).toMatchObject({
    status: 'failed',
    error_info: 'the agent was stopped before the task was done',
  });
  expect(gateway.calls.at(-1)?.operation).toBe('unregister');
});

test('Neither a promise that a handler leaves without an end nor a listener of its signal that throws ends the process.', async () => {
  const other = await submit({ last_ms: 2_500 });
  const request_id = await submit({ throws: 'beside the handler', last_ms: 60_000 });
  await until(() => printed.includes('A promise is left'), 'the rejection is printed');
  await createClient(gateway.options).cancelTask(request_id);
  await until(() => printed.includes('derived signal rejects later'), 'the listeners are printed');
  await untilStatus(other, 'success');
  const directs = ['the signal throws', 'the signal rejects', 'a linked signal rejects'];
  for (const what of [...directs, 'a derived signal throws', 'a derived signal rejects']) {
    expect(printed).toContain(`A listener of ${what}.`);
  }
  expect(child.exitCode).toBeNull();
});

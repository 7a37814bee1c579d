/**
 * A wall clock that is set back an hour while the SDK runs in processes of its own: a run polls on, a wait
 * ends in time, and the heartbeat thread sends heartbeats while a handler blocks.
 * @module-tag faketime
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSteppedClock } from '../harness/stepped-clock.ts';
import { someTask } from './scripted-fetch.ts';
import { until } from './sdk-clock.ts';
import { type ServedGateway, serveSimulatedGateway } from './served-gateway.ts';

const HOUR_MS = 3_600_000;
const ROOT = join(import.meta.dirname, '../..');
const AUTH = 'a-good-secret';

/** A gateway without streams whose task never ends. It counts how often the task is read. */
let pending: { readonly server: Server; readonly url: string; reads(): number };
let gateway: ServedGateway;
const children: ChildProcess[] = [];
const clocks: { dispose(): void }[] = [];

beforeAll(async () => {
  let reads = 0;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://gateway.test');
    if (pathname === '/api/cli/events') {
      response.writeHead(404).end();
      return;
    }
    if (request.method === 'GET') reads += 1;
    const wait = Math.min(Number(searchParams.get('wait') ?? 0), 0.1);
    request.resume();
    setTimeout(() => response.end(JSON.stringify(someTask())), wait * 1_000);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  pending = { server, url, reads: () => reads };
  gateway = await serveSimulatedGateway(1);
});

afterAll(async () => {
  for (const child of children) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
  for (const clock of clocks) clock.dispose();
  pending.server.closeAllConnections();
  pending.server.close();
  await gateway.close();
});

/** Starts a program of this Node's whose wall clock the test sets. */
function start(args: readonly string[], url: string, more: Readonly<Record<string, string>> = {}) {
  const clock = createSteppedClock();
  clocks.push(clock);
  const env = { TASK_GATEWAY_URL: url, TASK_GATEWAY_AUTH: AUTH, ...more, ...clock.env };
  const child = spawn(process.execPath, args, { cwd: ROOT, env });
  children.push(child);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      printed += text;
    });
  }
  return { child, setBack: () => clock.set(-HOUR_MS), printed: () => printed };
}

test('A run without a stream polls on.', async () => {
  const program = `import { createClient } from './sdk/index.ts';
    const submission = { task_type: 'x', task_tags: ['x'], payload: {} };
    setInterval(() => console.log(Date.now()), 50);
    await createClient().runTask(submission);`;
  const { setBack, printed } = start(['--input-type=module', '--eval', program], pending.url);
  await until(() => pending.reads() >= 2, 'the run polls');
  const timesOf = (): readonly number[] => printed().trim().split('\n').map(Number);
  setBack();
  await until(() => (timesOf().at(-1) ?? 0) < (timesOf()[0] ?? 0) - HOUR_MS / 2, 'the clock is set back');
  const before = pending.reads();
  await until(() => pending.reads() >= before + 2, 'the run polls after the step');
});

test('A wait of two seconds ends.', async () => {
  const args = ['sdk/cli/main.ts', 'task', 'wait', 'task-1', '--for', '2'];
  const { child, setBack, printed } = start(args, pending.url);
  const before = pending.reads();
  await until(() => pending.reads() > before, 'it has begun to wait');
  setBack();
  const [code] = await once(child, 'close');
  expect(printed()).toContain('is still pending after 2 s');
  expect(code).toBe(3);
});

test('The heartbeat thread sends heartbeats while a handler blocks.', async () => {
  const { setBack, printed } = start(['test/sdk/agent-process.ts'], gateway.url, {
    TASK_GATEWAY_AUTH: gateway.options.auth,
  });
  await until(() => printed().includes('registered'), 'the agent registers');
  setBack();
  const submission = { auth: gateway.options.auth, task_type: 'x', task_tags: ['own'] };
  const body = JSON.stringify({ ...submission, payload: { block_ms: 5_000 } });
  await fetch(`${gateway.url}/api/cli/tasks`, { method: 'POST', body });
  await until(() => printed().includes('taken'), 'the agent takes the task');
  const countHeartbeats = () => gateway.calls.filter(({ operation }) => operation === 'heartbeat').length;
  const before = countHeartbeats();
  await expect.poll(async () => (await gateway.tasks())[0]?.status).toBe('success');
  expect(countHeartbeats() - before).toBeGreaterThanOrEqual(2);
});

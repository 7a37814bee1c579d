/**
 * What pushes under way hold of large tasks: the memory of the gateway does not grow with their number, and
 * the tasks of other agents are pushed meanwhile.
 */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { printFigure } from '../../harness/figures.ts';
import { useFolder } from '../../harness/folder.ts';
import { type GatewayProcess, SECRET, startGateway } from '../../harness/gateway-process.ts';
import { readRssKiB } from '../process-cost.ts';
import { SCALE } from '../soak.ts';
import { type Caller, createCaller } from '../submitting.ts';

const LARGE_TASKS = Math.min(150, Math.round(50 * SCALE));
const LARGE_CHARS = 1_000_000;
/** The budgets of bytes, and what the collector has not got round to. */
const GROWTH_MIB_MAX = 250;
/** All of the tasks together are larger. */
const HEAP_MIB = Math.round(3.4 * LARGE_TASKS);

async function start(env: Readonly<Record<string, string>> = {}): Promise<GatewayProcess> {
  const gateway = await startGateway(env);
  onTestFinished(async () => void (await gateway.stop()));
  return gateway;
}

/** Submits tasks that wait for an agent of this id, one after the other. */
async function submitFor(caller: Caller, agent_id: string, count: number, chars: number): Promise<void> {
  const payload = { text: 'x'.repeat(chars) };
  const more = { task_tags: [agent_id], payload, timeout: 600, queue_timeout: 600 };
  for (let n = 0; n < count; n += 1) await caller.submitMany(1, more);
}

/** Registers an agent that takes the tasks of its own id. */
async function register(caller: Caller, agent_id: string, endpoint: string): Promise<void> {
  const agent = { agent_id, endpoint, agent_tags: [agent_id], max_concurrent: 10_000 };
  await caller.call('POST', '/api/agent/register', { auth: SECRET, ...agent });
}

/** A host that responds to nothing; it reads what it is sent, or not even that. */
async function startHost(does: 'read' | 'not read') {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    if (does === 'read') socket.resume();
    else socket.pause();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/tasks`, open: () => sockets.size };
}

describe('the memory of pushes under way', { timeout: 300_000 }, () => {
  test(`does not grow with ${LARGE_TASKS} tasks of 1 MB that are not read, nor with those that are read and not responded to`, async () => {
    const gateway = await start();
    const caller = createCaller(gateway.baseUrl);
    onTestFinished(() => caller.close());
    const [stalled, silent] = [await startHost('not read'), await startHost('read')];
    await submitFor(caller, 'stalled', LARGE_TASKS, LARGE_CHARS);
    await submitFor(caller, 'silent', LARGE_TASKS, LARGE_CHARS);
    const beforeKiB = readRssKiB(gateway.pid);
    await register(caller, 'stalled', stalled.url);
    await register(caller, 'silent', silent.url);
    await vi.waitFor(() => expect(silent.open()).toBe(LARGE_TASKS), { timeout: 300_000, interval: 50 });
    const grownMiB = (readRssKiB(gateway.pid) - beforeKiB) / 1_024;
    printFigure('rss-of-large-pushes', grownMiB, 'MiB');
    // All of them together have 400 MB and more.
    expect(grownMiB).toBeLessThan(GROWTH_MIB_MAX);
  });

  test(`is bounded after a restart at which ${LARGE_TASKS} tasks of 1 MB are due for an agent that does not read`, async () => {
    const store = { STORE: `sqlite:${useFolder()}/tasks.sqlite` };
    const stalled = await startHost('not read');
    const first = await startGateway(store);
    const before = createCaller(first.baseUrl);
    await submitFor(before, 'stalled', LARGE_TASKS, LARGE_CHARS);
    await register(before, 'stalled', stalled.url);
    await before.close();
    await first.kill();
    const second = await start({ ...store, NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` });
    const caller = createCaller(second.baseUrl);
    onTestFinished(() => caller.close());
    const healthy = await startHost('read');
    await register(caller, 'healthy', healthy.url);
    await submitFor(caller, 'healthy', LARGE_TASKS, 100);
    await vi.waitFor(() => expect(healthy.open()).toBe(LARGE_TASKS), { timeout: 60_000, interval: 50 });
    expect(stalled.open()).toBeGreaterThan(0);
    printFigure('rss-after-restart', readRssKiB(second.pid) / 1_024, 'MiB');
  });
});

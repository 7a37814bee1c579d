/**
 * An agent of the package for Python that is killed, cut off and stopped, at a gateway that restarts: no
 * result is lost, and none is reported wrongly. And a reader of an output meanwhile.
 */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import { createClient, type TaskGatewayClient } from '../../sdk/index.ts';
import { useFolder } from '../harness/folder.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { PYTHON_ENV } from '../harness/python-tools.ts';
import { startCuttingProxy } from '../resilience/cutting-proxy.ts';
import { type Example, startProgram, stop } from './example-process.ts';

const WORKER = join(import.meta.dirname, 'python/worker.py');
/** Prints the number in each piece of an output, and how it ended. */
const READER = `import sys
from task_gateway import Client
for piece in Client().read_output(sys.argv[1]):
    print(piece["data"]["n"] if "data" in piece else piece["outcome"], flush=True)
`;
const TASKS = 40;
/** Of the cuts; any whole number will do. */
const SEED = 7;
const LIMIT_MS = 300_000;

/** A gateway on a file, which can be killed and started again at its address. */
async function startKilled() {
  const settings = { STORE: `sqlite:${useFolder()}/gateway.db` };
  let gateway: GatewayProcess = await startGateway(settings);
  onTestFinished(async () => void (await gateway.stop()));
  const { baseUrl } = gateway;
  const { port } = new URL(baseUrl);
  return {
    client: createClient({ baseUrl, auth: SECRET, logLevel: 'off' }),
    port: Number(port),
    async restart(): Promise<void> {
      await gateway.kill();
      gateway = await startGateway({ ...settings, PORT: port });
    },
  };
}

/** Stands before a gateway. Until `end` these calls get no response; of reports the gateway sees nothing. */
async function startSilent(port: number, call = 'result') {
  let calls = 0;
  let isOver = false;
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const isSilent = request.url === `/api/agent/${call}` && !isOver;
    calls += Number(isSilent);
    if (isSilent && call === 'result') return;
    const url = `http://127.0.0.1:${port}${request.url}`;
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', body, headers });
    if (isSilent) return;
    response.writeHead(answer.status).end(await answer.text());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.closeAllConnections());
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: () => calls,
    end() {
      isOver = true;
    },
  };
}

/** A worker with its files, which can be killed and started again on them. */
function createWorker(url: string, more: Readonly<Record<string, string>> = {}) {
  const folder = useFolder();
  const worked = join(folder, 'worked.txt');
  const env = { TASK_GATEWAY_URL: url, TASK_GATEWAY_AUTH: SECRET, TASK_GATEWAY_AGENT_ID: 'worker', ...more };
  const files = { WORKED: worked, OUTBOX: join(folder, 'outbox.db') };
  return {
    start: (): Example => startProgram('python3', [WORKER], { ...PYTHON_ENV, ...env, ...files }),
    /** The numbers of the tasks that handlers began, in their order. */
    worked: () => (existsSync(worked) ? readFileSync(worked, 'utf8').trim().split('\n').map(Number) : []),
  };
}

function submit(client: TaskGatewayClient, n: number, seconds = 0) {
  const payload = { n, seconds };
  return client.submitTask({
    task_type: 'x',
    task_tags: ['work'],
    payload,
    cli_session_id: 's',
    queue_timeout: 600,
  });
}

/** Waits for a condition as long as the machine takes. */
const until = (condition: () => boolean | Promise<boolean>): Promise<void> =>
  expect.poll(condition, { timeout: LIMIT_MS / 2, interval: 50 }).toBe(true);

describe('the package for Python', { tags: 'python-tools', timeout: LIMIT_MS }, () => {
  test('loses no result when its agent is killed, cut off at every boundary, and its gateway is killed', async () => {
    const gateway = await startKilled();
    const proxy = await startCuttingProxy(() => gateway.port, SEED);
    onTestFinished(() => proxy.close());
    const worker = createWorker(proxy.url);
    let agent = worker.start();
    const numbers = Array.from({ length: TASKS }, (_, n) => n);
    const tasks = await Promise.all(numbers.map((n) => submit(gateway.client, n, n % 3 === 0 ? 0.2 : 0)));
    for (const share of [8, 16, 24, 32]) {
      await until(() => new Set(worker.worked()).size >= share);
      if (share % 16 === 0) await gateway.restart();
      agent.child.kill('SIGKILL');
      agent = worker.start();
    }
    await until(() => new Set(worker.worked()).size === TASKS);
    proxy.stopCutting();
    const ended = await Promise.all(
      tasks.map(({ request_id }) => gateway.client.followTask<object, { n: number }>(request_id)),
    );
    expect(ended.map(({ result }) => result.n)).toEqual(numbers);
    const events = new Map<string, number>();
    for await (const { request_id, status } of gateway.client.subscribeEvents('s')) {
      events.set(request_id, (events.get(request_id) ?? 0) + 1);
      expect(status).toBe('success');
      if (events.size === TASKS) break;
    }
    expect([...events.values()]).toEqual(numbers.map(() => 1));
    const cuts = [...proxy.cuts.values()].reduce((sum, count) => sum + count, 0);
    console.log(`figure: python-agent-cuts ${cuts}`);
    expect(cuts).toBeGreaterThan(3);
    expect(await stop(agent.child)).toBe(0);
  });

  test('reports from its outbox what an agent had done before it was killed, and does not do it again', async () => {
    const gateway = await startKilled();
    const silent = await startSilent(gateway.port);
    const worker = createWorker(silent.url);
    const first = worker.start();
    const { request_id } = await submit(gateway.client, 1);
    // An outcome is on disk before it is first reported.
    await until(() => silent.calls() > 0);
    first.child.kill('SIGKILL');
    expect((await gateway.client.getTask(request_id)).status).toBe('running');
    silent.end();
    const second = worker.start();
    await until(async () => (await gateway.client.getTask(request_id)).status === 'success');
    expect(worker.worked()).toEqual([1]);
    const third = worker.start();
    await until(() => third.output.error.includes('InvalidOptionError'));
    expect(third.output.error).toContain('database is locked. Each agent needs a file of its own.');
    expect(await stop(second.child)).toBe(0);
  });

  test.each([
    ['a signal stops it after its task', 1, 2, null],
    ['a second signal stops its task too', 2, 600, 'agent_stopped'],
  ])('%s, which is reported', async (_what, signals, seconds, reason) => {
    const gateway = await startKilled();
    const worker = createWorker(`http://127.0.0.1:${gateway.port}`);
    const agent = worker.start();
    const { request_id } = await submit(gateway.client, 1, seconds);
    await until(() => worker.worked().length === 1);
    for (let sent = 0; sent < signals; sent += 1) {
      agent.child.kill('SIGTERM');
      await until(() => agent.output.error.includes('stopping, when its task has ended\n'));
    }
    await until(() => agent.child.exitCode !== null);
    const { result } = await gateway.client.getTask(request_id);
    expect({ code: agent.child.exitCode, result }).toEqual({ code: 0, result: { n: 1, reason } });
    expect(agent.output.error).toMatch(/\nstopped: agent worker is unregistered\n$/);
  });

  test('a signal while it first registers leaves no agent behind', async () => {
    const gateway = await startKilled();
    const silent = await startSilent(gateway.port, 'register');
    const agent = createWorker(silent.url).start();
    const agents = async () =>
      (await gateway.client.previewMatch({ task_tags: ['work'] })).match.agents_total;
    await until(async () => (await agents()) === 1);
    expect(await stop(agent.child)).toBe(0);
    expect(await agents()).toBe(0);
    expect(agent.output.error).toBe('stopped: agent worker is unregistered\n');
  });

  test('reads each piece of an output once, while the gateway is killed and connections are cut', async () => {
    const gateway = await startKilled();
    const wrote = Promise.withResolvers<void>();
    const agent = createAgent({
      baseUrl: `http://127.0.0.1:${gateway.port}`,
      auth: SECRET,
      tags: ['write'],
      logLevel: 'off',
      async handler(_task, { write }) {
        for (let n = 0; n < 20; n += 1) await write({ n, text: '第 1 页' });
        await wrote.promise;
        for (let n = 20; n < 40; n += 1) await write({ n, text: '第 2 页' });
      },
    });
    await agent.start();
    onTestFinished(() => agent.stop({ drainMs: 0 }));
    const proxy = await startCuttingProxy(() => gateway.port, SEED);
    onTestFinished(() => proxy.close());
    const task = { task_type: 'x', task_tags: ['write'], payload: {} };
    const { request_id } = await gateway.client.submitTask(task);
    const env = { ...PYTHON_ENV, TASK_GATEWAY_URL: proxy.url, TASK_GATEWAY_AUTH: SECRET };
    const reader = startProgram('python3', ['-c', READER, request_id], env);
    const lines = (): readonly string[] => reader.output.out.trim().split('\n');
    await until(() => lines().length >= 20);
    await gateway.restart();
    wrote.resolve();
    const [code] = await once(reader.child, 'close');
    expect({ code, error: reader.output.error }).toEqual({ code: 0, error: '' });
    expect(lines()).toEqual([...Array.from({ length: 40 }, (_, n) => `${n}`), 'success']);
  });

  test('reports nothing wrongly after its agent was stopped until its task was lost, and goes on', async () => {
    const gateway = await startKilled();
    const worker = createWorker(`http://127.0.0.1:${gateway.port}`, { LOST_AFTER: '3' });
    const agent = worker.start();
    const lost = await submit(gateway.client, 1, 1);
    await until(() => worker.worked().length === 1);
    agent.child.kill('SIGSTOP');
    await until(async () => (await gateway.client.getTask(lost.request_id)).status === 'failed');
    agent.child.kill('SIGCONT');
    const next = await submit(gateway.client, 2);
    await until(async () => (await gateway.client.getTask(next.request_id)).status === 'success');
    const { error_info } = await gateway.client.getTask(lost.request_id);
    expect(error_info).toMatch(/^agent lost: no contact for 3 s$/);
    expect(worker.worked()).toEqual([1, 2]);
    expect(await stop(agent.child)).toBe(0);
    // Either its report comes first after the pause, or a heartbeat that tells it to drop the task.
    expect(agent.output.error).toMatch(
      new RegExp(`task ${lost.request_id} (already had an outcome|was dropped)`),
    );
  });
});

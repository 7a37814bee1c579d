/**
 * The thread of a healthy agent with its own tasks: submits one every this many milliseconds, takes each push
 * at once and measures when it came, counted from the moment at which the task was due to be submitted.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Agent, request } from 'undici';
import type { Sample } from './beside-caller.ts';

export type HealthyAgentOptions = {
  readonly baseUrl: string;
  readonly secret: string;
  /** Named in the agent's id and its tag. */
  readonly name: string;
  /** The host of its endpoint: an address or name of this machine. */
  readonly host: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly everyMs: number;
  readonly seconds: number;
};

/** A task that was not pushed by then has failed. */
const GIVE_UP_MS = 30_000;

const { baseUrl, secret: auth, name, host, payload, everyMs, seconds } = workerData as HealthyAgentOptions;
const dispatcher = new Agent();
const pushed = new Map<string, PromiseWithResolvers<number>>();

const server = createServer((incoming, response) => {
  incoming.resume().on('end', () => {
    response.writeHead(202).end();
    waitFor(String(incoming.headers['webhook-id'])).resolve(performance.now());
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
await call('/api/agent/register', {
  agent_id: name,
  endpoint: `http://${host}:${port}/tasks`,
  agent_tags: [name],
  max_concurrent: 10_000,
});
parentPort?.postMessage(await pushAtRate());
await dispatcher.destroy();
server.closeAllConnections();
server.close();

function waitFor(id: string): PromiseWithResolvers<number> {
  const waiting = pushed.get(id) ?? Promise.withResolvers<number>();
  pushed.set(id, waiting);
  return waiting;
}

async function pushAtRate(): Promise<Sample> {
  const tookMs: number[] = [];
  const failures: string[] = [];
  const underWay: Promise<unknown>[] = [];
  const startMs = performance.now();
  for (let n = 0; n * everyMs < seconds * 1_000; n += 1) {
    const dueMs = startMs + n * everyMs;
    await sleep(Math.max(0, dueMs - performance.now()));
    const done = pushOnce()
      .then((atMs) => tookMs.push(atMs - dueMs))
      .catch((error: unknown) => failures.push(String(error)));
    underWay.push(done);
  }
  await Promise.all(underWay);
  return { tookMs, failures };
}

/** Submits a task; resolves with the time at which it was pushed. */
async function pushOnce(): Promise<number> {
  const task = { task_type: 't', task_tags: [name], payload, cli_session_id: name, timeout: 600 };
  const { request_id } = await call('/api/cli/tasks', task);
  const late = sleep(GIVE_UP_MS, undefined, { ref: false }).then(() => {
    throw new Error(`not pushed within ${GIVE_UP_MS} ms`);
  });
  return await Promise.race([waitFor(String(request_id)).promise, late]);
}

async function call(path: string, body: object): Promise<Record<string, unknown>> {
  const response = await request(baseUrl + path, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ auth, ...body }),
  });
  const text = await response.body.text();
  if (response.statusCode >= 300) throw new Error(`${path} returned ${response.statusCode}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

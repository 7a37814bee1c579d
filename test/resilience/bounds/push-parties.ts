/**
 * Who takes part in the suites of pushes. Party B is a healthy agent whose tasks are measured from their
 * submission to their push. Party A is an agent that takes all it can: it has many tasks and is of one of the
 * kinds below.
 */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { printFigure } from '../../harness/figures.ts';
import { SECRET } from '../../harness/gateway-process.ts';
import { percentile } from '../process-cost.ts';
import { type Caller, createCaller } from '../submitting.ts';
import { type Measured, measureRounds } from './beside.ts';
import type { Sample } from './beside-caller.ts';
import type { HealthyAgentOptions } from './healthy-agent.ts';

export type Host = {
  readonly url: string;
  /** Number of connections open now. */
  open(): number;
  close(): Promise<unknown>;
};

const WARM_UP_SECONDS = 1;
const EVERY_MS = 25;
/** Tasks with more are submitted one after the other. */
const SMALL_TEXT = 1_000;

type Options = {
  /** Names the figures that are printed. */
  readonly name: string;
  readonly baseUrl: string;
  /** Length of the text in the payloads of B. */
  readonly textLength?: number;
  readonly seconds?: number;
  /** Party A; resolves when it holds all it can take, with what ends it. */
  readonly takeAll: (caller: Caller) => Promise<() => Promise<unknown>>;
};

/** Measures B's pushes alone and then beside A; ends A, also when something fails. */
export async function measurePushesBeside(options: Options): Promise<Measured> {
  const { baseUrl, name, textLength = 100, seconds = 3 } = options;
  const payload = { text: 'x'.repeat(textLength) };
  const push = (lengthSeconds: number): Promise<Sample> =>
    runHealthyAgent({
      baseUrl,
      secret: SECRET,
      name,
      host: '127.0.0.1',
      payload,
      everyMs: EVERY_MS,
      seconds: lengthSeconds,
    });
  await push(WARM_UP_SECONDS);
  const alone = await push(seconds);
  const caller = createCaller(baseUrl);
  const end = await options.takeAll(caller);
  try {
    const beside = await measureRounds(alone, () => push(seconds));
    printFigure(`${name}-alone-p99`, percentile(alone.tookMs, 0.99), 'ms');
    printFigure(`${name}-beside-p99`, percentile(beside.tookMs, 0.99), 'ms');
    return { alone, beside };
  } finally {
    await end();
    await caller.close();
  }
}

async function runHealthyAgent(options: HealthyAgentOptions): Promise<Sample> {
  const worker = new Worker(new URL('./healthy-agent.ts', import.meta.url), { workerData: options });
  const [sample] = (await once(worker, 'message')) as [Sample];
  await worker.terminate();
  return sample;
}

/** Submits tasks that wait for an agent of this id. */
export async function submitFor(
  caller: Caller,
  agent_id: string,
  tasks: { readonly count: number; readonly textLength: number },
): Promise<void> {
  const payload = { text: 'x'.repeat(tasks.textLength) };
  const more = { task_tags: [agent_id], payload, timeout: 600, queue_timeout: 600 };
  if (tasks.textLength <= SMALL_TEXT) return void (await caller.submitMany(tasks.count, more));
  for (let n = 0; n < tasks.count; n += 1) await caller.submitMany(1, more);
}

/** Registers an agent that takes the tasks of its own id. */
export async function register(caller: Caller, agent_id: string, endpoint: string): Promise<void> {
  const agent = { agent_id, endpoint, agent_tags: [agent_id], max_concurrent: 10_000 };
  await caller.call('POST', '/api/agent/register', { auth: SECRET, ...agent });
}

/** A host that accepts connections and reads nothing; as `https:` it never ends a handshake either. */
export async function startStalledHost(scheme: 'http' | 'https'): Promise<Host> {
  return await startHost(scheme, (socket) => void socket.pause());
}

/** A host that reads everything and responds to nothing. */
export async function startSilentHost(): Promise<Host> {
  return await startHost('http', (socket) => void socket.resume());
}

async function startHost(scheme: string, onConnection: (socket: Socket) => void): Promise<Host> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    onConnection(socket);
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `${scheme}://127.0.0.1:${port}/tasks`,
    open: () => sockets.size,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Listens with the shortest queue and then stands still, so that the system drops further connections. */
const BLOCKED = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });`;

/** A host whose connections are never established, once its queue is full. */
export async function startUnreachableHost(): Promise<Host> {
  const worker = new Worker(BLOCKED, { eval: true });
  const [port] = (await once(worker, 'message')) as [number];
  return { url: `http://127.0.0.1:${port}/tasks`, open: () => 0, close: () => worker.terminate() };
}

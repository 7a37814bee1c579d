/**
 * One round of the whole lifecycle over real sockets: HTTP submit → push to an agent → HTTP result → SSE
 * event, many at once. Client and agent run in this process; what is measured is the server's own process.
 */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, request } from 'undici';

export type Round = {
  /** CPU of the server and of the store it runs on, all their threads, per task. */
  readonly cpuMs: number;
  readonly tasksPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Resident memory of the same processes, after the round. */
  readonly rssMb: number;
};

export type Load = { readonly tasks: number; readonly inFlight: number };

export const SECRET = 'bench-secret-bench-secret';
/** What each task carries. */
export const PAYLOAD = { text: '把这句话翻译成英文', options: { tone: 'formal', words: 120 } };
/** Linux counts CPU in these. */
const TICK_MS = 10;

/** Runs one round against a running server; `session` must be new. */
export async function runRound(
  url: string,
  pids: readonly number[],
  session: string,
  load: Load,
): Promise<Round> {
  const wire = new Agent({ connections: load.inFlight, pipelining: 1 });
  const agent = await startAgent(url, wire, load.inFlight);
  const ended = new Map<string, number>();
  const waiting = new Map<string, (atMs: number) => void>();
  const stream = await openStream(url, wire, session, (request_id) => {
    const atMs = performance.now();
    ended.set(request_id, atMs);
    waiting.get(request_id)?.(atMs);
  });

  const took: number[] = [];
  const lane = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      const startMs = performance.now();
      const { request_id } = await call(url, wire, '/api/cli/tasks', {
        auth: SECRET,
        task_type: 'translate',
        task_tags: ['bench'],
        payload: PAYLOAD,
        cli_session_id: session,
        timeout: 600,
      });
      const endMs =
        ended.get(request_id) ?? (await new Promise<number>((resolve) => waiting.set(request_id, resolve)));
      waiting.delete(request_id);
      took.push(endMs - startMs);
    }
  };
  await lane(20);
  took.length = 0;
  const cpuBefore = sum(pids.map(readCpuMs));
  const startMs = performance.now();
  await Promise.all(Array.from({ length: load.inFlight }, () => lane(Math.ceil(load.tasks / load.inFlight))));
  const wallMs = performance.now() - startMs;
  const cpuMs = sum(pids.map(readCpuMs)) - cpuBefore;
  stream.close();
  await agent.close();
  await wire.close();
  took.sort((a, b) => a - b);
  const at = (share: number): number => took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0;
  return {
    cpuMs: cpuMs / took.length,
    tasksPerSecond: (took.length / wallMs) * 1_000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    rssMb: sum(pids.map(readRssMb)),
  };
}

/** User and system time of a process with all its threads. */
export function readCpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Resident memory of a process. */
export function readRssMb(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1_024;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** One call as JSON; rejects when the status is not 200. */
export async function call(
  url: string,
  wire: Agent,
  path: string,
  body: object,
): Promise<{ request_id: string }> {
  const answer = await request(`${url}${path}`, {
    dispatcher: wire,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${text}`);
  return JSON.parse(text) as { request_id: string };
}

/** An agent that takes every push with 202 and reports success right after. */
export async function startAgent(
  url: string,
  wire: Agent,
  capacity: number,
): Promise<{ close(): Promise<void> }> {
  const reports = new Set<Promise<unknown>>();
  const server: Server = createServer((incoming, answer) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      answer.writeHead(202).end();
      const { request_id } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { request_id: string };
      const result = { reply: '收到', output: 'Translate this sentence.' };
      const report = {
        request_id,
        agent_id: 'bench',
        status: 'success',
        progress: 100,
        result,
        error_info: null,
      };
      const reported = call(url, wire, '/api/agent/result', report).finally(() => reports.delete(reported));
      reports.add(reported);
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await call(url, wire, '/api/agent/register', {
    auth: SECRET,
    agent_id: 'bench',
    endpoint: `http://127.0.0.1:${port}/tasks`,
    agent_tags: ['bench'],
    max_concurrent: capacity + 10,
    current_load: 0,
  });
  return {
    async close() {
      await Promise.all(reports);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Follows a session's events. */
export async function openStream(
  url: string,
  wire: Agent,
  session: string,
  onEvent: (request_id: string) => void,
): Promise<{ close(): void }> {
  const stop = new AbortController();
  const { body, statusCode } = await request(
    `${url}/api/cli/events?cli_session_id=${session}&auth=${SECRET}`,
    {
      dispatcher: wire,
      signal: stop.signal,
      bodyTimeout: 0,
    },
  );
  if (statusCode !== 200) throw new Error(`the stream answered ${statusCode}`);
  body.setEncoding('utf8');
  let rest = '';
  body.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data: '))
        onEvent((JSON.parse(line.slice(6)) as { request_id: string }).request_id);
    }
  });
  body.on('error', () => undefined);
  return { close: () => stop.abort() };
}

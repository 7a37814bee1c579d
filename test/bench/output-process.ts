/**
 * The process of the output's load: an agent that writes to many tasks at a steady rate, a reader of each,
 * and beside them plain tasks that end at once. It does one command at a time.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import type { OutputCommand, OutputReply } from './output.ts';
import { call, openStream, PAYLOAD, SECRET, startAgent } from './parties.ts';

const AGENT_ID = 'writer';
const SESSION = 'plain';
const PLAIN_CAPACITY = 1_000;
/** How often it looks at what is due. */
const TURN_MS = 2;
/** As much as a model writes in a tenth of a second, ten tokens. */
const WORDS = 'the quick brown fox jumps over the lazy dog and on.';
/** The time in a piece, by which its reader knows how long it took. */
const SENT = /"text":"([\d.]+) /g;

type Writing = { readonly request_id: string; readonly url: string; next: number; isUnderWay: boolean };

const [urls] = (await once(process, 'message')) as [readonly string[]];
/** Connections that are new in each run: while others are measured the server closes what is idle. */
let wire = openWire();
const tasks: Writing[] = [];
const pushed = Promise.withResolvers<void>();
/** When the event of each plain task came. */
const plainEnds = new Map<string, PromiseWithResolvers<number>>();
let readMs: number[] = [];

process.once('disconnect', () => process.exit());
process.on('message', async (command: OutputCommand) => {
  process.send?.(await obey(command));
});
process.send?.({ ok: true });

function openWire(): Agent {
  return new Agent({ connections: 128, pipelining: 1 });
}

async function obey(command: OutputCommand): Promise<OutputReply> {
  switch (command.op) {
    case 'submit':
      await submitAll(command.tasks);
      return { ok: true };
    case 'write':
      await Promise.all(tasks.map(write));
      return { ok: true };
    case 'follow':
      await Promise.all(tasks.map(({ request_id }, n) => follow(request_id, urls[(n + 1) % urls.length])));
      return { ok: true };
    case 'plain':
      await openStream(urls[0] ?? '', new Agent(), SESSION, (id) => endOf(id).resolve(performance.now()));
      return { ok: true };
    case 'run':
      return { ok: true, ...(await run(command)) };
    case 'settle':
      wire = openWire();
      await Promise.all(tasks.map(settle));
      return { ok: true };
  }
}

/** Submits the tasks; resolves when the agent has all of them. */
async function submitAll(count: number): Promise<void> {
  let taken = 0;
  const server = createServer((incoming, response) => {
    incoming.resume().on('end', () => response.writeHead(202).end());
    taken += 1;
    if (taken === count) pushed.resolve();
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}/tasks`;
  const agent = { agent_id: AGENT_ID, endpoint, agent_tags: ['writes'], max_concurrent: count };
  await call(urls[0] ?? '', wire, '/api/agent/register', { auth: SECRET, ...agent, current_load: 0 });
  const task = { auth: SECRET, task_type: 'write', task_tags: ['writes'], payload: PAYLOAD, timeout: 3_600 };
  const submitted = Array.from({ length: count }, async (_, n) => {
    const url = urls[n % urls.length] ?? '';
    const { request_id } = await call(url, wire, '/api/cli/tasks', { ...task, cli_session_id: '' });
    tasks.push({ request_id, url, next: 0, isUnderWay: false });
  });
  await Promise.all(submitted);
  await pushed.promise;
}

/** Writes a piece. */
async function write(task: Writing): Promise<void> {
  const { request_id, url, next } = task;
  task.isUnderWay = true;
  const sentMs = performance.now();
  const pieces = [{ text: `${sentMs.toFixed(3)} ${WORDS}` }];
  const body = { auth: SECRET, agent_id: AGENT_ID, request_id, writer: 'k3Fq', from: next, pieces };
  await call(url, wire, '/api/agent/output', body);
  task.next += 1;
  task.isUnderWay = false;
}

/** Follows an output over a connection of its own. */
async function follow(request_id: string, url = ''): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  socket.write(
    `GET /api/cli/tasks/${request_id}/output?auth=${SECRET} HTTP/1.1\r\nHost: localhost\r\n` +
      'Accept: text/event-stream\r\n\r\n',
  );
  const [first] = (await once(socket, 'data')) as [string];
  if (!first.startsWith('HTTP/1.1 200')) throw new Error(`The stream of an output responded ${first}.`);
  let rest = '';
  socket.on('data', (chunk: string) => {
    const text = rest + chunk;
    const end = text.lastIndexOf('\n') + 1;
    rest = text.slice(end);
    for (const [, sentMs] of text.slice(0, end).matchAll(SENT))
      readMs.push(performance.now() - Number(sentMs));
  });
}

/** Ends a task. */
async function settle({ request_id, url }: Writing): Promise<void> {
  const report = { request_id, agent_id: AGENT_ID, status: 'success', progress: 100, result: null };
  await call(url, wire, '/api/agent/result', { auth: SECRET, ...report, error_info: null });
}

type Run = Extract<OutputCommand, { op: 'run' }>;

/** Both loads, each an open loop: what is due is sent, whether or not what was sent before is over. */
async function run({ seconds, writesPerSecond, plainPerSecond }: Run): Promise<Omit<OutputReply, 'ok'>> {
  wire = openWire();
  const agent = plainPerSecond > 0 ? await startAgent(urls, wire, PLAIN_CAPACITY) : undefined;
  readMs = [];
  const plainMs: number[] = [];
  const commitMs: number[] = [];
  const startMs = performance.now();
  const written: Promise<void>[] = [];
  const ended: Promise<unknown>[] = [];
  let [writes, plain] = [0, 0];
  for (let nowMs = startMs; nowMs < startMs + seconds * 1_000; nowMs = performance.now()) {
    for (; writes < ((nowMs - startMs) / 1_000) * writesPerSecond; writes += 1) {
      const task = tasks[writes % tasks.length];
      // A writer sends one call at a time.
      if (task && !task.isUnderWay) written.push(write(task));
    }
    for (; plain < ((nowMs - startMs) / 1_000) * plainPerSecond; plain += 1) {
      const dueMs = startMs + (plain * 1_000) / plainPerSecond;
      ended.push(runPlain(plain, dueMs, commitMs).then((ms) => plainMs.push(ms)));
    }
    await sleep(TURN_MS);
  }
  await Promise.all([...written, ...ended]);
  while (readMs.length < written.length) await sleep(TURN_MS);
  await agent?.close();
  await wire.close();
  return { readMs, plainMs, commitMs };
}

/** A plain task, from when it was due to its event; how long its submission took is noted. */
async function runPlain(n: number, dueMs: number, commitMs: number[]): Promise<number> {
  const sentMs = performance.now();
  const task = { auth: SECRET, task_type: 'translate', task_tags: ['bench'], payload: PAYLOAD, timeout: 600 };
  const url = urls[n % urls.length] ?? '';
  const { request_id } = await call(url, wire, '/api/cli/tasks', { ...task, cli_session_id: SESSION });
  commitMs.push(performance.now() - sentMs);
  const endMs = await endOf(request_id).promise;
  plainEnds.delete(request_id);
  return endMs - dueMs;
}

function endOf(request_id: string): PromiseWithResolvers<number> {
  const end = plainEnds.get(request_id) ?? Promise.withResolvers<number>();
  plainEnds.set(request_id, end);
  return end;
}

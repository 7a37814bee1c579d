/**
 * The process of a load: client, agent and reader of the events. It gets one `LoadOrder`, sends `ready` once
 * everything is connected and warm, waits for a word, and sends what it measured.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { call, openStream, PAYLOAD, SECRET, startAgent } from './parties.ts';
import type { Load, LoadMessage, LoadOrder } from './workload.ts';

/** Connections of an open loop, and the slots of its agent: more than are ever in use. */
const OPEN_LOOP_MAX = 1_000;
const CONNECTIONS_MAX = 128;
/** Tasks before the measurement, which open the connections. */
const FIRST_TASKS = 20;
/** How often the open loop looks at what is due. */
const TURN_MS = 2;

const [order] = (await once(process, 'message')) as [LoadOrder];
const { urls, session, load } = order;
const inFlight = 'inFlight' in load.pace ? load.pace.inFlight : OPEN_LOOP_MAX;
const payload = buildPayload(load);
const ended = new Map<string, number>();
const waiting = new Map<string, (atMs: number) => void>();
let tookMs: number[] = [];

const wire = new Agent({ connections: Math.min(inFlight, CONNECTIONS_MAX), pipelining: 1 });
await startAgent(urls, wire, inFlight);
await openStream(urls[0] ?? '', new Agent(), session, (request_id) => {
  const atMs = performance.now();
  const isAwaited = waiting.get(request_id);
  if (isAwaited) isAwaited(atMs);
  else ended.set(request_id, atMs);
});
for (let n = 0; n < FIRST_TASKS; n += 1) await runTask(n, performance.now());
send({ ready: true });
await once(process, 'message');

tookMs = [];
const startMs = performance.now();
await ('inFlight' in load.pace ? runClosedLoop(load.pace.inFlight) : runOpenLoop(load.pace.perSecond));
send({ result: { tookMs, wallMs: performance.now() - startMs } });

function send(message: LoadMessage): void {
  process.send?.(message);
}

/** Submits a task and waits for its event; its time counts from `fromMs`. */
async function runTask(n: number, fromMs: number): Promise<void> {
  const { request_id } = await call(urls[n % urls.length] ?? '', wire, '/api/cli/tasks', {
    auth: SECRET,
    task_type: 'translate',
    task_tags: ['bench'],
    payload,
    cli_session_id: session,
    timeout: 600,
  });
  const early = ended.get(request_id);
  ended.delete(request_id);
  const endMs = early ?? (await new Promise<number>((resolve) => waiting.set(request_id, resolve)));
  waiting.delete(request_id);
  tookMs.push(endMs - fromMs);
}

async function runClosedLoop(lanes: number): Promise<void> {
  let next = 0;
  const runLane = async (): Promise<void> => {
    while (next < load.tasks) {
      next += 1;
      await runTask(next, performance.now());
    }
  };
  await Promise.all(Array.from({ length: lanes }, runLane));
}

async function runOpenLoop(perSecond: number): Promise<void> {
  const tasks: Promise<void>[] = [];
  while (tasks.length < load.tasks) {
    const nowMs = performance.now();
    while (tasks.length < load.tasks) {
      const dueMs = startMs + (tasks.length * 1_000) / perSecond;
      if (dueMs > nowMs) break;
      tasks.push(runTask(tasks.length, dueMs));
    }
    await sleep(TURN_MS);
  }
  await Promise.all(tasks);
}

/** A payload of about this many bytes, as agents see them: an object with texts. */
function buildPayload({ payloadBytes }: Load): object {
  if (payloadBytes === undefined) return PAYLOAD;
  const text = 'The quick brown fox jumps over the lazy dog. ';
  const parts = Math.ceil(payloadBytes / 1_000);
  return { parts: Array.from({ length: parts }, (_, n) => `${n} ${text.repeat(22)}`) };
}

/**
 * What grows with what is stored: calls on a store with few and with many ended tasks, and with many waiting,
 * and how long the gateway takes to start on each. The stores are written by the engines themselves, as the
 * gateway would.
 */
import { statSync } from 'node:fs';
import { Agent, request } from 'undici';
import { PULL_ENDPOINT } from '../../server/domain/agent.ts';
import { dueMs } from '../../server/domain/delivery.ts';
import { step } from '../../server/domain/step.ts';
import { createTaskState } from '../../server/domain/task.ts';
import { parseRedisAddress } from '../../server/engines/redis/client/address.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import { openFileStore } from '../../server/engines/sqlite/open.ts';
import { batchFor } from '../../server/gateway/tasks/task-batch.ts';
import { type Store, taskRef } from '../../server/ports/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { submissionOf } from '../engines/store-under-test.ts';
import { SILENT } from '../harness/silent-log.ts';
import { SECRET } from './parties.ts';
import { readCpuMs, readRssMb, sumOver } from './process-figures.ts';
import { type Redis, type Server, startGateway } from './servers.ts';

export const GROWTH_CALLS = ['submit', 'claim', 'get', 'list', 'overview', 'replay'] as const;

export type Growth = {
  readonly stored: number;
  readonly open: number;
  readonly startMs: number;
  /** Resident memory of the server after its start. */
  readonly memoryMb: number;
  /** CPU per call, of the server and the store it runs on; a claimed task is reported too. */
  readonly cpuMs: Readonly<Record<(typeof GROWTH_CALLS)[number], number>>;
  /** What a stored task takes there. */
  readonly storeBytes: number;
};

/** Where the tasks are stored: a new file, or an empty Redis. */
export type StoreLocation = { readonly path: string } | { readonly redis: Redis };

const GROUP = 1_000;
const LANES = 8;
/**
 * A page of a listing, and the events of one session: replayed is the same amount whatever is stored beside
 * it.
 */
const PAGE = 50;
const CLAIMER = { auth: SECRET, agent_id: 'claimer' };

/** Opens the store as the gateway does. */
async function openStore(location: StoreLocation): Promise<Store> {
  const clock = createClock();
  if ('path' in location) return await openFileStore(location.path, { clock, log: SILENT });
  const address = parseRedisAddress(location.redis.url);
  if ('mistake' in address) throw new Error(address.mistake);
  return await openRedisStore({ address, durability: 'memory', clock, log: SILENT });
}

/** Starts the gateway on the store. */
function startOn(location: StoreLocation, name: string): Promise<Server> {
  return startGateway(name, 'path' in location ? `sqlite:${location.path}` : location.redis);
}

/** The file's size, or the memory Redis takes. */
function readBytes(location: StoreLocation): number {
  return 'path' in location ? statSync(location.path).size : readRssMb(location.redis.pid) * 2 ** 20;
}

/** Does something for each number below `count`, many at once. */
async function forEach(count: number, work: (n: number) => Promise<void>): Promise<void> {
  for (let first = 0; first < count; first += GROUP) {
    await Promise.all(Array.from({ length: Math.min(GROUP, count - first) }, (_, n) => work(first + n)));
  }
}

/** Stores this many ended tasks, and this many that wait. */
async function fillStore(location: StoreLocation, stored: number, open: number): Promise<void> {
  const store = await openStore(location);
  await forEach(stored + open, (n) => storeTask(store, n, n < stored));
  await store.close();
}

async function storeTask(store: Store, n: number, ends: boolean): Promise<void> {
  const request_id = nameTask(n);
  const nowMs = store.nowMs();
  const input = {
    request_id,
    task_type: 'translate',
    task_tags: ['bench'],
    payload: { text: '把这句话翻译成英文' },
    cli_session_id: nameSession(n),
    create_time: nowMs / 1_000,
    timeout: 86_400,
  };
  const times = { createdMs: nowMs, deadlineMs: nowMs + 86_400_000, queueEndMs: nowMs + 86_400_000 };
  const state = { ...createTaskState(input, times, 16), waiting: !ends };
  const due = [{ ref: taskRef(request_id), atMs: dueMs(state) }];
  const submitted = await store.commit(submissionOf(input, state, { due }));
  if (!submitted.ok) throw new Error(`${request_id}: ${submitted.conflict}`);
  if (!ends) return;
  const trigger = { type: 'cancel' } as const;
  const ended = step(state, trigger, nowMs);
  if (!ended.ok) throw new Error(ended.refusal);
  const before = { value: state, revision: submitted.revision };
  const settled = await store.commit(batchFor({ request_id, before, after: ended.state, trigger }));
  if (!settled.ok) throw new Error(`${request_id}: ${settled.conflict}`);
}

function nameSession(n: number): string {
  return `s${Math.floor(n / PAGE)}`;
}

function nameTask(n: number): string {
  return `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`;
}

/** Starts the gateway on a filled store and makes this many calls of each kind. */
export async function measureGrowth(
  location: StoreLocation,
  stored: number,
  open: number,
  calls: number,
): Promise<Growth> {
  await fillStore(location, stored, open);
  const storeBytes = readBytes(location) / (stored + open);
  const server = await startOn(location, `${stored} stored`);
  const wire = new Agent({ connections: 8, pipelining: 1 });
  const work = { server, wire, calls };
  const memoryMb = sumOver(server.pids.slice(0, 1), readRssMb);
  const pick = (): number => Math.floor(Math.random() * stored);
  const submission = { auth: SECRET, task_type: 't', task_tags: [], payload: {}, cli_session_id: 'growth' };
  const measure = async (): Promise<Growth['cpuMs']> => ({
    submit: await cost(work, () => post(work, '/api/cli/tasks', submission)),
    claim: await cost(work, () => claimAndReport(work)),
    get: await cost(work, () => get(work, `/api/cli/tasks/${nameTask(pick())}`)),
    list: await cost(work, () => get(work, `/api/admin/tasks?limit=${PAGE}`)),
    overview: await cost(work, () => get(work, '/api/admin/overview')),
    replay: await cost(work, () => replay(work, nameSession(pick()))),
  });
  try {
    const agent = { ...CLAIMER, endpoint: PULL_ENDPOINT, agent_tags: ['bench'], max_concurrent: 200 };
    await post(work, '/api/agent/register', agent);
    await measure();
    const { startMs } = server;
    return { stored, open, startMs, memoryMb, cpuMs: await measure(), storeBytes };
  } finally {
    await wire.close();
    await server.stop();
  }
}

/** A server and this many calls of it. */
type Work = { readonly server: Server; readonly wire: Agent; readonly calls: number };

const HEADERS = {
  authorization: `Bearer ${SECRET}`,
  'x-admin-auth': `${SECRET}-admin`,
  'content-type': 'application/json',
};

/** CPU per call of the server, over many calls, eight at once. */
async function cost({ server, calls }: Work, call: () => Promise<unknown>): Promise<number> {
  const read = (): number => sumOver(server.pids, readCpuMs);
  const before = read();
  const lane = async (): Promise<void> => {
    for (let n = 0; n < calls / LANES; n += 1) await call();
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return (read() - before) / calls;
}

/** Reads a path; throws unless it is served. */
async function get({ server, wire }: Work, path: string): Promise<void> {
  const answer = await request(`${server.url}${path}`, { dispatcher: wire, headers: HEADERS });
  await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`);
}

async function post({ server, wire }: Work, path: string, body: object): Promise<string> {
  const sent = { dispatcher: wire, method: 'POST' as const, headers: HEADERS, body: JSON.stringify(body) };
  const answer = await request(`${server.url}${path}`, sent);
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`);
  return text;
}

async function claimAndReport(work: Work): Promise<void> {
  const claimed = await post(work, '/api/agent/claim', { ...CLAIMER, wait: 5 });
  const { request_id } = JSON.parse(claimed) as { readonly request_id: string };
  await post(work, '/api/agent/result', { ...CLAIMER, request_id, status: 'success', result: {} });
}

/** Subscribes, reads every stored event of the session, and disconnects. */
async function replay({ server, wire }: Work, session: string): Promise<void> {
  const url = `${server.url}/api/cli/events?cli_session_id=${session}`;
  const { body } = await request(url, { dispatcher: wire, headers: HEADERS });
  let seen = 0;
  for await (const chunk of body) {
    seen += String(chunk).split('data: ').length - 1;
    if (seen >= PAGE) break;
  }
}

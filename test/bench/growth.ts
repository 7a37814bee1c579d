/**
 * What grows with what is stored: submit, get, list and replay on a file with few and with many ended tasks, and how
 * long the gateway takes to start on each. The files are written by the engine itself, as the gateway would.
 */
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { step } from '../../server/domain/step.ts';
import { createTaskState, dueMs } from '../../server/domain/task.ts';
import { openEmbeddedStore } from '../../server/engines/embedded/open.ts';
import { batchFor } from '../../server/gateway/transition.ts';
import type { Store } from '../../server/ports/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { SILENT } from '../fakes/silence.ts';
import { readCpuMs, SECRET } from './lifecycle.ts';
import { type Server, startGateway } from './servers.ts';

export type Growth = {
  readonly stored: number;
  readonly open: number;
  readonly startMs: number;
  /** Server CPU per call. */
  readonly cpuMs: Readonly<Record<'submit' | 'get' | 'list' | 'replay', number>>;
};

const GROUP = 2_000;
const LANES = 8;
/** A page of a listing, and the events of one session: replayed is the same amount whatever is stored beside it. */
const PAGE = 50;

/** Writes a file with so many ended tasks, and so many open ones. */
export async function fillStore(path: string, stored: number, open: number): Promise<void> {
  const store = await openEmbeddedStore({ storage: `sqlite:${path}`, clock: createClock(), log: SILENT });
  for (let first = 0; first < stored + open; first += GROUP) {
    const count = Math.min(GROUP, stored + open - first);
    await Promise.all(
      Array.from({ length: count }, (_, n) => storeTask(store, first + n, first + n < stored)),
    );
  }
  await store.close();
}

async function storeTask(store: Store, n: number, ends: boolean): Promise<void> {
  const request_id = nameTask(n);
  const nowMs = store.nowMs();
  const input = {
    ...{ request_id, task_type: 'translate', task_tags: ['bench'], payload: { text: '把这句话翻译成英文' } },
    ...{ cli_session_id: nameSession(n), create_time: nowMs / 1_000, timeout: 86_400 },
  };
  const times = { createdMs: nowMs, deadlineMs: nowMs + 86_400_000, queueEndMs: nowMs + 86_400_000 };
  const state = createTaskState(input, times);
  const submitted = await store.commit({
    writes: [
      { kind: 'input', id: request_id, expect: 'absent', value: input },
      { kind: 'task', id: request_id, expect: 'absent', value: state },
    ],
    due: [{ ref: `task:${request_id}`, atMs: dueMs(state) }],
  });
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

/** Starts the gateway on a filled file and makes so many calls of each kind. */
export async function measureGrowth(
  folder: string,
  stored: number,
  open: number,
  calls: number,
): Promise<Growth> {
  const path = join(folder, `growth-${stored}.db`);
  await fillStore(path, stored, open);
  const server = await startGateway(`${stored} stored`, `sqlite:${path}`);
  const wire = new Agent({ connections: 8, pipelining: 1 });
  const work = { server, wire, calls };
  const pick = (): number => Math.floor(Math.random() * stored);
  const submission = { auth: SECRET, task_type: 't', task_tags: [], payload: {}, cli_session_id: 'growth' };
  const measure = async (): Promise<Growth['cpuMs']> => ({
    submit: await cost(work, () => post(work, '/api/cli/tasks', submission)),
    get: await cost(work, () => get(work, `/api/cli/tasks/${nameTask(pick())}`)),
    list: await cost(work, () => get(work, `/api/admin/tasks?limit=${PAGE}`)),
    replay: await cost(work, () => replay(work, nameSession(pick()))),
  });
  try {
    await measure();
    return { stored, open, startMs: server.startMs, cpuMs: await measure() };
  } finally {
    await wire.close();
    await server.stop();
  }
}

type Work = { readonly server: Server; readonly wire: Agent; readonly calls: number };

const HEADERS = {
  authorization: `Bearer ${SECRET}`,
  'x-admin-auth': `${SECRET}-admin`,
  'content-type': 'application/json',
};

/** CPU per call of the server, over many calls, eight at once. */
async function cost({ server, calls }: Work, call: () => Promise<void>): Promise<number> {
  const before = readCpuMs(server.pid);
  const lane = async (): Promise<void> => {
    for (let n = 0; n < calls / LANES; n += 1) await call();
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return (readCpuMs(server.pid) - before) / calls;
}

async function get({ server, wire }: Work, path: string): Promise<void> {
  const answer = await request(`${server.url}${path}`, { dispatcher: wire, headers: HEADERS });
  await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`);
}

async function post({ server, wire }: Work, path: string, body: object): Promise<void> {
  const sent = { dispatcher: wire, method: 'POST' as const, headers: HEADERS, body: JSON.stringify(body) };
  const answer = await request(`${server.url}${path}`, sent);
  await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`);
}

/** Subscribes, reads every stored event of the session, leaves. */
async function replay({ server, wire }: Work, session: string): Promise<void> {
  const url = `${server.url}/api/cli/events?cli_session_id=${session}`;
  const { body } = await request(url, { dispatcher: wire, headers: HEADERS });
  let seen = 0;
  for await (const chunk of body) {
    seen += String(chunk).split('data: ').length - 1;
    if (seen >= PAGE) break;
  }
}

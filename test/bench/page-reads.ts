/**
 * What the calls behind the pages of an administrator cost, on a store with few tasks and on a full one:
 * tasks that ended through a day, waiting and running ones, agents that are full, many tags. The store is
 * written through the port, a commit a task, so that a full one is there in minutes.
 */
import { setTimeout } from 'node:timers/promises';
import { Agent } from 'undici';
import { completeAgent, PULL_ENDPOINT } from '../../server/domain/agent.ts';
import { OUTCOMES } from '../../server/domain/history-record.ts';
import { createTaskState, type TaskInput, type TaskState } from '../../server/domain/task.ts';
import type { Batch, Store } from '../../server/ports/store.ts';
import { createIds } from '../../server/system/ids.ts';
import { submissionOf } from '../engines/store-under-test.ts';
import { cost, forEach, get, openStore, type StoreLocation, startOn } from './growth.ts';
import { readCpuMs, sumOver } from './process-figures.ts';
import type { Server } from './servers.ts';

/** How much is stored. */
export type Stored = {
  readonly ended: number;
  readonly waiting: number;
  /** Each has one slot, and runs one task in it. */
  readonly agents: number;
  readonly tags: number;
};

export type PageReads = {
  readonly stored: Stored;
  readonly startMs: number;
  /** CPU per call, of the server and the store it runs on, by the name of the call. */
  readonly cpuMs: ReadonlyMap<string, number>;
};

const DAY_MS = 86_400_000;
const CALLS = 160;
/** A server that takes less than this share of a core has done what a start leaves to do. */
const IDLE_SHARE = 0.05;
const IDLE_CHECKS_MAX = 60;
const IDLE_CHECK_MS = 500;

/** The ids that the calls name. */
type Names = { readonly request_id: string; readonly agent_id: string };

/** The calls by name: what the pages ask for again and again, then what a person asks for now and then. */
function pathsOf({ request_id, agent_id }: Names): ReadonlyMap<string, string> {
  const rows = '/api/admin/tasks?limit=50';
  return new Map([
    ['overview', '/api/admin/overview'],
    ['rows of tasks', rows],
    ['… that wait', `${rows}&waiting=true`],
    ['… that failed', `${rows}&outcome=failed`],
    ['… of an agent', `${rows}&agent=${agent_id}`],
    ['… by the end of an id', `${rows}&id=${request_id.slice(-8)}`],
    ['… by a combined filter', `${rows}&outcome=failed&tag=tag-1&type=none`],
    ['counts of tasks', '/api/admin/tasks?limit=1&counts=true'],
    ['rows of agents', '/api/admin/agents?limit=50'],
  ]);
}

/** Fills the store, starts the gateway on it, and makes each of the calls many times. */
export async function measurePageReads(location: StoreLocation, stored: Stored): Promise<PageReads> {
  const paths = pathsOf(await fill(location, stored));
  const server = await startOn(location, `${stored.ended} ended`);
  const wire = new Agent({ connections: 8, pipelining: 1 });
  const work = { server, wire, calls: CALLS };
  const cpuMs = new Map<string, number>();
  try {
    await waitUntilIdle(server);
    for (const path of paths.values()) await cost(work, () => get(work, path));
    for (const [name, path] of paths) cpuMs.set(name, await cost(work, () => get(work, path)));
    return { stored, startMs: server.startMs, cpuMs };
  } finally {
    await wire.close();
    await server.stop();
  }
}

/** Each agent is looked at after a start, which is no part of what a call costs. */
async function waitUntilIdle({ pids }: Server): Promise<void> {
  for (let check = 0; check < IDLE_CHECKS_MAX; check += 1) {
    const before = sumOver(pids, readCpuMs);
    await setTimeout(IDLE_CHECK_MS);
    if (sumOver(pids, readCpuMs) - before < IDLE_CHECK_MS * IDLE_SHARE) return;
  }
  console.error('The server still works by itself: what calls cost has that in it.');
}

/** Stores it all, and names a task that ended in the middle of the day, and an agent. */
async function fill(location: StoreLocation, { ended, waiting, agents, tags }: Stored): Promise<Names> {
  const store = await openStore(location);
  const ids = createIds();
  const tag = (n: number): string => `tag-${n % tags}`;
  let request_id = '';
  await forEach(agents, (n) => storeAgent(store, n, [tag(n), tag(n * 7), tag(n * 13)]));
  const beganMs = store.nowMs() - DAY_MS;
  await forEach(ended, async (n) => {
    const createdMs = beganMs + Math.floor((n / ended) * DAY_MS);
    const task = nameTask(ids.newRequestId(createdMs), tag(n), createdMs);
    if (n === Math.floor(ended / 2)) request_id = task.input.request_id;
    await commit(store, endedTask(task, n));
  });
  await forEach(agents, async (n) => {
    await commit(store, runningTask(nameTask(ids.newRequestId(store.nowMs()), tag(n), store.nowMs()), n));
  });
  await forEach(waiting, async (n) => {
    await commit(store, waitingTask(nameTask(ids.newRequestId(store.nowMs()), tag(n), store.nowMs())));
  });
  await store.close();
  return { request_id, agent_id: nameAgent(0) };
}

/** A task as it was submitted. */
type Task = { readonly input: TaskInput; readonly state: TaskState };

function nameTask(request_id: string, tag: string, createdMs: number): Task {
  const input: TaskInput = {
    request_id,
    task_type: 'translate',
    task_tags: [tag],
    payload: { text: '把这句话翻译成英文' },
    cli_session_id: `s${Math.floor(createdMs / 60_000)}`,
    create_time: createdMs / 1_000,
    timeout: 86_400,
  };
  const endMs = createdMs + 2 * DAY_MS;
  return { input, state: createTaskState(input, { createdMs, deadlineMs: endMs, queueEndMs: endMs }, 16) };
}

/** Nine of ten succeeded; the others ended in each other way. */
function endedTask(task: Task, n: number): Batch {
  const outcome = n % 10 === 0 ? (OUTCOMES[1 + ((n / 10) % (OUTCOMES.length - 1))] ?? 'failed') : 'success';
  const settledMs = task.state.createdMs + 1_000;
  const ending =
    outcome === 'success'
      ? ({ status: 'success', result: { text: 'done' } } as const)
      : ({ status: 'failed', error_info: `it ended as ${outcome}` } as const);
  const agent_id = nameAgent(n % 1_000);
  const by = outcome === 'no_agent' ? {} : { agent_id, assignees: [agent_id] };
  const history = [[outcome, settledMs]] as const;
  return submissionOf(task.input, { ...task.state, ...by, ...ending, settledMs, queueEndMs: null, history });
}

function runningTask(task: Task, n: number): Batch {
  const { request_id } = task.input;
  const agent_id = nameAgent(n);
  const { createdMs, deadlineMs } = task.state;
  const delivery = {
    assignedMs: createdMs,
    attempts: 1,
    untaken: 0,
    attemptMs: createdMs,
    acknowledged: true,
    disowned: 0,
    nextMs: null,
    busy: [],
    pull: true,
  };
  const running = { status: 'running', agent_id, assignees: [agent_id], queueEndMs: null, delivery } as const;
  return {
    ...submissionOf(task.input, { ...task.state, ...running }),
    due: [{ ref: `task:${request_id}`, atMs: deadlineMs }],
    slots: [{ op: 'grant', agent_id, request_id, registration: `r${n}` }],
  };
}

function waitingTask(task: Task): Batch {
  const { request_id } = task.input;
  const { deadlineMs } = task.state;
  return {
    ...submissionOf(task.input, { ...task.state, waiting: true }),
    due: [{ ref: `task:${request_id}`, atMs: deadlineMs }],
  };
}

async function storeAgent(store: Store, n: number, agent_tags: readonly string[]): Promise<void> {
  const record = completeAgent({
    agent_id: nameAgent(n),
    endpoint: PULL_ENDPOINT,
    agent_tags,
    max_concurrent: 1,
    external: 0,
    registration: `r${n}`,
    registeredMs: store.nowMs(),
    draining: false,
    offlineMs: null,
    left: false,
    unregisteredMs: null,
    lostAfterMs: null,
  });
  await commit(store, {
    writes: [{ kind: 'agent', id: record.agent_id, expect: 'absent', value: record }],
    due: [{ ref: `agent:${record.agent_id}`, atMs: store.nowMs() + 60_000 }],
  });
}

function nameAgent(n: number): string {
  return `agent-${n}`;
}

async function commit(store: Store, batch: Batch): Promise<void> {
  const committed = await store.commit(batch);
  if (!committed.ok) throw new Error(`${batch.writes?.[0]?.id}: ${committed.conflict}`);
}

/**
 * What the conformance suite needs of an engine: fresh data, stores over it, and a clock and a disk that the
 * test controls. Also what the suites are written with: records, common batches, and waiting for a condition.
 */
import { expect } from 'vitest';
import { yieldToEventLoop } from '../../server/async/waiting.ts';
import { type AgentFields, type AgentRecord, completeAgent } from '../../server/domain/agent.ts';
import type { TaskDetails, TaskInput, TaskState } from '../../server/domain/task.ts';
import { taskWrite } from '../../server/gateway/tasks/task-batch.ts';
import type {
  Batch,
  CommitResult,
  FeedItem,
  Ref,
  Revision,
  Store,
  Stored,
} from '../../server/ports/store.ts';

/** One engine's data, from empty to disposed. */
export type StoreUnderTest = {
  /** Opens a store on this data. `wallShiftMs`: how far the wall clock was set since the first one. */
  open(options?: { readonly wallShiftMs?: number }): Promise<Store>;
  /** Advances the store's clock and wakes what sleeps on it. */
  advance(ms: number): Promise<void>;
  readonly disk?: Disk;
  /** Closes what is open and removes the data. */
  dispose(): Promise<void>;
};

/** A disk, or a connection to one, that the test controls. */
export type Disk = {
  /** Whether reads go through the same connection as writes, so that they wait for a write that is held. */
  readonly readsWaitForWrites: boolean;
  /** Whether reads show what is durable meanwhile; else they wait for what is under way. */
  readonly readsShowDurable: boolean;
  /** From now on no write becomes durable until `release()`. */
  hold(): void;
  release(): void;
  /** Whether a write is being held. */
  isHolding(): boolean;
  /** From now on until `mend()`, writes fail: either they are not applied, or only their reply is lost. */
  fail(how: 'lost' | 'applied'): void;
  mend(): void;
};

/** A signal that never fires. */
export const NEVER: AbortSignal = new AbortController().signal;

/** An agent with the tag `a` and one slot. */
export function buildAgent(agent_id: string, more: Partial<AgentFields> = {}): AgentRecord {
  return completeAgent({
    agent_id,
    endpoint: 'http://agent.test/tasks',
    agent_tags: ['a'],
    max_concurrent: 1,
    external: 0,
    registration: `registration of ${agent_id}`,
    registeredMs: 1,
    draining: false,
    offlineMs: null,
    left: false,
    unregisteredMs: null,
    lostAfterMs: null,
    ...more,
  });
}

/** A pending task with the tag `a`, of the session `s`. */
export function buildState(store: Store, more: Partial<TaskState> = {}): TaskState {
  const createdMs = store.nowMs();
  return {
    status: 'pending',
    agent_id: null,
    progress: 0,
    result: null,
    error_info: null,
    task_type: 'translate',
    task_tags: ['a'],
    cli_session_id: 's',
    createdMs,
    deadlineMs: createdMs + 600_000,
    queueEndMs: null,
    waiting: false,
    assignees: [],
    delivery: null,
    settledMs: null,
    payloadBytes: 16,
    ...more,
  };
}

/** What was submitted for a task. */
export function buildInput(request_id: string, more: Partial<TaskInput> = {}): TaskInput {
  return {
    request_id,
    task_type: 'translate',
    task_tags: ['a'],
    payload: { text: '你好' },
    cli_session_id: 's',
    create_time: 1,
    timeout: 600,
    ...more,
  };
}

export const taskRef = (id: string): Ref => `task:${id}`;
export const agentRef = (id: string): Ref => `agent:${id}`;

/** The revision of a commit; throws when the commit has a conflict. */
export function must(result: CommitResult): Revision {
  if (!result.ok) throw new Error(`the commit has a conflict: ${JSON.stringify(result)}`);
  return result.revision;
}

/**
 * What else is in a task's batch. `unreported`: the agent that did not report its end; `details`: those to
 * store, or null to remove them.
 */
type MoreFields = { readonly unreported?: string; readonly details?: TaskDetails | null };
export type MoreOfTask = Partial<Batch> & MoreFields;

/** A batch that takes a task from its stored state to another one, or stores a new one in this state. */
export function writeTask(
  id: string,
  before: Stored<TaskState> | 'absent',
  after: TaskState,
  { unreported: agent_id, details, ...more }: MoreOfTask = {},
): Batch {
  const stored = before === 'absent' ? undefined : before;
  const write = { ...taskWrite(id, stored, after, agent_id), ...(details !== undefined && { details }) };
  return { writes: [write], ...more };
}

/** A batch that writes an agent's record; null removes it. */
export function writeAgent(
  id: string,
  expect: Revision | 'absent',
  value: AgentRecord | null,
  more: Partial<Batch> = {},
): Batch {
  return { writes: [{ kind: 'agent', id, expect, value }], ...more };
}

/** Writes an agent's record in the place of the stored one, if there is one; null removes it. */
export async function putAgent(
  store: Store,
  id: string,
  value: AgentRecord | null,
  more: Partial<Batch> = {},
): Promise<CommitResult> {
  const expect = (await store.get('agent', id))?.revision ?? 'absent';
  return await store.commit(writeAgent(id, expect, value, more));
}

/** Registers an agent. */
export async function register(
  store: Store,
  agent_id: string,
  more: Partial<AgentFields> = {},
): Promise<Revision> {
  return must(await putAgent(store, agent_id, buildAgent(agent_id, more)));
}

/** Submits a task: input, state and due entry. */
export async function submit(store: Store, id: string, more: Partial<TaskState> = {}): Promise<Revision> {
  const value = buildState(store, more);
  const input = buildInput(id, { cli_session_id: value.cli_session_id });
  const due = [{ ref: taskRef(id), atMs: value.createdMs }];
  return must(await store.commit(submissionOf(input, value, { due })));
}

/** A batch that submits a task: its input, and its first state. */
export function submissionOf(input: TaskInput, state: TaskState, more: MoreOfTask = {}): Batch {
  const id = input.request_id;
  const batch = writeTask(id, 'absent', state, more);
  return { ...batch, writes: [{ kind: 'input', id, expect: 'absent', value: input }, ...batch.writes] };
}

/** The state and revision of a stored task; throws when it is absent. */
export async function readState(store: Store, id: string): Promise<Stored<TaskState>> {
  const stored = await store.get('task', id);
  if (!stored) throw new Error(`no task ${id}`);
  return stored;
}

/** A running task's state. */
function assignTo(state: TaskState, agent_id: string, assignedMs: number): TaskState {
  return {
    ...state,
    status: 'running',
    agent_id,
    waiting: false,
    assignees: [...state.assignees, agent_id],
    delivery: {
      assignedMs,
      attempts: 1,
      untaken: 0,
      attemptMs: assignedMs,
      acknowledged: false,
      disowned: 0,
      nextMs: assignedMs,
      busy: [],
      pull: false,
    },
  };
}

/** Assigns a stored task to an agent. */
export async function assign(store: Store, id: string, agent_id: string): Promise<CommitResult> {
  const before = await readState(store, id);
  const registration = `registration of ${agent_id}`;
  const slots = [{ op: 'grant', agent_id, request_id: id, registration }] as const;
  const after = assignTo(before.value, agent_id, store.nowMs());
  return await store.commit(writeTask(id, before, after, { slots }));
}

/** The batch that settles a stored task: releases its slot, removes its due entry, adds its event. */
export async function endingOf(store: Store, id: string, more: MoreOfTask = {}): Promise<Batch> {
  const before = await readState(store, id);
  const { value } = before;
  const settled: TaskState = {
    ...value,
    status: 'success',
    result: { output: `done ${id}` },
    delivery: null,
    waiting: false,
    settledMs: store.nowMs(),
    history: [['success', store.nowMs()]],
  };
  return writeTask(id, before, settled, {
    due: [{ ref: taskRef(id), atMs: null }],
    event: { session: value.cli_session_id, request_id: id },
    ...(value.agent_id !== null && {
      slots: [{ op: 'release' as const, agent_id: value.agent_id, request_id: id }],
    }),
    ...more,
  });
}

/** Settles a stored task. */
export async function settle(store: Store, id: string): Promise<Revision> {
  return must(await store.commit(await endingOf(store, id)));
}

/** Submits and settles a task: one event more in its session. */
export async function finish(store: Store, id: string, session = 's'): Promise<void> {
  await submit(store, id, { cli_session_id: session });
  await settle(store, id);
}

/** The next `count` items of a feed. */
export async function readFeed(
  store: Store,
  session: string,
  after: string | null,
  count: number,
): Promise<FeedItem[]> {
  const stop = new AbortController();
  const items: FeedItem[] = [];
  if (count === 0) return items;
  for await (const item of store.feed(session, after, stop.signal)) {
    items.push(item);
    if (items.length === count) stop.abort();
  }
  return items;
}

/** The tasks of feed items; `gap` for a gap. */
export function idsOf(items: readonly FeedItem[]): readonly string[] {
  return items.map((item) => (item.gap ? 'gap' : item.request_id));
}

/** The cursors of feed items, without gaps. */
export function cursorsOf(items: readonly FeedItem[]): readonly string[] {
  return items.flatMap((item) => (item.gap ? [] : [item.cursor]));
}

/** Waits until the condition holds; `meanwhile` may advance time. Throws after ten seconds. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  meanwhile: () => void | Promise<void> = () => undefined,
): Promise<void> {
  const deadlineMs = performance.now() + 10_000;
  let isMet = await condition();
  while (!isMet && performance.now() < deadlineMs) {
    await meanwhile();
    await yieldToEventLoop();
    isMet = await condition();
  }
  expect(isMet, `within ten seconds: ${what}`).toBe(true);
}

/** Follows a promise: whether it is still pending. For what must not have happened yet. */
export function follow<T>(promise: Promise<T>): { readonly now: () => 'waiting' | 'done' | 'failed' } {
  let state: 'waiting' | 'done' | 'failed' = 'waiting';
  const become = (next: 'done' | 'failed') => (): void => {
    state = next;
  };
  promise.then(become('done'), become('failed'));
  return { now: () => state };
}

/** Random numbers from a seed. Tests print the seed when they fail, so that the run can be repeated. */
export function createRandom(seed: number): { next(below: number): number; readonly seed: number } {
  let state = seed >>> 0;
  return {
    seed,
    next(below) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    },
  };
}

/** A seed for this run. */
export function drawSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

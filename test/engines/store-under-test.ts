/**
 * What a conformance run needs of an engine: fresh data, stores over it, time and a disk in the test's hands. Also the words the suites speak in: records, usual batches, and waiting for a condition.
 */
import { type AgentFields, type AgentRecord, completeAgent } from '../../server/domain/agent.ts';
import type { TaskInput, TaskState } from '../../server/domain/task.ts';
import type { Batch, CommitResult, FeedItem, Ref, Revision, Store, Write } from '../../server/ports/store.ts';

/** One engine's data, from empty to disposed. */
export type Subject = {
  /** Opens a store on this data. `wallShiftMs`: by how much the machine's clock was moved since the first. */
  open(options?: { readonly wallShiftMs?: number }): Promise<Store>;
  /** Moves the store's clock, and with it whatever the engine sleeps for. */
  advance(ms: number): Promise<void>;
  readonly disk: Disk;
  /** Closes what is open and removes the data. */
  dispose(): Promise<void>;
};

/** A disk (or a connection to one) that obeys the test. */
export type Disk = {
  /** Whether reads take the same way as writes, so that they stand behind a write that is held. */
  readonly isOneLine: boolean;
  /** From now on nothing that is written becomes durable, until it is released. */
  hold(): void;
  release(): void;
  /** Whether a write is being held. */
  isHolding(): boolean;
  /** From now on writing fails: nothing is written, or it is and the answer is lost. Until it is mended. */
  fail(how: 'lost' | 'applied'): void;
  mend(): void;
};

/** A signal for what a test ends itself. */
export const NEVER: AbortSignal = new AbortController().signal;

/** An agent with the tag `a` and room for one task. */
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
    reply: null,
    settledMs: null,
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

/** The revision of a commit that must have been taken. */
export function must(outcome: CommitResult): Revision {
  if (!outcome.ok) throw new Error(`the commit was refused: ${JSON.stringify(outcome)}`);
  return outcome.revision;
}

/** A batch that writes one task's state. */
export function writeTask(
  id: string,
  expect: Write['expect'],
  value: TaskState | null,
  more: Partial<Batch> = {},
): Batch {
  return { writes: [{ kind: 'task', id, expect, value }], ...more };
}

/** Registers an agent. */
export async function register(
  store: Store,
  agent_id: string,
  more: Partial<AgentFields> = {},
): Promise<Revision> {
  const value = buildAgent(agent_id, more);
  return must(await store.commit({ writes: [{ kind: 'agent', id: agent_id, expect: 'any', value }] }));
}

/** Submits a task: input, state and due entry. */
export async function submit(store: Store, id: string, more: Partial<TaskState> = {}): Promise<Revision> {
  const value = buildState(store, more);
  const input = buildInput(id, { cli_session_id: value.cli_session_id });
  const outcome = await store.commit({
    writes: [
      { kind: 'input', id, expect: 'absent', value: input },
      { kind: 'task', id, expect: 'absent', value },
    ],
    due: [{ ref: taskRef(id), atMs: value.createdMs }],
  });
  return must(outcome);
}

/** The state a stored task has now. */
export async function readState(
  store: Store,
  id: string,
): Promise<{ readonly value: TaskState; readonly revision: Revision }> {
  const stored = await store.get('task', id);
  if (!stored) throw new Error(`no task ${id}`);
  return stored;
}

/** A running task's state. */
export function assignTo(state: TaskState, agent_id: string, assignedMs: number): TaskState {
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
    },
  };
}

/** Assigns a stored task to an agent. */
export async function assign(store: Store, id: string, agent_id: string): Promise<CommitResult> {
  const { value, revision } = await readState(store, id);
  const registration = `registration of ${agent_id}`;
  return await store.commit(
    writeTask(id, revision, assignTo(value, agent_id, store.nowMs()), {
      slots: [{ op: 'grant', agent_id, request_id: id, registration }],
    }),
  );
}

/** The batch that ends a stored task, its slot, its due entry and its event with it. */
export async function endingOf(store: Store, id: string): Promise<Batch> {
  const { value, revision } = await readState(store, id);
  const done: TaskState = {
    ...value,
    status: 'success',
    result: { output: `done ${id}` },
    delivery: null,
    waiting: false,
    settledMs: store.nowMs(),
  };
  return writeTask(id, revision, done, {
    due: [{ ref: taskRef(id), atMs: null }],
    event: { session: value.cli_session_id, request_id: id },
    ...(value.agent_id !== null && {
      slots: [{ op: 'release' as const, agent_id: value.agent_id, request_id: id }],
    }),
  });
}

/** Ends a stored task. */
export async function settle(store: Store, id: string): Promise<Revision> {
  return must(await store.commit(await endingOf(store, id)));
}

/** Submits and ends a task: one event more in its session. */
export async function finish(store: Store, id: string, session = 's'): Promise<void> {
  await submit(store, id, { cli_session_id: session });
  await settle(store, id);
}

/** The next so many items of a feed. */
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

/** The tasks of feed items, `gap` where one stands. */
export function idsOf(items: readonly FeedItem[]): readonly string[] {
  return items.map((item) => (item.gap ? 'gap' : item.request_id));
}

export function cursorsOf(items: readonly FeedItem[]): readonly string[] {
  return items.flatMap((item) => (item.gap ? [] : [item.cursor]));
}

/** Lets everything run until the condition holds; `meanwhile` may move time. Fails after ten seconds. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  meanwhile: () => void | Promise<void> = () => undefined,
): Promise<void> {
  const endMs = performance.now() + 10_000;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`waited ten seconds in vain until ${what}`);
    await meanwhile();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** How a promise ended, once it has; for what must not have happened yet. */
export function follow<T>(promise: Promise<T>): { readonly now: () => 'waiting' | 'done' | 'failed' } {
  let state: 'waiting' | 'done' | 'failed' = 'waiting';
  promise.then(
    () => {
      state = 'done';
    },
    () => {
      state = 'failed';
    },
  );
  return { now: () => state };
}

/** A source of chance that prints its seed when a test fails, so that the run can be had again. */
export function createChance(seed: number): { next(below: number): number; readonly seed: number } {
  let state = seed >>> 0;
  return {
    seed,
    next(below) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    },
  };
}

/** A seed of this run's own. */
export function drawSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

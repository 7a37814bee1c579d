/**
 * The tasks, agents and sessions of the fake gateway, in memory. It keeps the promises that clients and
 * agents rely on: states, matching, events, and which reports change a task. It has no clock: a task times
 * out when a test says so.
 */

import type { TraceHeaders } from '../agent/trace-headers.ts';
import type {
  AgentRegistration,
  RequestId,
  RunningTask,
  Task,
  TaskReport,
  TaskResult,
  TaskSubmission,
} from '../contract.ts';
import { isSettled, NO_AGENT_TEXT } from '../settled.ts';

/** A task and its delivery. */
type FakeTask = {
  task: Task;
  /** It was pushed to its agent or returned by a claim, and not rejected. */
  isSent: boolean;
  /** Its agent has said that it has the task. */
  isAcknowledged: boolean;
  /** Whether it stays pending while no agent qualifies. */
  readonly mayWait: boolean;
  /** The trace that it was submitted in. */
  readonly trace: TraceHeaders;
  firstReply?: string;
};
/** An agent as it registered. */
type FakeAgent = { readonly registration: AgentRegistration; readonly token: string; draining: boolean };
/** An event as it is sent. */
type StoredEvent = { readonly id: string; readonly data: string };

export type FakeState = {
  readonly tasks: ReadonlyMap<string, FakeTask>;
  readonly agents: Map<string, FakeAgent>;
  submit(submission: TaskSubmission, trace?: TraceHeaders): Task;
  /** Settles a task as failed. Returns false if it was settled already. */
  fail(request_id: RequestId, error_info: string): boolean;
  register(registration: AgentRegistration): void;
  /** Applies an agent's report. Returns false if the task was settled already. */
  report(report: TaskReport): boolean;
  /** Records which tasks an agent says it has. Returns those it should stop working on. */
  acknowledge(agent_id: string, request_ids: readonly string[] | undefined): readonly string[];
  /** Returns the oldest task of an agent that was not sent to it yet, and marks it as sent. */
  takeUnsent(agent_id: string): RunningTask | undefined;
  /** Returns the events of a session behind the given one, or all. */
  events(session: string, after: string | null): readonly StoredEvent[];
};

/** The terminal state of a task. */
type Settlement = Pick<Task, 'status' | 'result' | 'error_info'>;

/** Creates a state without tasks and agents. `onChange` is called after every change. */
export function createFakeState(onChange: () => void): FakeState {
  const tasks = new Map<string, FakeTask>();
  const agents = new Map<string, FakeAgent>();
  let count = 0;
  const nextNumber = (): number => ++count;
  const feeds = createFeeds(nextNumber);

  function settle(entry: FakeTask, settlement: Settlement, agent_id = entry.task.agent_id): void {
    const progress = settlement.status === 'success' ? 100 : entry.task.progress;
    entry.task = { ...entry.task, ...settlement, agent_id, progress } as Task;
    feeds.append(entry.task);
    for (const other of tasks.values()) assign(other);
  }

  /** Assigns a pending task to an agent. Settles it as failed if there is none and the task may not wait. */
  function assign(entry: FakeTask): void {
    const { task } = entry;
    if (task.status !== 'pending') return;
    const agent_id = findAgent(task, agents, tasks);
    if (agent_id !== undefined) entry.task = { ...task, status: 'running', agent_id };
    else if (!entry.mayWait) settle(entry, { status: 'failed', result: null, error_info: NO_AGENT_TEXT });
  }

  /** Changes a task that is not settled. Returns false if there is no such task. */
  function change(request_id: RequestId, apply: (entry: FakeTask) => void): boolean {
    const entry = tasks.get(request_id);
    if (!entry || isSettled(entry.task)) return false;
    apply(entry);
    onChange();
    return true;
  }

  return {
    tasks,
    agents,
    submit(submission, trace = {}) {
      const entry = createFakeTask(submission, nextNumber(), trace);
      const { task } = entry;
      tasks.set(task.request_id, entry);
      assign(entry);
      onChange();
      return task;
    },
    fail: (request_id, error_info) =>
      change(request_id, (entry) => settle(entry, { status: 'failed', result: null, error_info })),
    register(registration) {
      agents.set(registration.agent_id, { registration, token: `r${nextNumber()}`, draining: false });
      for (const entry of tasks.values()) {
        if (isLost(entry.task, registration)) Object.assign(entry, { isSent: false, isAcknowledged: false });
        assign(entry);
      }
      onChange();
    },
    report: (report) =>
      change(report.request_id, (entry) => {
        entry.isAcknowledged = true;
        if (report.status === 'running') applyProgress(entry, report);
        else settle(entry, readSettlement(entry, report), report.agent_id);
      }),
    acknowledge(agent_id, request_ids = []) {
      return request_ids.filter((request_id) => {
        const entry = tasks.get(request_id);
        const isOwn = entry?.task.status === 'running' && entry.task.agent_id === agent_id;
        if (entry && isOwn) entry.isAcknowledged = true;
        return !isOwn;
      });
    },
    takeUnsent(agent_id) {
      for (const entry of tasks.values()) {
        const { task } = entry;
        if (task.status !== 'running' || task.agent_id !== agent_id) continue;
        if (entry.isSent || entry.isAcknowledged) continue;
        entry.isSent = true;
        return task;
      }
      return undefined;
    },
    events: feeds.read,
  };
}

function createFakeTask(submission: TaskSubmission, number: number, trace: TraceHeaders): FakeTask {
  const { task_type, task_tags, payload, cli_session_id = '', timeout = 600, queue_timeout = 0 } = submission;
  const task: Task = {
    request_id: `task-${number}`,
    task_type,
    task_tags: [...task_tags],
    payload,
    cli_session_id,
    timeout,
    create_time: number,
    progress: 0,
    status: 'pending',
    agent_id: null,
    result: null,
    error_info: null,
  };
  return { task, isSent: false, isAcknowledged: false, mayWait: queue_timeout > 0, trace };
}

/**
 * Finds the agent for a task: one with a tag in common and a free slot; of these the one with the fewest
 * tasks.
 */
function findAgent(
  { task_tags }: Task,
  agents: FakeState['agents'],
  tasks: FakeState['tasks'],
): string | undefined {
  const countTasks = (agent_id: string): number =>
    [...tasks.values()].filter(({ task }) => task.status === 'running' && task.agent_id === agent_id).length;
  return [...agents.entries()]
    .filter(([agent_id, { registration, draining }]) => {
      const matches = registration.agent_tags.some((tag) => task_tags.includes(tag));
      return matches && !draining && countTasks(agent_id) < (registration.max_concurrent ?? 1);
    })
    .map(([agent_id]) => agent_id)
    .sort((a, b) => countTasks(a) - countTasks(b))[0];
}

/** Whether an agent that registers does not name a task that is assigned to it. */
function isLost(task: Task, { agent_id, request_ids }: AgentRegistration): boolean {
  return task.agent_id === agent_id && request_ids !== undefined && !request_ids.includes(task.request_id);
}

function applyProgress(entry: FakeTask, { progress = 0, result }: TaskReport): void {
  entry.task = { ...entry.task, progress: Math.max(entry.task.progress, progress) };
  if (result?.reply !== undefined) entry.firstReply ??= result.reply;
}

/** Returns the terminal state that an agent's outcome brings about. */
function readSettlement({ firstReply }: FakeTask, report: TaskReport): Settlement {
  if (report.status === 'success') {
    const reply = firstReply === undefined ? {} : { reply: firstReply };
    const result = { ...reply, ...(report.result as TaskResult | null | undefined) };
    return { status: 'success', result, error_info: null };
  }
  return { status: 'failed', result: null, error_info: report.error_info ?? 'agent reported failure' };
}

/** Creates the stored events of all sessions. */
function createFeeds(nextNumber: () => number) {
  const feeds = new Map<string, StoredEvent[]>();
  return {
    /** Stores the event of a settled task, if it has a session. */
    append({ request_id, cli_session_id, status, result, error_info }: Task): void {
      const number = nextNumber();
      const data = JSON.stringify({ event: 'task_done', request_id, status, result, error_info });
      const feed = feeds.get(cli_session_id) ?? [];
      if (cli_session_id !== '') feeds.set(cli_session_id, [...feed, { id: `1-${number}`, data }]);
    },
    read(session: string, after: string | null): readonly StoredEvent[] {
      const feed = feeds.get(session) ?? [];
      return feed.slice(feed.findIndex(({ id }) => id === after) + 1);
    },
  };
}

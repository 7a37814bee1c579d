/**
 * The tasks, agents and sessions of a gateway in memory, for tests. It keeps the promises a client or an agent leans
 * on (states, matching, events, who may report what) and has no clock: time runs out when a test says so.
 */
import type {
  AgentRegistration,
  RequestId,
  RunningTask,
  Task,
  TaskReport,
  TaskSubmission,
} from '../contract.ts';

/** A task, and what the gateway knows of its delivery. */
export type Held = { task: Task; handed: boolean; acknowledged: boolean; waits: boolean; reply?: string };
/** An agent as it registered. */
export type Member = { readonly registration: AgentRegistration; draining: boolean };
/** One event as it goes over the wire. */
export type StoredEvent = { readonly id: string; readonly data: string };

export type World = {
  readonly tasks: ReadonlyMap<string, Held>;
  readonly agents: Map<string, Member>;
  submit(submission: TaskSubmission): Task;
  /** Ends a task as failed; false if it had ended. */
  fail(request_id: RequestId, error_info: string): boolean;
  register(registration: AgentRegistration): void;
  /** Takes a report; false if the task had ended. */
  report(report: TaskReport): boolean;
  /** Takes note of what an agent says it has, and answers what of it is not wanted any more. */
  acknowledge(agent_id: string, request_ids: readonly string[] | undefined): readonly string[];
  /** The oldest task of an agent that it has not been given yet; it counts as given. */
  handOut(agent_id: string): RunningTask | undefined;
  /** The events of a session behind one of them, or all. */
  events(session: string, after: string | null): readonly StoredEvent[];
};

const NO_AGENT = '无可用 Agent';

/** Creates a world without tasks or agents. `onChange` is called after everything that happens in it. */
export function createWorld(onChange: () => void): World {
  const tasks = new Map<string, Held>();
  const agents = new Map<string, Member>();
  const feeds = new Map<string, StoredEvent[]>();
  let count = 0;

  const loadOf = (agent_id: string): number =>
    [...tasks.values()].filter(({ task }) => task.status === 'running' && task.agent_id === agent_id).length;

  /** The agent a task goes to: a tag in common, room left, the least loaded first. */
  function match(task: Task): string | undefined {
    return [...agents.entries()]
      .filter(([agent_id, { registration, draining }]) => {
        const shares = registration.agent_tags.some((tag) => task.task_tags.includes(tag));
        return shares && !draining && loadOf(agent_id) < (registration.max_concurrent ?? 1);
      })
      .map(([agent_id]) => agent_id)
      .sort((a, b) => loadOf(a) - loadOf(b))[0];
  }

  function assign(held: Held): void {
    const { task } = held;
    if (task.status !== 'pending') return;
    const agent_id = match(task);
    if (agent_id !== undefined) held.task = { ...task, status: 'running', agent_id };
    else if (!held.waits) settle(held, { status: 'failed', result: null, error_info: NO_AGENT });
  }

  type End = Pick<Task, 'status' | 'result' | 'error_info'>;
  function settle(held: Held, end: End, agent_id = held.task.agent_id): void {
    const progress = end.status === 'success' ? 100 : held.task.progress;
    held.task = { ...held.task, ...end, agent_id, progress } as Task;
    const { request_id, cli_session_id } = held.task;
    count += 1;
    const data = JSON.stringify({ event: 'task_done', request_id, ...end });
    const feed = feeds.get(cli_session_id) ?? [];
    if (cli_session_id !== '') feeds.set(cli_session_id, [...feed, { id: `1-${count}`, data }]);
    for (const other of tasks.values()) assign(other);
  }

  function changed<T>(answer: T): T {
    onChange();
    return answer;
  }

  return {
    tasks,
    agents,
    submit({ task_type, task_tags, payload, cli_session_id = '', timeout = 600, queue_timeout = 0 }) {
      count += 1;
      const task: Task = {
        ...{ request_id: `task-${count}`, task_type, task_tags, payload, cli_session_id, timeout },
        ...{ create_time: count, progress: 0 },
        ...{ status: 'pending', agent_id: null, result: null, error_info: null },
      };
      const held: Held = { task, handed: false, acknowledged: false, waits: queue_timeout > 0 };
      tasks.set(task.request_id, held);
      assign(held);
      return changed(task);
    },
    fail(request_id, error_info) {
      const held = tasks.get(request_id);
      if (!held || isSettled(held.task)) return false;
      settle(held, { status: 'failed', result: null, error_info });
      return changed(true);
    },
    register(registration) {
      const { agent_id, request_ids } = registration;
      agents.set(agent_id, { registration, draining: false });
      for (const held of tasks.values()) {
        const isLost = held.task.agent_id === agent_id && !request_ids?.includes(held.task.request_id);
        if (isLost && request_ids) Object.assign(held, { handed: false, acknowledged: false });
        assign(held);
      }
      onChange();
    },
    report({ request_id, agent_id, status, progress, result, error_info }) {
      const held = tasks.get(request_id);
      if (!held || isSettled(held.task)) return false;
      held.acknowledged = true;
      if (status === 'running') {
        held.task = { ...held.task, progress: Math.max(held.task.progress, progress ?? 0) };
        if (result?.reply !== undefined) held.reply ??= result.reply;
      } else if (status === 'success') {
        const reply = held.reply === undefined ? {} : { reply: held.reply };
        settle(held, { status, result: { ...reply, ...result }, error_info: null }, agent_id);
      } else {
        settle(held, { status, result: null, error_info: error_info ?? 'agent reported failure' }, agent_id);
      }
      return changed(true);
    },
    acknowledge(agent_id, request_ids = []) {
      return request_ids.filter((request_id) => {
        const held = tasks.get(request_id);
        const isOwn = held?.task.status === 'running' && held.task.agent_id === agent_id;
        if (held && isOwn) held.acknowledged = true;
        return !isOwn;
      });
    },
    handOut(agent_id) {
      for (const held of tasks.values()) {
        const { task } = held;
        if (task.status !== 'running' || task.agent_id !== agent_id) continue;
        if (held.handed || held.acknowledged) continue;
        held.handed = true;
        return task;
      }
      return undefined;
    },
    events(session, after) {
      const feed = feeds.get(session) ?? [];
      return feed.slice(feed.findIndex(({ id }) => id === after) + 1);
    },
  };
}

/** Whether a task has ended. */
export function isSettled({ status }: Task): boolean {
  return status === 'success' || status === 'failed';
}

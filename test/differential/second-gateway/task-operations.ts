/** What the operations of clients do in the second gateway once their request is right. */
import { randomUUID } from 'node:crypto';
import {
  type Call,
  Refusal,
  type Reply,
  requireTask,
  seconds,
  sortKeys,
  waitFor,
  waitMs,
} from './request.ts';
import type { State, Task, TaskInfo, TaskRow } from './state.ts';

const keys = new WeakMap<State, Map<string, { text: string; first: string }>>();

function submitTask({ state, body, header }: Call): Reply {
  const { auth: _auth, ...given } = body;
  const {
    task_type,
    task_tags,
    payload,
    cli_session_id = '',
    timeout = 600,
    queue_timeout,
  } = given as unknown as TaskInfo & { queue_timeout?: number };
  const key = header('idempotency-key');
  const used = keys.get(state) ?? new Map();
  keys.set(state, used);
  const text = JSON.stringify(
    { task_type, task_tags, payload, cli_session_id, timeout, queue_timeout },
    sortKeys,
  );
  const before = key === undefined ? undefined : used.get(key);
  if (before) {
    if (before.text !== text) throw new Refusal('idempotency_conflict', { pointers: ['/Idempotency-Key'] });
    return JSON.parse(before.first);
  }
  const info: TaskInfo = {
    request_id: randomUUID(),
    task_type,
    task_tags,
    payload,
    status: 'pending',
    agent_id: null,
    cli_session_id,
    create_time: seconds(Date.now()),
    timeout,
    progress: 0,
    result: null,
    error_info: null,
  };
  const first = JSON.stringify(info);
  if (key !== undefined) used.set(key, { text, first });
  state.add(info, queue_timeout === undefined ? null : queue_timeout * 1_000);
  return JSON.parse(first);
}

function subscribeEvents({ state, query, header, res }: Call): Reply {
  const session = query.get('cli_session_id') ?? '';
  const after = header('last-event-id') || query.get('last_event_id');
  res.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  res.write('retry: 2000\n\n: ready\n\n');
  let sent = (state.feeds.get(session) ?? []).findIndex(({ id }) => id === after) + 1;
  const send = (): void => {
    const feed = state.feeds.get(session) ?? [];
    for (const { id, data } of feed.slice(sent)) res.write(`id: ${id}\ndata: ${data}\n\n`);
    sent = feed.length;
  };
  state.listeners.add(send);
  res.once('close', () => state.listeners.delete(send));
  send();
  return undefined;
}

function listTasks({ state, query }: Call): Reply {
  const limit = Number(query.get('limit') ?? 100);
  const from = Number(query.get('cursor') ?? 0);
  const asking = query.get('waiting_for_answer');
  const isAsked = ({ info }: Task): boolean =>
    (!query.has('status') || query.get('status')?.split(',').includes(info.status) === true) &&
    (!query.has('type') || query.get('type') === info.task_type) &&
    (!query.has('tag') || info.task_tags.includes(query.get('tag') ?? '')) &&
    (!query.has('session') || query.get('session') === info.cli_session_id) &&
    (!query.has('agent') || query.get('agent') === info.agent_id);
  const isOpen = (task: Task): boolean => asking === null || asking === String(askedMs(task) < Infinity);
  const newest = [...state.tasks.values()].reverse().filter((task) => isAsked(task) && isOpen(task));
  const found = asking === 'true' ? newest.toSorted((a, b) => askedMs(a) - askedMs(b)) : newest;
  const next_cursor = found.length > from + limit ? String(from + limit) : null;
  const tasks = found.slice(from, from + limit).map((task) => toRow(task, state));
  return { time: seconds(Date.now()), tasks, next_cursor, counts: null };
}

/** When the first of its open questions was asked; `Infinity` if it does not wait for an answer. */
function askedMs({ info, questions }: Task): number {
  const open = [...questions.values()].filter(
    ({ answer, isWithdrawn }) => info.status === 'running' && !answer && !isWithdrawn,
  );
  return Math.min(...open.map((one) => one.askedMs));
}

function toRow(task: Task, state: State): TaskRow {
  const { info, queueMs, assignedMs, endedMs } = task;
  const { payload, timeout: _timeout, result: _result, ...shown } = info;
  const isPending = info.status === 'pending';
  const text = JSON.stringify(payload);
  return {
    ...shown,
    waiting: isPending || (info.status === 'running' && task.mayMove),
    waiting_for_answer: askedMs(task) < Infinity,
    outcome: state.isOver(task) ? outcomeOf(task) : null,
    acknowledged: info.status === 'running' && task.isTaken,
    assigned_time: assignedMs === 0 ? null : seconds(assignedMs),
    ended_time: endedMs === 0 ? null : seconds(endedMs),
    deadline_time: info.create_time + Math.min(info.timeout, 604_800),
    gives_up_time: isPending && queueMs !== null ? info.create_time + queueMs / 1_000 : null,
    error_info: info.error_info?.slice(0, 240) ?? null,
    payload_preview: text.slice(0, 240),
    payload_bytes: Buffer.byteLength(text),
  };
}

/** How a task ended. */
export function outcomeOf({ info, isReported }: Task): string {
  if (isReported) return info.status;
  const outcomes: Readonly<Record<string, string>> = {
    'cancelled by user': 'cancelled',
    timeout: 'timeout',
    '无可用 Agent': 'no_agent',
  };
  return outcomes[info.error_info ?? ''] ?? 'agent_lost';
}

/** The operations by their names; undefined is a stream. */
export const TASK_OPERATIONS: Readonly<Record<string, (call: Call) => Reply | Promise<Reply>>> = {
  submitTask,
  async getTask(call) {
    const task = requireTask(call);
    await waitFor(call.state, waitMs(call.query.get('wait')), () => call.state.isOver(task));
    return task.info;
  },
  cancelTask(call) {
    const task = requireTask(call);
    if (call.state.isOver(task)) throw new Refusal('task_terminal');
    call.state.fail(task, 'cancelled by user');
    return { ok: true, request_id: task.info.request_id };
  },
  subscribeEvents,
  listTasks,
};

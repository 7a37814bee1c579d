/** A task to push, one attempt to push it, and the outcomes to expect. */
import type { TaskInfo } from '../../server/domain/task.ts';
import type { Push, Pusher, PushOutcome } from '../../server/ports/pusher.ts';

export const TASK: TaskInfo = {
  request_id: '01a1fda6-abb2-753a-8c17-e88710783c81',
  task_type: 'translate',
  task_tags: ['zh', 'de'],
  payload: { text: '你好, Wörld ✓', nested: { list: [1, 2.5, null] } },
  status: 'running',
  agent_id: 'agent-1',
  cli_session_id: 'session-1',
  create_time: 1_700_000_000.123,
  timeout: 60,
  progress: 0,
  result: null,
  error_info: null,
};

/** Makes one attempt to push a task to an endpoint. */
export function pushTask(
  pusher: Pusher,
  endpoint: string,
  push: Partial<Push> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<PushOutcome> {
  const whole = { endpoint, task: TASK, remainingSeconds: 60, ...push };
  return pusher.push(whole, signal);
}

/** The outcome of an attempt of which nothing was written. */
export function untakenFor(error: string): PushOutcome {
  return { kind: 'untaken', status: null, error, busy: false, leave: false, retryAfterMs: null };
}

/** The outcome of an attempt that the agent may have seen and that got no status line. */
export function unknownFor(error: string): PushOutcome {
  return { kind: 'unknown', status: null, error, retryAfterMs: null };
}

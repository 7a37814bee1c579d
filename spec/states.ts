/**
 * The state table of a task as data, for authors of other gateways: what `step()` decides when a trigger
 * comes in a state. Agent `A` has the task, `E` had it before, `B` never had it.
 */
import { step } from '../server/domain/step.ts';
import { createTaskState, isSettled, type TaskState } from '../server/domain/task.ts';
import type { Trigger } from '../server/domain/triggers.ts';

const NOW_MS = 1_000_000;
const AT = { attempted: true, nextMs: NOW_MS } as const;
const UNTAKEN = { type: 'untaken', attempt: 1, nextMs: NOW_MS, busyUntilMs: null } as const;

/** The states, each with the triggers that lead there from a pending task. */
const STATES: Readonly<Record<string, readonly Trigger[]>> = (() => {
  const running: readonly Trigger[] = [
    { type: 'assign', agent_id: 'E', ...AT },
    { ...UNTAKEN, agent_id: 'E' },
    { type: 'reassign', agent_id: 'A', ...AT, agentGone: false },
  ];
  const acknowledged: readonly Trigger[] = [...running, { type: 'acknowledge', agent_id: 'A', attempt: 1 }];
  return {
    pending: [],
    running,
    'running, not taken': [...running, { ...UNTAKEN, agent_id: 'A' }],
    'running, taken': acknowledged,
    success: [...acknowledged, { type: 'succeed', agent_id: 'A', result: { output: 'done' } }],
    failed: [...acknowledged, { type: 'fail', agent_id: 'A', error_info: 'broken', progress: null }],
  };
})();

/** The triggers by their names in `states.json`. */
const TRIGGERS: Readonly<Record<string, Trigger>> = {
  'B qualifies for a pending task': { type: 'assign', agent_id: 'B', ...AT },
  'the running task moves to B': { type: 'reassign', agent_id: 'B', ...AT, agentGone: false },
  'the running task moves to B, A being gone': { type: 'reassign', agent_id: 'B', ...AT, agentGone: true },
  'A takes the push': { type: 'acknowledge', agent_id: 'A', attempt: 1 },
  'A refuses the push': { ...UNTAKEN, agent_id: 'A' },
  'A may have the push': { type: 'unknown', agent_id: 'A', attempt: 1, nextMs: AT.nextMs },
  'A registers without naming the task': { type: 'disown', agent_id: 'A', attempts: 1 },
  ...Object.fromEntries(
    ['A', 'E', 'B'].flatMap((agent_id): readonly (readonly [string, Trigger])[] => [
      [`${agent_id} reports running, 40 %`, { type: 'progress', agent_id, progress: 40, reply: null }],
      [`${agent_id} reports success`, { type: 'succeed', agent_id, result: { output: 'done' } }],
      [`${agent_id} reports failed`, { type: 'fail', agent_id, error_info: 'oops', progress: null }],
    ]),
  ),
  'A is silent for its lost_after of 60 s': { type: 'lose', seconds: 60 },
  cancelTask: { type: 'cancel' },
  'timeout is over': { type: 'expire' },
  'no agent qualifies': { type: 'abandon' },
};

/** Writes `states.json`. */
export function buildStates(): string {
  const rows = Object.entries(STATES).flatMap(([from, way]) => {
    const before = way.reduce(advance, createPending());
    return Object.entries(TRIGGERS).map(([trigger, given]) => ({
      from,
      trigger,
      ...describeStep(before, given),
    }));
  });
  return `${JSON.stringify(rows, null, 2)}\n`;
}

function createPending(): TaskState {
  const input = { request_id: 'r', task_type: 't', task_tags: ['a'], payload: {}, cli_session_id: 's' };
  const times = { createdMs: NOW_MS, deadlineMs: NOW_MS + 60_000, queueEndMs: null };
  return createTaskState({ ...input, create_time: NOW_MS / 1_000, timeout: 60 }, times, 2);
}

function advance(state: TaskState, trigger: Trigger): TaskState {
  const done = step(state, trigger, NOW_MS);
  if (!done.ok) throw new Error(`${trigger.type}: ${done.refusal}`);
  return done.state;
}

/**
 * Returns the state as the wire has it and whether a `task_done` follows, or why the trigger changes
 * nothing.
 */
function describeStep(before: TaskState, trigger: Trigger) {
  const done = step(before, trigger, NOW_MS);
  if (!done.ok) return { to: null, refusal: done.refusal, task_done: false };
  const { status, agent_id, progress, error_info } = done.state;
  return { to: { status, agent_id, progress, error_info }, refusal: null, task_done: isSettled(done.state) };
}

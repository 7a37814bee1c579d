/**
 * Every state that two tasks and two agents with one slot each can reach in eight steps, searched breadth
 * first and completely. After each step its commit is applied to slots, due entries, waiting tasks and feed
 * in a tiny store, and the result must be exactly what the new states require.
 *
 * The two tasks are interchangeable, and so are the two agents: worlds that differ only in their names are
 * one world.
 */
import { describe, expect, test } from 'vitest';
import { step } from '../../server/domain/step.ts';
import { createTaskState, isSettled, mayBeTaken, type TaskState } from '../../server/domain/task.ts';
import type { Trigger } from '../../server/domain/triggers.ts';
import { batchFor, type CommitOptions } from '../../server/gateway/tasks/task-batch.ts';
import { printFigure } from '../harness/figures.ts';
import { listTriggers } from './every-trigger.ts';

const STEPS = 8;
const NOW = 1_000;
const TASKS = [0, 1] as const;

/** What the commits have stored about one task beside its state. */
type Traces = {
  readonly slot: string | null;
  readonly due: boolean;
  readonly waiting: boolean;
  readonly events: number;
};
type StoredTask = { readonly state: TaskState; readonly traces: Traces };
type World = readonly [StoredTask, StoredTask];

const fresh: StoredTask = {
  state: createTaskState(
    {
      request_id: 'r',
      task_type: 't',
      task_tags: ['a'],
      payload: {},
      cli_session_id: 's',
      create_time: 1,
      timeout: 60,
    },
    { createdMs: NOW, deadlineMs: NOW + 60_000, queueEndMs: NOW + 9_000 },
    2,
  ),
  traces: { slot: null, due: true, waiting: false, events: 0 },
};

const TRIGGERS = listTriggers(NOW);

/** Applies a step's commit. Returns null on a conflict: the agent has no free slot. */
function applyCommit(
  world: World,
  which: 0 | 1,
  trigger: Trigger,
  after: TaskState,
  options: CommitOptions = {},
): World | null {
  const { state, traces } = world[which];
  const request_id = `r${which}`;
  // A task that is not submitted yet has no due entry.
  const before = { value: state, revision: traces.due ? '1' : 'absent' };
  const batch = batchFor({ request_id, before, after, trigger }, options);
  let { slot, due, waiting, events } = traces;
  for (const change of batch.slots ?? []) {
    if (change.op === 'release' && slot === change.agent_id) slot = null;
    if (change.op !== 'grant') continue;
    if (world[which === 0 ? 1 : 0].traces.slot === change.agent_id) return null;
    slot = change.agent_id;
  }
  for (const { atMs } of batch.due ?? []) due = atMs !== null;
  for (const write of batch.writes) {
    if (write.kind !== 'task') continue;
    for (const { index, op } of write.index) if (index === 'waiting') waiting = op === 'add';
  }
  if (batch.event) events += 1;
  const stored = { state: after, traces: { slot, due, waiting, events } };
  return which === 0 ? [stored, world[1]] : [world[0], stored];
}

function fail(rule: string, trigger: Trigger, before: StoredTask, after: StoredTask): never {
  throw new Error(`${rule}\n${JSON.stringify({ trigger, before, after }, null, 1)}`);
}

/** Throws when a step that the domain allowed breaks a rule. */
function requireRules(before: StoredTask, trigger: Trigger, after: StoredTask): void {
  const must = (rule: string, holds: boolean): void => {
    if (!holds) fail(rule, trigger, before, after);
  };
  const { state } = after;
  const settled = isSettled(state);
  must('a settled task never changes', !isSettled(before.state));
  must('only success has a result', (state.status === 'success') === (state.result !== null));
  must('only failed has a reason', (state.status === 'failed') === (state.error_info !== null));
  must('pending has no agent', state.status !== 'pending' || state.agent_id === null);
  must(
    'running and success have an agent',
    !['running', 'success'].includes(state.status) || state.agent_id !== null,
  );
  must('progress never falls', state.progress >= before.state.progress && state.progress <= 100);
  must(
    'every earlier assignee stays listed',
    before.state.assignees.every((id) => state.assignees.includes(id)),
  );
  must('no task goes back to pending', state.status !== 'pending' || before.state.status === 'pending');
  must('it has a delivery exactly while it runs', (state.status === 'running') === (state.delivery !== null));
  if (before.state.delivery && state.status === 'running' && state.agent_id !== before.state.agent_id) {
    const gone = trigger.type === 'reassign' && trigger.agentGone;
    must('an acknowledged task is not moved', !before.state.delivery.acknowledged);
    must('what may have been taken is not moved', gone || !mayBeTaken(before.state.delivery));
  }
  const owner = state.status === 'running' ? state.agent_id : null;
  must('only an open task waits', !(settled && state.waiting));
  must('its slot is held by its agent exactly while it runs', after.traces.slot === owner);
  must('it has a due entry exactly while it is open', after.traces.due === !settled);
  must('it is among the waiting tasks exactly while it waits', after.traces.waiting === state.waiting);
  must('it has one event once it is settled, and none before', after.traces.events === (settled ? 1 : 0));
}

/**
 * Returns one name for all worlds that differ only in which task or agent has which name, or in how the agent
 * gets the task, which no step depends on.
 */
function nameWorld(world: World): string {
  const text = TASKS.map((which) => JSON.stringify(world[which]).replace(/,"pull":\w+/, ''));
  const mirrored = text.map((each) =>
    each.replace(/"([AB])"/g, (_, agent) => (agent === 'A' ? '"B"' : '"A"')),
  );
  return [text.toSorted().join(), mirrored.toSorted().join()].toSorted()[0] ?? '';
}

type Walk = { readonly states: number; readonly steps: number; readonly frontier: number };

/** Visits every world that is reachable in this many steps, and requires the rules of each step. */
function walkWorlds(decide: typeof step, steps: number): Walk {
  const visited = new Set([nameWorld([fresh, fresh])]);
  let frontier: readonly World[] = [[fresh, fresh]];
  let tried = 0;
  for (let depth = 0; depth < steps; depth += 1) {
    const next: World[] = [];
    for (const world of frontier) {
      for (const reached of listReachable(decide, world)) {
        const name = nameWorld(reached);
        if (visited.has(name)) continue;
        visited.add(name);
        next.push(reached);
      }
      tried += TASKS.length * TRIGGERS.length;
    }
    frontier = next;
  }
  return { states: visited.size, steps: tried, frontier: frontier.length };
}

function listReachable(decide: typeof step, world: World): World[] {
  const reached: World[] = [];
  for (const which of TASKS) {
    for (const trigger of TRIGGERS) {
      const before = world[which];
      const done = decide(before.state, trigger, NOW);
      if (!done.ok || done.state === before.state) continue;
      const after = applyCommit(world, which, trigger, done.state);
      if (!after) continue;
      requireRules(before, trigger, after[which]);
      reached.push(after);
    }
  }
  return reached;
}

/** State tables with one wrong row, and the rule that must find each. */
const WRONG: Readonly<Record<string, { readonly rule: string; readonly decide: typeof step }>> = {
  'a late result replaces a terminal state': {
    rule: 'a settled task never changes',
    decide: (state, trigger, nowMs) =>
      isSettled(state) && trigger.type === 'succeed' && state.assignees.includes(trigger.agent_id)
        ? { ok: true, state: { ...state, status: 'success', result: {}, agent_id: trigger.agent_id } }
        : step(state, trigger, nowMs),
  },
  'a task is moved although its agent may have it': {
    rule: 'what may have been taken is not moved',
    decide: (state, trigger, nowMs) =>
      trigger.type === 'reassign' && !trigger.agentGone && !state.delivery?.acknowledged
        ? step(state, { ...trigger, agentGone: true }, nowMs)
        : step(state, trigger, nowMs),
  },
  'progress is set to the last report, even a lower one': {
    rule: 'progress never falls',
    decide: (state, trigger, nowMs) => {
      const done = step(state, trigger, nowMs);
      if (!done.ok || trigger.type !== 'progress') return done;
      return { ok: true, state: { ...done.state, progress: trigger.progress ?? 0 } };
    },
  },
  'a settled task still waits for an agent': {
    rule: 'only an open task waits',
    decide: (state, trigger, nowMs) => {
      const done = step(state, trigger, nowMs);
      if (!done.ok || !isSettled(done.state)) return done;
      return { ok: true, state: { ...done.state, waiting: state.waiting } };
    },
  },
};

describe('every state that two tasks and two agents can reach', () => {
  test('keeps every rule within eight steps, and the commits keep slots, due entries, waiting tasks and feed consistent', () => {
    const { states, steps, frontier } = walkWorlds(step, STEPS);
    printFigure('reach:states', states, 'states');
    printFigure('reach:steps', steps, 'steps');
    expect(frontier).toBeGreaterThan(0);
  });

  test('is the same after one commit that submits and assigns a task as after two', () => {
    const absent: StoredTask = { ...fresh, traces: { ...fresh.traces, due: false } };
    for (const trigger of TRIGGERS) {
      if (trigger.type !== 'assign') continue;
      const done = step(fresh.state, trigger, NOW);
      if (!done.ok) throw new Error('a task that was just submitted can be assigned');
      const options = trigger.attempted ? ({ lease: 'l', dueAt: 'held' } as const) : {};
      const atOnce = applyCommit([absent, fresh], 0, trigger, done.state, options);
      expect(atOnce).toEqual(applyCommit([fresh, fresh], 0, trigger, done.state));
    }
  });

  for (const [fault, { rule, decide }] of Object.entries(WRONG)) {
    const title = `would not pass if ${fault}`;
    test(title, () => expect(() => walkWorlds(decide, 4)).toThrow(rule));
  }
});

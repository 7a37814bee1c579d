/**
 * One commit in the writer. The conditions are queries and come before all effects, which are statements. So
 * a conflict has changed nothing and needs no savepoint.
 */
import type { CommitResult } from '../../ports/store.ts';
import type { Agents } from './agents.ts';
import type { CommitCall, OnceCall, TaskCall } from './calls.ts';
import type { Counters } from './counters.ts';
import type { DueEntries } from './due-entries.ts';
import type { Entries } from './entries.ts';
import type { Outputs, PlannedOutput } from './outputs.ts';
import type { Prepare } from './statements.ts';
import type { Values } from './values.ts';

export type Tables = {
  readonly values: Values;
  readonly entries: Entries;
  readonly dueEntries: DueEntries;
  readonly agents: Agents;
  readonly outputs: Outputs;
  readonly counters: Counters;
};

/** A commit that reached the writer too late for its caller. */
export type Late = { readonly isLate: true };

/** A commit that was made. `held`: the indexes of the slots that their tasks held already. */
export type Made = Extract<CommitResult, { ok: true }> & { readonly held: readonly number[] };

/** What the commits of a group share in the writer. */
export type GroupContext = {
  readonly nowMs: number;
  /** The limit of all output together. */
  readonly outputBytesMax: number;
  /** Topics to notify that the sender cannot know. */
  readonly topics: Set<string>;
};

export type Commits = {
  /** Decides and applies a commit. 0: the commit was made, and the sender knows the rest. */
  commit(call: CommitCall, group: GroupContext): Made | Conflict | Late | 0;
};

type Conflict = Extract<CommitResult, { ok: false }>;

export function createCommits(prepare: Prepare, tables: Tables): Commits {
  const { values, entries, dueEntries, agents, outputs, counters } = tables;
  const addEvent = prepare('INSERT INTO event VALUES (?, ?, ?, ?)');
  const addEnded = prepare('INSERT INTO ended VALUES (?, ?, ?, ?, ?)');

  function findChangedValue({ tasks, agents: calls, once }: CommitCall, nowMs: number): boolean {
    const isOf = (kind: 'task' | 'agent' | 'input' | 'key', id: string, expect: string): boolean =>
      (values.revisionOf(kind, id, nowMs) ?? 'absent') === expect;
    return !(
      tasks.every(({ id, expect }) => isOf('task', id, expect)) &&
      calls.every(({ id, expect }) => isOf('agent', id, expect)) &&
      // An input is only written with its task, so the new task's condition is enough.
      once.every(({ kind, id }) => (kind === 'input' && isNewTask(tasks, id)) || isOf(kind, id, 'absent'))
    );
  }

  function exceedsLimit({ tasks, agents: calls, openTasksMax, agentsMax }: CommitCall): boolean {
    if (openTasksMax !== null) {
      const added = tasks.reduce(
        (sum, { id, isOpen }) => sum + Number(isOpen) - Number(values.isOpenTask(id)),
        0,
      );
      if (added > 0 && counters.get('pending') + counters.get('running') + added > openTasksMax) return true;
    }
    if (agentsMax === null) return false;
    const added = agents.countAdded(calls);
    return added > 0 && counters.get('agents') + added > agentsMax;
  }

  function applyTask(call: TaskCall, { revision, event }: CommitCall, nowMs: number): void {
    const { id, json, isOpen, details, index, ending } = call;
    values.put('task', id, { revision, json, isOpen });
    entries.change(id, index, nowMs);
    if (details === null) values.remove('details', id);
    else if (details !== undefined) values.put('details', id, { revision, json: details });
    if (isOpen || !ending) return;
    // Not earlier than the last event, so that events and retention have the same order.
    const ms = event?.ms ?? Math.max(nowMs, counters.get('event_ms'));
    outputs.settle(id, ms);
    counters.noteEnding(ending, nowMs);
    addEnded.run(ms, id, ending.json, event?.session ?? null, event?.n ?? null);
  }

  function applyOnce({ kind, id, json, keepMs }: OnceCall, revision: string, nowMs: number): void {
    values.put(kind, id, { revision, json, expiresMs: keepMs === null ? null : nowMs + keepMs });
  }

  return {
    commit(call, { nowMs, outputBytesMax, topics }) {
      const { revision, notAfterMs, due, slots, noneWaiting, noneFree, event, output } = call;
      if (notAfterMs !== null && nowMs > notAfterMs) return { isLate: true };
      if (findChangedValue(call, nowMs)) return conflict('revision');
      if (!dueEntries.areHeld(due)) return conflict('lease');
      const ofCommit = agents.begin();
      if (!ofCommit.areGrantable(slots)) return conflict('slot');
      if (entries.isWaitedFor(noneWaiting)) return conflict('waiting');
      if (call.hadContact) return conflict('contact');
      const agent_id = agents.findFree(noneFree);
      if (agent_id !== undefined) return { ok: false, conflict: 'free_agent', agent_id };
      if (exceedsLimit(call)) return conflict('full');
      const planned = output && outputs.plan(output, outputBytesMax);
      if (planned && 'conflict' in planned) return planned;

      dueEntries.retime(due, nowMs);
      if (planned) outputs.apply(planned);
      for (const task of call.tasks) applyTask(task, call, nowMs);
      for (const agent of call.agents) ofCommit.write(agent, revision);
      for (const once of call.once) applyOnce(once, revision, nowMs);
      const held = ofCommit.change(slots);
      if (ofCommit.save(nowMs)) topics.add('due');
      if (event) {
        addEvent.run(event.session, event.ms, event.n, event.task);
        counters.set('event_ms', event.ms);
      }
      if (!planned && held.length === 0) return 0;
      return { ok: true, revision, held, ...(planned && { output: describeHead(planned) }) };
    },
  };
}

function conflict(name: 'revision' | 'lease' | 'slot' | 'waiting' | 'contact' | 'full'): Conflict {
  return { ok: false, conflict: name };
}

function isNewTask(tasks: readonly TaskCall[], id: string): boolean {
  return tasks.some((task) => task.id === id && task.expect === 'absent');
}

function describeHead({ after: { next, last, isFull } }: PlannedOutput) {
  return { next, last, isFull };
}

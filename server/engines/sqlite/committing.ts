/**
 * Commits and the other calls that write. Each call joins a group. When a commit is made, the copies in
 * memory are updated and its topics are collected.
 */
import { hasTextField } from '../../domain/json-text.ts';
import type { TaskInput, TaskState } from '../../domain/task.ts';
import {
  type Batch,
  type CommitResult,
  type Stored,
  StoreRefused,
  StoreUnavailable,
} from '../../ports/store.ts';
import type { ChangeLog } from '../change-log.ts';
import type { Contacts } from '../contacts.ts';
import type { AgentStatuses } from './agent-statuses.ts';
import { writeCommit } from './calls.ts';
import type { Made } from './commit.ts';
import type { CallResult } from './decider.ts';
import { type Feeds, feedTopic, type Position } from './feed.ts';
import type { GroupCommit } from './group-commit.ts';

/** The copies in memory, which may be lost. */
export type Copies = {
  /** States and inputs of the last commits, by kind and id. */
  values: {
    get(key: string): Stored<TaskState | TaskInput> | undefined;
    set(key: string, value: Stored<TaskState | TaskInput>): void;
    delete(key: string): void;
  };
  changes: ChangeLog;
  readonly statuses: AgentStatuses;
  readonly feeds: Feeds;
};

type Deps = {
  readonly groups: () => GroupCommit;
  readonly copies: Copies;
  readonly contacts: Contacts;
  /** The name of this run of the file. Revisions begin with it. */
  readonly run: string;
  readonly lastEventMs: number;
  readonly nowMs: () => number;
};

export type Committing = {
  /** `isOutput`: the batch only adds output. */
  commit(batch: Batch, isOutput?: boolean): Promise<CommitResult>;
  ask<T extends CallResult>(...call: readonly unknown[]): Promise<T>;
};

/** The highest number of a cursor within one millisecond. */
const CURSOR_NUMBER_MAX = 999_999;

export function createCommitting(deps: Deps): Committing {
  const { groups, copies, contacts, run, nowMs } = deps;
  const nextCursor = createCursors(deps);
  let commits = 0;
  return {
    commit(batch, isOutput = false) {
      const { noContactAfter: silence, event, writes } = batch;
      const hadContact =
        silence !== undefined && contacts.contactOf(silence.agent_id).contactMs > silence.atMs;
      const { words, add } = groups().join(isOutput);
      commits += 1;
      const revision = `${run}-${commits}`;
      const cursor = event ? nextCursor() : null;
      // The call is rendered apart first: if a value cannot be written, no half call stays in the group.
      const call: unknown[] = [];
      writeCommit(call, batch, revision, cursor, hadContact);
      words.push(...call);
      const registered = listRegistered(copies, writes);
      return new Promise((resolve, reject) => {
        add({
          reject,
          begin: () => forgetCopies(copies, batch),
          finish(result, topics) {
            const made = findMade(result, revision);
            if (made) {
              updateCopies(deps, batch, made, cursor);
              collectTopics(batch, topics);
              for (const agent_id of registered) contacts.noteRegistration(agent_id, nowMs());
            }
            settle(made ?? result, resolve, reject);
          },
        });
      });
    },
    ask<T extends CallResult>(...call: readonly unknown[]) {
      const { words, add } = groups().join(false);
      words.push(...call);
      return new Promise<T>((resolve, reject) => add({ reject, finish: (result) => resolve(result as T) }));
    },
  };
}

/**
 * Returns a function that issues the next cursor. The time of cursors never falls, and none is issued twice,
 * even after a restart.
 */
function createCursors({ lastEventMs, nowMs }: Deps): () => Position {
  let [ms, number] = [lastEventMs, CURSOR_NUMBER_MAX];
  return () => {
    const next = Math.max(nowMs(), number >= CURSOR_NUMBER_MAX ? ms + 1 : ms);
    number = next === ms ? number + 1 : 0;
    ms = next;
    return [ms, number];
  };
}

/** The agents that get another registration, which counts as a contact. */
function listRegistered({ statuses }: Copies, writes: Batch['writes']): readonly string[] {
  return writes.flatMap((write) => {
    if (write.kind !== 'agent' || !write.value) return [];
    return write.value.registration === statuses.readIfWhole(write.id)?.record.registration ? [] : [write.id];
  });
}

/**
 * Until the reply to a commit is here, reads of what it changes go to the tables. So no read is older than an
 * earlier read.
 */
function forgetCopies({ values, statuses }: Copies, { writes, slots = [] }: Batch): void {
  for (const { kind, id } of writes) {
    if (kind === 'agent') statuses.forget(id);
    else values.delete(`${kind}/${id}`);
  }
  for (const { agent_id } of slots) statuses.forgetSlots(agent_id);
}

function updateCopies(
  { copies, contacts, nowMs }: Deps,
  { writes, slots = [], event }: Batch,
  { revision, held }: Made,
  cursor: Position | null,
): void {
  const { values, statuses, changes, feeds } = copies;
  for (const [index, { op, agent_id }] of slots.entries()) {
    statuses.forgetSlots(agent_id);
    if (op === 'grant' && !held.includes(index)) contacts.noteGrant(agent_id, nowMs());
    changes.noteIfKnown(agent_id);
  }
  for (const write of writes) {
    if (write.kind === 'task' || write.kind === 'input') {
      const key = `${write.kind}/${write.id}`;
      // A long text would take memory and hardly be read from here.
      if (hasTextField(write.value)) values.delete(key);
      else values.set(key, { value: write.value, revision });
    } else if (write.kind === 'agent') {
      statuses.forget(write.id);
      if (write.value) changes.note(write.id);
      else {
        changes.noteRemoved(write.id);
        contacts.forget(write.id);
      }
    }
  }
  if (event && cursor) feeds.note(event.session, cursor, event.request_id);
}

function collectTopics({ writes, slots = [], due = [], event, output }: Batch, topics: Set<string>): void {
  for (const { kind, id } of writes) if (kind === 'task' || kind === 'agent') topics.add(`${kind}:${id}`);
  for (const { agent_id } of slots) topics.add(`agent:${agent_id}`);
  for (const write of writes) {
    for (const { op, index, of, fromMs } of write.kind === 'task' ? write.index : []) {
      if (index === 'claimable' && op === 'add' && fromMs === 0) topics.add(`agent:${of}`);
    }
  }
  if (due.length > 0) topics.add('due');
  if (event) topics.add(feedTopic(event.session));
  // A written state notifies the watchers of the output anyway.
  if (output && writes.length === 0) topics.add(`output:${output.request_id}`);
}

/** Undefined if the commit was not made. */
function findMade(result: CallResult, revision: string): Made | undefined {
  if (result === 0) return { ok: true, revision, held: [] };
  return typeof result === 'object' && 'ok' in result && result.ok ? result : undefined;
}

function settle(
  result: CallResult,
  resolve: (result: CommitResult) => void,
  reject: (error: Error) => void,
): void {
  if (typeof result === 'object' && 'isLate' in result) {
    reject(new StoreUnavailable('The commit was too late: its caller has already got a response.'));
  } else if (typeof result === 'object' && 'refused' in result) reject(new StoreRefused(result.refused));
  else if (typeof result === 'object' && 'held' in result) {
    const { held: _, ...made } = result;
    resolve(made);
  } else resolve(result as CommitResult);
}

/** Lets contacts of an agent wait until commits that rest on its silence are decided. */
export function createSilence(commit: Committing['commit']) {
  const undecided = new Map<string, Promise<unknown>>();
  return {
    whenDecided: (agent_id: string): Promise<unknown> | undefined => undecided.get(agent_id),
    commit(batch: Batch): Promise<CommitResult> {
      const made = commit(batch);
      if (!batch.noContactAfter) return made;
      const { agent_id } = batch.noContactAfter;
      const forget = (): void => {
        if (undecided.get(agent_id) === over) undecided.delete(agent_id);
      };
      const over = made.then(forget, forget);
      undecided.set(agent_id, over);
      return made;
    },
  };
}

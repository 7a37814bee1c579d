/**
 * The open tasks in memory, and what they take of it. A start loads all of them, so they have a bound in
 * bytes, below what the heap holds: a task that was accepted must not be the one that ends each start.
 */
import { createSharedTexts } from '../../../async/shared-texts.ts';
import type { TaskState } from '../../../domain/task.ts';
import type { Revision } from '../../../ports/store.ts';

/** An open task in memory, without what was submitted for it and without its details. */
export type OpenTask = {
  readonly state: TaskState;
  /** Whether rows of its output are stored, or are about to be. */
  readonly hasOutput: boolean;
  readonly revision: Revision;
  readonly seq: number;
  /** The due time in its row; null when its row has none. */
  readonly storedDueMs: number | null;
};

export type OpenTasks = {
  get(id: string): OpenTask | undefined;
  has(id: string): boolean;
  count(): number;
  /** Bytes that they take, estimated from above. */
  bytes(): number;
  /** Puts the task; returns its state as it is kept: equal tags of all tasks are one string. */
  put(id: string, task: OpenTask): TaskState;
  delete(id: string): void;
};

/** A task takes this much beside its texts: its state, its due entry and its places in the listings. */
const TASK_BYTES = 1_024;
/** A tag takes this much beside its text, if no other waiting task has it. */
const TAG_BYTES = 384;
/** A question counts as this many beside its key. */
const QUESTION_CHARS = 128;
/** Its output takes this much: how it stands, who wrote it, and the pieces of its last two short writes. */
const OUTPUT_BYTES = 2_048;
/** Beyond Latin letters a character takes two bytes. */
const CHAR_BYTES = 2;

/** Estimates what an open task takes of the memory, from above. Its details are not in memory. */
export function estimateTaskBytes(state: TaskState): number {
  const { task_tags, delivery, history = [] } = state;
  let chars = state.task_type.length + state.cli_session_id.length + (state.payloadPreview?.length ?? 0);
  for (const tag of task_tags) chars += tag.length;
  for (const agent_id of state.assignees) chars += agent_id.length;
  for (const { agent_id } of delivery?.busy ?? []) chars += agent_id.length;
  for (const { key } of state.questions ?? []) chars += key.length + QUESTION_CHARS;
  for (const [, , agent_id, what] of history) chars += (agent_id?.length ?? 0) + (what?.length ?? 0);
  return TASK_BYTES + TAG_BYTES * task_tags.length + CHAR_BYTES * chars;
}

type Entry = OpenTask & { readonly bytes: number };

/** Creates it without tasks. */
export function createOpenTasks(): OpenTasks {
  const entries = new Map<string, Entry>();
  const tags = createSharedTexts();
  let bytes = 0;

  /** A step of a task keeps its tags: the usual state has those of the state before. */
  function share(before: Entry | undefined, state: TaskState): TaskState {
    if (before?.state.task_tags === state.task_tags) return state;
    const task_tags = tags.hold(state.task_tags);
    if (before) tags.giveBack(before.state.task_tags);
    return { ...state, task_tags };
  }

  return {
    get: (id) => entries.get(id),
    has: (id) => entries.has(id),
    count: () => entries.size,
    bytes: () => bytes,
    put(id, task) {
      const before = entries.get(id);
      const state = share(before, task.state);
      const bytesOfOutput = task.hasOutput ? OUTPUT_BYTES : 0;
      const after = { ...task, state, bytes: estimateTaskBytes(state) + bytesOfOutput };
      bytes += after.bytes - (before?.bytes ?? 0);
      entries.set(id, after);
      return state;
    },
    delete(id) {
      const before = entries.get(id);
      if (!before) return;
      entries.delete(id);
      tags.giveBack(before.state.task_tags);
      bytes -= before.bytes;
    },
  };
}

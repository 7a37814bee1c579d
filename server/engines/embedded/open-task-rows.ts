/**
 * The rows of open tasks. Memory and the row `open/ID` hold the small state; a reply that was reported
 * while the task runs has a row of its own, which is written once and read only with the whole state: so
 * what agents report takes no memory, and a later report does not write it again.
 */
import type { TaskState } from '../../domain/task.ts';
import type { Revision } from '../../ports/store.ts';
import type { Generation } from './generation.ts';
import { type CommitGroup, putRow, removeRow } from './group-commit.ts';
import type { OpenTask } from './memory/open-tasks.ts';
import { type Envelope, openKey, replyKey, writeEnvelope } from './storage/row-keys.ts';

/** The commit that writes a task. */
type TaskWrite = {
  readonly generation: Generation;
  readonly group: CommitGroup;
  readonly seq: number;
  readonly revision: Revision;
};

/** Puts an open task into memory and its row, with the time at which it is due. */
export function putOpenTask(
  { generation, group, seq }: TaskWrite,
  id: string,
  { state, isReplyApart, revision }: Pick<OpenTask, 'state' | 'isReplyApart' | 'revision'>,
): void {
  const storedDueMs = generation.due.atMs(`task:${id}`) ?? null;
  const hasOutput = generation.tasks.get(id)?.hasOutput || generation.outputs.get(id) !== undefined;
  generation.tasks.put(id, { state, isReplyApart, hasOutput, revision, seq, storedDueMs });
  const flags = { ...(isReplyApart && { p: true as const }), ...(hasOutput && { o: true as const }) };
  putRow(group, openKey(id), writeEnvelope({ r: revision, d: storedDueMs, ...flags, v: state }));
}

/** Writes a reply once, to a row of its own. Returns the state without it; the same when it has none. */
export function setReplyApart(
  { generation, group, seq, revision }: TaskWrite,
  id: string,
  state: TaskState,
): TaskState {
  const { reply } = state;
  if (reply === null) return state;
  // The first reply counts, so the row that is there has this one.
  if (!generation.tasks.get(id)?.isReplyApart) {
    const envelope: Envelope = { r: revision, v: reply };
    const text = JSON.stringify(envelope);
    putRow(group, replyKey(id), text);
    generation.recentRows.note(replyKey(id), envelope, seq, text.length);
  }
  return { ...state, reply: null };
}

/** Removes the row of a reply: its task is not open any more. */
export function removeReply({ generation, group, seq }: TaskWrite, id: string): void {
  removeRow(group, replyKey(id));
  generation.recentRows.note(replyKey(id), null, seq, 0);
}

/**
 * Applies a batch whose preconditions hold: changes the memory state and adds the rows to the commit's group,
 * in one go. From then on the memory state is ahead of the file, and no caller is shown a changed value
 * before the group is durable.
 */
import { hasTextField } from '../../domain/json-text.ts';
import { isSettled, type TaskDetails } from '../../domain/task.ts';
import { isLargeText } from '../../domain/value-size.ts';
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { Batch, DueChange, Kinds, Ref, Revision, TaskWrite, Write } from '../../ports/store.ts';
import type { Contacts } from '../contacts.ts';
import { putEnded } from './ended-rows.ts';
import { feedTopic } from './feed.ts';
import type { Generation } from './generation.ts';
import { type CommitGroup, putRow, removeRow } from './group-commit.ts';
import { applyEnding, applyIndexChanges } from './index-changes.ts';
import { findFeedEnd, type Prefetched, rowKeyOf } from './lookup.ts';
import { createFeedEntry } from './memory/feed-tails.ts';
import type { OpenTask } from './memory/open-tasks.ts';
import { applyOutput, type PlannedOutput, settleOutput } from './output.ts';
import {
  agentKey,
  type Envelope,
  eventKey,
  expiryKey,
  openKey,
  readEnvelope,
  writeEnvelope,
  writeEvent,
} from './storage/row-keys.ts';

/** One commit while it is applied. */
type Commit = {
  readonly generation: Generation;
  readonly prefetched: Prefetched;
  readonly group: CommitGroup;
  readonly seq: number;
  readonly revision: Revision;
  readonly nowMs: number;
  readonly contacts: Contacts;
};

/** Applies the batch and what was planned of an output; returns the commit's number and revision. */
export function applyBatch(
  generation: Generation,
  prefetched: Prefetched,
  batch: Batch,
  nowMs: number,
  contacts: Contacts,
  output?: PlannedOutput,
): { readonly seq: number; readonly revision: Revision } {
  const { group, seq } = generation.commits.join(output !== undefined && batch.writes.length === 0);
  const revision = `${generation.run}-${seq}`;
  const commit: Commit = { generation, prefetched, group, seq, revision, nowMs, contacts };
  const capacityBefore = readCapacity(generation, batch);
  for (const change of batch.due ?? []) retime(commit, change);
  if (output) {
    applyOutput(commit, output);
    // Watchers of the output are notified of the task's state anyway.
    if (batch.writes.length === 0) group.topics.add(`output:${output.request_id}`);
  }
  for (const write of batch.writes) applyWrite(commit, write);
  for (const change of batch.due ?? []) storeEarlierDue(commit, change.ref);
  for (const { op, agent_id, request_id } of batch.slots ?? []) {
    if (op === 'grant' && generation.agents.slots.has(agent_id, request_id)) continue;
    generation.agents[op](agent_id, request_id, seq);
    if (op === 'grant' && generation.agents.get(agent_id)) contacts.noteGrant(agent_id, nowMs);
    group.topics.add(`agent:${agent_id}`);
  }
  if (batch.event) applyEvent(commit, batch.event);
  if (capacityBefore) makeFreedAgentsDue(commit, capacityBefore);
  return { seq, revision };
}

function retime({ generation, group, nowMs }: Commit, { ref, atMs, lease, unlessHeld }: DueChange): void {
  if (unlessHeld && generation.due.isHidden(ref, nowMs)) return;
  if (atMs === 'held') generation.due.set(ref, nowMs + STORE_LIMITS.leaseMs, lease);
  else if (atMs === null) generation.due.remove(ref);
  else generation.due.set(ref, atMs, null);
  group.topics.add('due');
}

/**
 * An open task that is due earlier than its row says needs a new row; a later time is kept in memory only.
 */
function storeEarlierDue(commit: Commit, ref: Ref): void {
  if (!ref.startsWith('task:')) return;
  const { generation } = commit;
  const id = ref.slice('task:'.length);
  const task = generation.tasks.get(id);
  const atMs = generation.due.atMs(ref);
  if (!task || atMs === undefined) return;
  if (task.storedDueMs === null || atMs < task.storedDueMs) putOpenTask(commit, id, task);
}

function applyWrite(commit: Commit, write: Write): void {
  switch (write.kind) {
    case 'task':
      applyTask(commit, write);
      return;
    case 'agent':
      applyAgent(commit, write.id, write.value);
      return;
    case 'input':
      putValue(commit, 'input', write.id, write.value, null);
      return;
    case 'key':
      putValue(commit, 'key', write.id, write.value, commit.nowMs + write.keepMs);
      return;
  }
}

/** Puts an open task into memory and its row, with the time at which it is due. */
function putOpenTask(
  { generation, group, seq }: Commit,
  id: string,
  { state, revision }: Pick<OpenTask, 'state' | 'revision'>,
): void {
  const storedDueMs = generation.due.atMs(`task:${id}`) ?? null;
  const hasOutput = generation.tasks.get(id)?.hasOutput || generation.outputs.get(id) !== undefined;
  generation.tasks.put(id, { state, hasOutput, revision, seq, storedDueMs });
  putRow(
    group,
    openKey(id),
    writeEnvelope({ r: revision, d: storedDueMs, ...(hasOutput && { o: true }), v: state }),
  );
}

/** The details have a row of their own: they take no memory, and few steps write them again. */
function applyDetails(
  { generation, group, seq, revision }: Commit,
  id: string,
  details: TaskDetails | null,
): void {
  const key = rowKeyOf('details', id);
  const envelope: Envelope | null = details === null ? null : { r: revision, v: details };
  const text = JSON.stringify(envelope);
  if (envelope) putRow(group, key, text);
  else removeRow(group, key);
  generation.recentRows.note(key, envelope, seq, text.length);
}

/** Writes a value that is not part of the memory state, and adds it to the recent rows. */
function putValue(
  { generation, group, seq, revision }: Commit,
  kind: 'input' | 'task' | 'key',
  id: string,
  value: Kinds['input' | 'task' | 'key'],
  expiresMs: number | null,
): void {
  const key = rowKeyOf(kind, id);
  const expiry = expiresMs === null ? {} : { e: expiresMs };
  const text = writeEnvelope({ r: revision, ...expiry, v: value });
  putRow(group, key, text);
  if (kind !== 'key' && key > generation.newestTaskKey) generation.newestTaskKey = key;
  // Only the text of a large value is kept: its own if it has one, or else the row's.
  const isKept = !isLargeText(text) || hasTextField(value);
  const envelope: Envelope = isKept ? { r: revision, ...expiry, v: value } : readEnvelope(text);
  generation.recentRows.note(key, envelope, seq, text.length);
  if (expiresMs !== null) putRow(group, expiryKey(expiresMs, key), '');
}

function applyTask(commit: Commit, { id, value, index, details, ending }: TaskWrite): void {
  const { generation, group } = commit;
  applyIndexChanges(commit, id, index);
  if (ending) applyEnding(commit, ending);
  if (details !== undefined) applyDetails(commit, id, details);
  group.topics.add(`task:${id}`);
  if (!isSettled(value)) {
    putOpenTask(commit, id, { state: value, revision: commit.revision });
    return;
  }
  const open = generation.tasks.get(id);
  if (open) {
    generation.tasks.delete(id);
    removeRow(group, openKey(id));
    if (open.hasOutput || generation.outputs.get(id))
      settleOutput(commit, commit.prefetched, id, timestampOf(commit));
  }
  putValue(commit, 'task', id, value, null);
  putEnded(commit, timestampOf(commit), id, '');
}

function applyAgent(commit: Commit, id: string, value: Kinds['agent'] | null): void {
  const { generation, group, seq, revision, contacts } = commit;
  group.topics.add(`agent:${id}`);
  if (value === null) {
    generation.agents.remove(id, seq);
    contacts.forget(id);
    removeRow(group, agentKey(id));
    return;
  }
  const before = generation.agents.get(id)?.record;
  if (before?.registration !== value.registration) contacts.noteRegistration(id, commit.nowMs);
  generation.agents.put(id, value, revision, seq);
  const envelope: Envelope = { r: revision, v: value };
  putRow(group, agentKey(id), JSON.stringify(envelope));
}

/**
 * The time of the commit's event and of settled tasks: never before the last cursor, so that feeds and
 * retention agree.
 */
function timestampOf({ generation, nowMs }: Commit): number {
  return Math.max(nowMs, generation.highWaterMark.ms);
}

function applyEvent(commit: Commit, { session, request_id }: NonNullable<Batch['event']>): void {
  const { generation, group, seq } = commit;
  const ms = timestampOf(commit);
  const n = ms === generation.highWaterMark.ms ? generation.highWaterMark.n + 1 : 0;
  generation.highWaterMark = { run: generation.run, ms, n };
  const number = findFeedEnd(generation, commit.prefetched, session).number + 1;
  generation.feedEnds.note(session, { number, stored: true }, seq, session.length);
  group.highWaterMark = generation.highWaterMark;
  const cursor = `${ms}-${n}`;
  const key = eventKey(session, cursor) ?? '';
  putRow(group, key, writeEvent({ number, request_id }));
  generation.feedTails.add(session, createFeedEntry(key, cursor, { number, request_id }), seq);
  putEnded(commit, ms, request_id, key);
  group.topics.add(feedTopic(session));
}

/** The numbers that decide whether an agent can take more tasks after a commit than before it. */
type Capacity = { readonly freeSlots: number; readonly registration: string | undefined };

/**
 * The capacity of the agents that the batch touches, before it is applied; undefined when it touches none.
 */
function readCapacity(generation: Generation, batch: Batch): ReadonlyMap<string, Capacity> | undefined {
  const written = batch.writes.flatMap(({ kind, id }) => (kind === 'agent' ? [id] : []));
  if (written.length === 0 && !batch.slots) return undefined;
  const agent_ids = [...written, ...(batch.slots ?? []).map(({ agent_id }) => agent_id)];
  return new Map(
    agent_ids.map((id) => [
      id,
      {
        freeSlots: generation.agents.freeSlots(id),
        registration: generation.agents.get(id)?.record.registration,
      },
    ]),
  );
}

/**
 * An agent that has more free slots now, or registered again, becomes due when a task waits for one of its
 * tags.
 */
function makeFreedAgentsDue(
  { generation, group, nowMs }: Commit,
  capacityBefore: ReadonlyMap<string, Capacity>,
): void {
  for (const [agent_id, before] of capacityBefore) {
    const record = generation.agents.get(agent_id)?.record;
    const freeSlots = generation.agents.freeSlots(agent_id);
    const hasMoreCapacity =
      freeSlots > before.freeSlots || (freeSlots > 0 && record?.registration !== before.registration);
    if (!record || !hasMoreCapacity || !generation.indexes.hasAny('waiting-for', record.agent_tags)) continue;
    generation.due.set(`agent:${agent_id}`, nowMs, null);
    group.topics.add('due');
  }
}

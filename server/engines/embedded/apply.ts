/**
 * Applies a batch that was judged: changes the image and writes the rows of its group, in one go and without fail.
 * From here on the image is ahead of the disk; nobody is shown what it says before the group is durable.
 */
import { isSettled, type TaskState } from '../../domain/task.ts';
import type { Batch, DueChange, Kinds, Ref, Revision, Write } from '../../ports/store.ts';
import type { Generation, OpenTask } from './generation.ts';
import type { CommitGroup } from './group-commit.ts';
import { feedEndOf, type Prefetched, rowKeyOf, settledState } from './lookup.ts';
import type { Contacts } from './memory/contacts.ts';
import { LEASE_MS } from './memory/due-queue.ts';
import {
  agentKey,
  agentListing,
  type Envelope,
  endedKey,
  eventKey,
  expiryKey,
  LISTING_ALL,
  openKey,
  positionOf,
  sessionListing,
  unreportedListing,
  writeEvent,
} from './sqlite/row-keys.ts';

/** For how long a task that ended without its agent's report is told to that agent. */
export const UNREPORTED_MS = 600_000;

/** One commit while it is applied. */
type Change = {
  readonly generation: Generation;
  readonly prefetched: Prefetched;
  readonly group: CommitGroup;
  readonly seq: number;
  readonly revision: Revision;
  readonly nowMs: number;
  readonly contacts: Contacts;
};

/** Applies the batch; says which commit it became. */
export function applyBatch(
  generation: Generation,
  prefetched: Prefetched,
  batch: Batch,
  nowMs: number,
  contacts: Contacts,
): { readonly seq: number; readonly revision: Revision } {
  const { group, seq } = generation.commits.join();
  const revision = `${generation.run}-${seq}`;
  const change: Change = { generation, prefetched, group, seq, revision, nowMs, contacts };
  const freeSlots = noteFreeSlots(generation, batch);
  for (const one of batch.due ?? []) retime(change, one);
  for (const write of batch.writes) applyWrite(change, write);
  for (const one of batch.due ?? []) keepDueStored(change, one.ref);
  for (const { op, agent_id, request_id } of batch.slots ?? []) {
    generation.agents[op](agent_id, request_id, seq);
    if (op === 'grant' && generation.agents.get(agent_id)) contacts.noteGrant(agent_id, nowMs);
    group.topics.add(`agent:${agent_id}`);
  }
  if (batch.wait) applyWait(generation, batch.wait);
  if (batch.event) applyEvent(change, batch.event);
  if (batch.unreported) applyUnreported(change, batch.unreported);
  if (freeSlots) wakeFreedAgents(change, freeSlots);
  return { seq, revision };
}

/** Writes a row of the group. */
export function putRow(group: CommitGroup, key: string, text: string): void {
  group.sets.set(key, text);
  if (group.deletes.size > 0) group.deletes.delete(key);
}

/** Removes a row with the group. */
export function removeRow(group: CommitGroup, key: string): void {
  group.sets.delete(key);
  group.deletes.add(key);
}

function retime({ generation, group, nowMs }: Change, { ref, atMs, lease, unlessHeld }: DueChange): void {
  if (unlessHeld && generation.due.isHidden(ref, nowMs)) return;
  if (atMs === 'held') generation.due.set(ref, nowMs + LEASE_MS, lease);
  else if (atMs === null) generation.due.remove(ref);
  else generation.due.set(ref, atMs, null);
  group.topics.add('due');
}

/** An open task that is now due earlier than its row says gets a new row; later is told by memory alone. */
function keepDueStored(change: Change, ref: Ref): void {
  if (!ref.startsWith('task:')) return;
  const { generation } = change;
  const id = ref.slice('task:'.length);
  const task = generation.tasks.get(id);
  const atMs = generation.due.atMs(ref);
  if (!task || atMs === undefined) return;
  if (task.storedDueMs === null || atMs < task.storedDueMs)
    putOpenTask(change, id, task.state, task.revision);
}

function applyWrite(change: Change, write: Write): void {
  switch (write.kind) {
    case 'task':
      applyTask(change, write.id, write.value);
      return;
    case 'agent':
      applyAgent(change, write.id, write.value);
      return;
    case 'input':
      putValue(change, 'input', write.id, write.value, null);
      return;
    case 'key': {
      const endMs = write.keepMs === undefined ? null : change.nowMs + write.keepMs;
      putValue(change, 'key', write.id, write.value, endMs);
      return;
    }
  }
}

/** Writes a value that does not stay in the image, and remembers it for as long as there is room. */
function putValue(
  { generation, group, seq, revision }: Change,
  kind: 'input' | 'task' | 'key',
  id: string,
  value: Kinds['input' | 'task' | 'key'] | null,
  endMs: number | null,
): void {
  const key = rowKeyOf(kind, id);
  if (value === null) {
    removeRow(group, key);
    generation.recentRows.note(key, null, seq, 0);
    return;
  }
  const envelope: Envelope = endMs === null ? { r: revision, v: value } : { r: revision, e: endMs, v: value };
  const text = JSON.stringify(envelope);
  putRow(group, key, text);
  if (kind !== 'key' && key > generation.newestTaskKey) generation.newestTaskKey = key;
  generation.recentRows.note(key, envelope, seq, text.length);
  if (endMs !== null) putRow(group, expiryKey(endMs, key), '');
}

function applyTask(change: Change, id: string, value: TaskState | null): void {
  const { generation, group } = change;
  const open = generation.tasks.get(id);
  const before = open?.state ?? settledState(generation, change.prefetched, id);
  updateListings(group, id, before, value);
  group.topics.add(`task:${id}`);
  if (value !== null && !isSettled(value)) {
    if (!open && before) putValue(change, 'task', id, null, null);
    putOpenTask(change, id, value, change.revision);
    return;
  }
  if (open) {
    generation.tasks.delete(id);
    generation.waiting.leave(id);
    removeRow(group, openKey(id));
  }
  if (value !== null || before) putValue(change, 'task', id, value, null);
  if (value !== null) putRow(group, endedKey(stampMs(change), id), '');
}

function putOpenTask(change: Change, id: string, state: TaskState, revision: Revision): void {
  const { generation, group, seq } = change;
  const storedDueMs = generation.due.atMs(`task:${id}`) ?? null;
  const task: OpenTask = { state, revision, seq, storedDueMs };
  generation.tasks.set(id, task);
  const envelope: Envelope = { r: revision, d: storedDueMs, v: state };
  putRow(group, openKey(id), JSON.stringify(envelope));
}

/** Adds the task to the listings it belongs to now and takes it from those it no longer does. */
function updateListings(
  group: CommitGroup,
  id: string,
  before: TaskState | undefined,
  after: TaskState | null,
): void {
  if (before && after && isListedAlike(before, after)) return;
  const old = before ? listingsOf(before, id) : [];
  const now = after ? listingsOf(after, id) : [];
  for (const key of now) if (!old.includes(key)) putRow(group, key, '');
  for (const key of old) if (!now.includes(key)) removeRow(group, key);
}

function isListedAlike(a: TaskState, b: TaskState): boolean {
  return a.assignees === b.assignees && a.createdMs === b.createdMs && a.cli_session_id === b.cli_session_id;
}

/** The rows by which a task is found: among all, in its session, under each agent it was ever assigned to. */
export function listingsOf(state: TaskState, id: string): readonly string[] {
  const place = positionOf(state.createdMs, id);
  const agents = state.assignees.map(agentListing);
  return [LISTING_ALL, sessionListing(state.cli_session_id), ...agents].map(
    (listing) => `${listing}/${place}`,
  );
}

function applyAgent(change: Change, id: string, value: Kinds['agent'] | null): void {
  const { generation, group, seq, revision, contacts } = change;
  group.topics.add(`agent:${id}`);
  if (value === null) {
    generation.agents.remove(id, seq);
    contacts.forget(id);
    removeRow(group, agentKey(id));
    return;
  }
  generation.agents.put(id, value, revision, seq);
  const envelope: Envelope = { r: revision, v: value };
  putRow(group, agentKey(id), JSON.stringify(envelope));
}

function applyWait(
  generation: Generation,
  { op, request_id, tags, sinceMs }: NonNullable<Batch['wait']>,
): void {
  if (op === 'join') generation.waiting.join(request_id, tags, sinceMs);
  else generation.waiting.leave(request_id);
}

/** The moment this commit ends things: never before that of an earlier one, so that feeds and retention agree. */
function stampMs({ generation, nowMs }: Change): number {
  return Math.max(nowMs, generation.highWaterMark.ms);
}

function applyEvent(change: Change, { session, request_id }: NonNullable<Batch['event']>): void {
  const { generation, group, seq } = change;
  const ms = stampMs(change);
  const n = ms === generation.highWaterMark.ms ? generation.highWaterMark.n + 1 : 0;
  generation.highWaterMark = { run: generation.run, ms, n };
  const number = feedEndOf(generation, change.prefetched, session).number + 1;
  generation.feedEnds.note(session, { number, stored: true }, seq, session.length);
  group.highWaterMark = generation.highWaterMark;
  const key = eventKey(session, `${ms}-${n}`) ?? '';
  putRow(group, key, writeEvent({ number, request_id }));
  putRow(group, endedKey(ms, request_id), key);
  group.topics.add(`feed:${session}`);
}

function applyUnreported(change: Change, { agent_id, request_id }: NonNullable<Batch['unreported']>): void {
  const key = `${unreportedListing(agent_id)}/${positionOf(change.nowMs, request_id)}`;
  putRow(change.group, key, '');
  putRow(change.group, expiryKey(change.nowMs + UNREPORTED_MS, key), '');
}

type FreeSlots = ReadonlyMap<string, { readonly room: number; readonly registration: string | undefined }>;

/** How much room the agents of the batch have before it; undefined: it touches none. */
function noteFreeSlots(generation: Generation, batch: Batch): FreeSlots | undefined {
  const written = batch.writes.flatMap(({ kind, id }) => (kind === 'agent' ? [id] : []));
  if (written.length === 0 && !batch.slots) return undefined;
  const agentIds = [...written, ...(batch.slots ?? []).map(({ agent_id }) => agent_id)];
  return new Map(
    agentIds.map((id) => [
      id,
      { room: generation.agents.freeSlots(id), registration: generation.agents.get(id)?.record.registration },
    ]),
  );
}

/** An agent that came to have more room, or registered anew, is looked at now if somebody waits for such a one. */
function wakeFreedAgents({ generation, group, nowMs }: Change, freeSlots: FreeSlots): void {
  for (const [agent_id, before] of freeSlots) {
    const record = generation.agents.get(agent_id)?.record;
    const room = generation.agents.freeSlots(agent_id);
    const isNews = room > before.room || (room > 0 && record?.registration !== before.registration);
    if (!record || !isNews || !generation.waiting.hasAny(record.agent_tags)) continue;
    generation.due.set(`agent:${agent_id}`, nowMs, null);
    group.topics.add('due');
  }
}

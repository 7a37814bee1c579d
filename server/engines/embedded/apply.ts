/**
 * Applies a batch that was judged: changes the image and writes the rows of its group, in one go and without fail.
 * From here on the image is ahead of the disk; nobody is shown what it says before the group is durable.
 */
import { isSettled, type TaskState } from '../../domain/task.ts';
import type { Batch, DueChange, Kinds, Ref, Revision, Write } from '../../ports/store.ts';
import { LEASE_MS } from './due-list.ts';
import type { Group } from './groups.ts';
import { type Brought, feedEndOf, rowKeyOf, settledState } from './known.ts';
import type { Life, OpenTask } from './life.ts';
import type { Presence } from './presence.ts';
import {
  agentKey,
  agentListing,
  type Envelope,
  endedKey,
  eventKey,
  fadeKey,
  LISTING_ALL,
  openKey,
  placeOf,
  sessionListing,
  unreportedListing,
  writeEvent,
} from './rows.ts';

/** For how long a task that ended without its agent's report is told to that agent. */
export const UNREPORTED_MS = 600_000;

/** One commit while it is applied. */
type Change = {
  readonly life: Life;
  readonly brought: Brought;
  readonly group: Group;
  readonly seq: number;
  readonly revision: Revision;
  readonly nowMs: number;
  readonly presence: Presence;
};

/** Applies the batch; says which commit it became. */
export function applyBatch(
  life: Life,
  brought: Brought,
  batch: Batch,
  nowMs: number,
  presence: Presence,
): { readonly seq: number; readonly revision: Revision } {
  const { group, seq } = life.groups.join();
  const revision = `${life.run}-${seq}`;
  const change: Change = { life, brought, group, seq, revision, nowMs, presence };
  const rooms = noteRooms(life, batch);
  for (const one of batch.due ?? []) retime(change, one);
  for (const write of batch.writes) applyWrite(change, write);
  for (const one of batch.due ?? []) keepDueStored(change, one.ref);
  for (const { op, agentId, request_id } of batch.slots ?? []) {
    life.agents[op](agentId, request_id, seq);
    if (op === 'grant' && life.agents.get(agentId)) presence.noteGrant(agentId, nowMs);
    group.topics.add(`agent:${agentId}`);
  }
  if (batch.wait) applyWait(life, batch.wait);
  if (batch.event) applyEvent(change, batch.event);
  if (batch.unreported) applyUnreported(change, batch.unreported);
  if (rooms) wakeRoomyAgents(change, rooms);
  return { seq, revision };
}

/** Writes a row of the group. */
export function putRow(group: Group, key: string, text: string): void {
  group.sets.set(key, text);
  if (group.deletes.size > 0) group.deletes.delete(key);
}

/** Removes a row with the group. */
export function removeRow(group: Group, key: string): void {
  group.sets.delete(key);
  group.deletes.add(key);
}

function retime({ life, group, nowMs }: Change, { ref, atMs, lease, unlessHeld }: DueChange): void {
  if (unlessHeld && life.due.isHidden(ref, nowMs)) return;
  if (atMs === 'held') life.due.set(ref, nowMs + LEASE_MS, lease);
  else if (atMs === null) life.due.remove(ref);
  else life.due.set(ref, atMs, null);
  group.topics.add('due');
}

/** An open task that is now due earlier than its row says gets a new row; later is told by memory alone. */
function keepDueStored(change: Change, ref: Ref): void {
  if (!ref.startsWith('task:')) return;
  const { life } = change;
  const id = ref.slice('task:'.length);
  const task = life.tasks.get(id);
  const atMs = life.due.atMs(ref);
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
  { life, group, seq, revision }: Change,
  kind: 'input' | 'task' | 'key',
  id: string,
  value: Kinds['input' | 'task' | 'key'] | null,
  endMs: number | null,
): void {
  const key = rowKeyOf(kind, id);
  if (value === null) {
    removeRow(group, key);
    life.values.note(key, null, seq, 0);
    return;
  }
  const envelope: Envelope = endMs === null ? { r: revision, v: value } : { r: revision, e: endMs, v: value };
  const text = JSON.stringify(envelope);
  putRow(group, key, text);
  if (kind !== 'key' && key > life.newestTaskKey) life.newestTaskKey = key;
  life.values.note(key, envelope, seq, text.length);
  if (endMs !== null) putRow(group, fadeKey(endMs, key), '');
}

function applyTask(change: Change, id: string, value: TaskState | null): void {
  const { life, group } = change;
  const open = life.tasks.get(id);
  const before = open?.state ?? settledState(life, change.brought, id);
  updateListings(group, id, before, value);
  group.topics.add(`task:${id}`);
  if (value !== null && !isSettled(value)) {
    if (!open && before) putValue(change, 'task', id, null, null);
    putOpenTask(change, id, value, change.revision);
    return;
  }
  if (open) {
    life.tasks.delete(id);
    life.waiters.leave(id);
    removeRow(group, openKey(id));
  }
  if (value !== null || before) putValue(change, 'task', id, value, null);
  if (value !== null) putRow(group, endedKey(stampMs(change), id), '');
}

function putOpenTask(change: Change, id: string, state: TaskState, revision: Revision): void {
  const { life, group, seq } = change;
  const storedDueMs = life.due.atMs(`task:${id}`) ?? null;
  const task: OpenTask = { state, revision, seq, storedDueMs };
  life.tasks.set(id, task);
  const envelope: Envelope = { r: revision, d: storedDueMs, v: state };
  putRow(group, openKey(id), JSON.stringify(envelope));
}

/** Adds the task to the listings it belongs to now and takes it from those it no longer does. */
function updateListings(
  group: Group,
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
  const place = placeOf(state.createdMs, id);
  const agents = state.assignees.map(agentListing);
  return [LISTING_ALL, sessionListing(state.cli_session_id), ...agents].map(
    (listing) => `${listing}/${place}`,
  );
}

function applyAgent(change: Change, id: string, value: Kinds['agent'] | null): void {
  const { life, group, seq, revision, presence } = change;
  group.topics.add(`agent:${id}`);
  if (value === null) {
    life.agents.remove(id, seq);
    presence.forget(id);
    removeRow(group, agentKey(id));
    return;
  }
  life.agents.put(id, value, revision, seq);
  const envelope: Envelope = { r: revision, v: value };
  putRow(group, agentKey(id), JSON.stringify(envelope));
}

function applyWait(life: Life, { op, request_id, tags, sinceMs }: NonNullable<Batch['wait']>): void {
  if (op === 'join') life.waiters.join(request_id, tags, sinceMs);
  else life.waiters.leave(request_id);
}

/** The moment this commit ends things: never before that of an earlier one, so that feeds and retention agree. */
function stampMs({ life, nowMs }: Change): number {
  return Math.max(nowMs, life.mark.ms);
}

function applyEvent(change: Change, { session, request_id }: NonNullable<Batch['event']>): void {
  const { life, group, seq } = change;
  const ms = stampMs(change);
  const n = ms === life.mark.ms ? life.mark.n + 1 : 0;
  life.mark = { run: life.run, ms, n };
  const number = feedEndOf(life, change.brought, session).number + 1;
  life.feeds.note(session, { number, stored: true }, seq, session.length);
  group.mark = life.mark;
  const key = eventKey(session, `${ms}-${n}`) ?? '';
  putRow(group, key, writeEvent({ number, request_id }));
  putRow(group, endedKey(ms, request_id), key);
  group.topics.add(`feed:${session}`);
}

function applyUnreported(change: Change, { agentId, request_id }: NonNullable<Batch['unreported']>): void {
  const key = `${unreportedListing(agentId)}/${placeOf(change.nowMs, request_id)}`;
  putRow(change.group, key, '');
  putRow(change.group, fadeKey(change.nowMs + UNREPORTED_MS, key), '');
}

type Rooms = ReadonlyMap<string, { readonly room: number; readonly registration: string | undefined }>;

/** How much room the agents of the batch have before it; undefined: it touches none. */
function noteRooms(life: Life, batch: Batch): Rooms | undefined {
  const written = batch.writes.flatMap(({ kind, id }) => (kind === 'agent' ? [id] : []));
  if (written.length === 0 && !batch.slots) return undefined;
  const agentIds = [...written, ...(batch.slots ?? []).map(({ agentId }) => agentId)];
  return new Map(
    agentIds.map((id) => [
      id,
      { room: life.agents.room(id), registration: life.agents.get(id)?.record.registration },
    ]),
  );
}

/** An agent that came to have more room, or registered anew, is looked at now if somebody waits for such a one. */
function wakeRoomyAgents({ life, group, nowMs }: Change, rooms: Rooms): void {
  for (const [agentId, before] of rooms) {
    const record = life.agents.get(agentId)?.record;
    const room = life.agents.room(agentId);
    const isNews = room > before.room || (room > 0 && record?.registration !== before.registration);
    if (!record || !isNews || !life.waiters.hasAny(record.agent_tags)) continue;
    life.due.set(`agent:${agentId}`, nowMs, null);
    group.topics.add('due');
  }
}

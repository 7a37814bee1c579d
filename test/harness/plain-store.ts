/**
 * The store port in its simplest form: maps in memory, and queries that scan everything. Nothing survives a
 * restart. The real engines must agree with it, and wrong designs are planted on top of it.
 */
import { isSettled } from '../../server/domain/task.ts';
import { countLatestDue, STORE_LIMITS } from '../../server/ports/limits.ts';
import {
  agentRef,
  type Batch,
  type CommitConflict,
  type DueChange,
  type Store,
  type TaskWrite,
} from '../../server/ports/store.ts';
import { flushMicrotasks } from './fake-clock.ts';
import { headOf, planOutput, readOutput } from './plain-output.ts';
import {
  agentStatusOf,
  allOf,
  applyRegistration,
  applyTouch,
  createPlainState,
  findFreeAgent,
  levelsOf,
  listAll,
  listClaimable,
  type PlainState,
  readActivity,
  readCounts,
  readEnded,
  readValue,
  slotsOf,
  waitingTasks,
} from './plain-state.ts';

/** Creates an empty plain store on the clock. */
export function createPlainStore(clock: { nowMs(): number }): Store {
  const state = createPlainState(clock);
  const notifications = createNotifications();
  return {
    nowMs: state.nowMs,
    ...createReads(state),
    ...createDueEntries(state),
    async commit(batch) {
      const conflict = findConflict(state, batch);
      if (conflict) return conflict;
      const output = batch.output && planOutput(state, batch.output);
      if (output && 'conflict' in output) return output;
      if (output && batch.output) state.outputs.set(batch.output.request_id, output);
      state.counter += 1;
      const revision = `r${state.counter}`;
      applyBatch(state, batch, revision);
      await Promise.resolve();
      notifications.notify();
      return { ok: true, revision, ...(output && { output: headOf(output) }) };
    },
    async appendOutput({ request_id, ...append }) {
      const output = planOutput(state, { request_id, append });
      if ('conflict' in output) return output;
      state.outputs.set(request_id, output);
      await Promise.resolve();
      notifications.notify();
      return { ok: true, ...headOf(output) };
    },
    readOutput: async (request_id, after, limit) => readOutput(state, request_id, after, limit),
    async touch(agent_id, touch) {
      if (readValue(state, 'agent', agent_id)) applyTouch(state, agent_id, touch);
      return readValue(state, 'agent', agent_id)?.value;
    },
    async *feed(session, after, signal) {
      const events = () => state.feeds.get(session) ?? [];
      let index = after === null ? 0 : events().findIndex(({ cursor }) => cursor === after) + 1;
      for await (const _ of notifications.follow(signal)) {
        for (let event = events()[index]; event && !signal.aborted; event = events()[index]) {
          index += 1;
          yield { gap: false, ...event };
        }
      }
    },
    watch: (_topic, signal) => notifications.follow(signal),
    trim: async () => 0,
    health: () => ({ ok: true }),
    close: flushMicrotasks,
  };
}

function createReads(
  state: PlainState,
): Pick<
  Store,
  | 'get'
  | 'getForCommit'
  | 'getAgentStatus'
  | 'readAgentChanges'
  | 'list'
  | 'listClaimable'
  | 'readCounts'
  | 'readActivity'
  | 'readEnded'
  | 'findSlots'
> {
  return {
    get: async (kind, id) => readValue(state, kind, id),
    getForCommit: async (request_id) => readValue(state, 'task', request_id),
    getAgentStatus: async (agent_id) => agentStatusOf(state, agent_id),
    async readAgentChanges() {
      const changed = allOf(state, 'agent').flatMap(([id]) => agentStatusOf(state, id) ?? []);
      return { reset: true, changed, removed: [], cursor: String(state.counter), more: false };
    },
    async list(query, ask, { after, limit }) {
      const all = listAll(state, query, ask);
      const from = after === undefined ? 0 : findNext(query, all, after);
      const items = all.slice(from, from + limit);
      const next = from + limit < all.length ? (items.at(-1)?.position ?? null) : null;
      return { items: items.map(({ item }) => item) as never, next };
    },
    listClaimable: async (agent_id, limit) => listClaimable(state, agent_id, limit),
    readCounts: async (tagsMax) => readCounts(state, tagsMax),
    readActivity: async () => readActivity(state),
    readEnded: async () => readEnded(state),
    findSlots: async (agent_id, request_ids) =>
      new Set(slotsOf(state, agent_id).filter((id) => request_ids.includes(id))),
  };
}

function createDueEntries(state: PlainState): Pick<Store, 'takeDue' | 'renewLeases'> {
  const { due, nowMs } = state;
  return {
    async takeDue(limit) {
      if (nowMs() - state.lastSweepMs > STORE_LIMITS.sweepGapMs) state.resumedMs = nowMs();
      state.lastSweepMs = nowMs();
      const ready = [...due].filter(([, { atMs }]) => atMs <= nowMs()).sort((a, b) => a[1].atMs - b[1].atMs);
      const latest = countLatestDue(limit);
      const earliest = ready.splice(0, limit - latest);
      return [...earliest, ...ready.slice(Math.max(0, ready.length - latest))].map(([ref]) => {
        state.counter += 1;
        const lease = `l${state.counter}`;
        due.set(ref, { atMs: nowMs() + STORE_LIMITS.leaseMs, lease });
        return { ref, lease };
      });
    },
    async renewLeases(held) {
      for (const { ref, lease } of held) {
        if (due.get(ref)?.lease === lease) due.set(ref, { atMs: nowMs() + STORE_LIMITS.leaseMs, lease });
      }
    },
  };
}

function findConflict(state: PlainState, batch: Batch): CommitConflict | undefined {
  for (const { kind, id, expect } of batch.writes) {
    const revision = readValue(state, kind, id)?.revision ?? 'absent';
    if (expect !== revision) return { ok: false, conflict: 'revision' };
  }
  for (const { ref, lease, isNew } of batch.due ?? []) {
    if (lease === undefined || isNew) continue;
    if (state.due.get(ref)?.lease !== lease) return { ok: false, conflict: 'lease' };
  }
  for (const slot of batch.slots ?? []) {
    const slots = slotsOf(state, slot.agent_id);
    if (slot.op !== 'grant') continue;
    const agent = readValue(state, 'agent', slot.agent_id)?.value;
    if (agent?.registration !== slot.registration) return { ok: false, conflict: 'slot' };
    if (slots.includes(slot.request_id)) continue;
    if (slots.length >= agent.limit) return { ok: false, conflict: 'slot' };
  }
  if (batch.noneWaiting && waitingTasks(state, batch.noneWaiting).length > 0) {
    return { ok: false, conflict: 'waiting' };
  }
  const silent = batch.noContactAfter;
  const contactMs = silent && agentStatusOf(state, silent.agent_id)?.contact.contactMs;
  if (silent && contactMs !== undefined && contactMs > silent.atMs) return { ok: false, conflict: 'contact' };
  const free = batch.noneFree && findFreeAgent(state, batch.noneFree);
  if (free !== undefined) return { ok: false, conflict: 'free_agent', agent_id: free };
  return isOverLimit(state, batch) ? { ok: false, conflict: 'full' } : undefined;
}

function isOverLimit(state: PlainState, { writes, atMost }: Batch): boolean {
  const { openTasks, agents } = atMost ?? {};
  const open = allOf(state, 'task').filter(([, { value }]) => !isSettled(value)).length;
  if (openTasks !== undefined && open >= openTasks) return true;
  const isNewAgent = writes.some(
    ({ kind, id, value }) => kind === 'agent' && value !== null && !readValue(state, 'agent', id),
  );
  return isNewAgent && agents !== undefined && allOf(state, 'agent').length >= agents;
}

function applyBatch(state: PlainState, batch: Batch, revision: string): void {
  const nowMs = state.nowMs();
  for (const write of batch.writes) {
    if (write.kind !== 'agent' || write.value === null) continue;
    const before = readValue(state, 'agent', write.id)?.value;
    if (before?.registration !== write.value.registration) applyRegistration(state, write.id);
  }
  const settles = batch.writes.flatMap(({ kind, id, value }) => {
    const before = kind === 'task' ? readValue(state, 'task', id)?.value : undefined;
    return kind === 'task' && isSettled(value) && !(before && isSettled(before)) ? [value] : [];
  });
  if (batch.writes.some(({ kind }) => kind === 'task'))
    state.changes.push({ ms: nowMs, before: levelsOf(state), ended: settles });
  for (const write of batch.writes) {
    const key = `${write.kind} ${write.id}`;
    if (write.value === null) state.values.delete(key);
    else state.values.set(key, { value: JSON.parse(JSON.stringify(write.value)), revision });
    if (write.kind === 'key') state.expiries.set(key, nowMs + write.keepMs);
    if (write.kind === 'task') noteUnreported(state, write);
    if (write.kind === 'task' && write.details === null) state.values.delete(`details ${write.id}`);
    else if (write.kind === 'task' && write.details !== undefined)
      state.values.set(`details ${write.id}`, { value: write.details, revision });
  }
  for (const change of batch.due ?? []) retime(state, change);
  const changed = new Set(batch.writes.flatMap(({ kind, id }) => (kind === 'agent' ? [id] : [])));
  for (const { op, agent_id, request_id } of batch.slots ?? []) {
    const slots = slotsOf(state, agent_id);
    if (op === 'grant' && slots.includes(request_id)) continue;
    const others = slots.filter((id) => id !== request_id);
    state.slots.set(agent_id, op === 'grant' ? [...others, request_id] : others);
    if (op === 'grant') state.grants.set(agent_id, nowMs);
    else changed.add(agent_id);
  }
  for (const agent_id of changed) {
    const agent = readValue(state, 'agent', agent_id)?.value;
    if (!agent || slotsOf(state, agent_id).length >= agent.limit) continue;
    if (waitingTasks(state, agent.agent_tags).length === 0) continue;
    state.due.set(agentRef(agent_id), { atMs: nowMs, lease: null });
  }
  if (batch.event) {
    const { session, request_id } = batch.event;
    const event = { cursor: `${nowMs}-${state.counter}`, request_id };
    state.feeds.set(session, [...(state.feeds.get(session) ?? []), event]);
  }
}

/** All else is read from the states; this the step alone decides. */
function noteUnreported(state: PlainState, { id: request_id, index }: TaskWrite): void {
  for (const { index: name, of: agent_id, atMs, keepMs = 0 } of index) {
    if (name !== 'unreported') continue;
    state.unreported.push({ agent_id, request_id, atMs, untilMs: state.nowMs() + keepMs });
  }
}

function retime({ due, nowMs }: PlainState, change: DueChange): void {
  const entry = due.get(change.ref);
  if (change.unlessHeld && entry && entry.lease !== null && entry.atMs > nowMs()) return;
  if (change.atMs === 'held') {
    due.set(change.ref, { atMs: nowMs() + STORE_LIMITS.leaseMs, lease: change.lease });
  } else if (change.atMs === null) due.delete(change.ref);
  else due.set(change.ref, { atMs: change.atMs, lease: null });
}

/** The index behind a position. That of a task continues every listing of tasks, also one that lacks it. */
function findNext(query: string, all: readonly { readonly position: string }[], after: string): number {
  if (query !== 'tasks') return all.findIndex(({ position }) => position === after) + 1;
  const found = all.findIndex(({ position }) => position < after);
  return found < 0 ? all.length : found;
}

/** Notifies its followers after every commit. */
function createNotifications() {
  const waiting = new Set<() => void>();
  return {
    notify(): void {
      for (const wake of [...waiting]) wake();
    },
    async *follow(signal: AbortSignal): AsyncGenerator<void> {
      while (!signal.aborted) {
        yield;
        if (signal.aborted) return;
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake);
            signal.removeEventListener('abort', wake);
            resolve();
          };
          waiting.add(wake);
          signal.addEventListener('abort', wake);
        });
      }
    },
  };
}

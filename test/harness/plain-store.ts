/**
 * The store port in its plainest form: maps in memory, every question answered by looking at everything. It promises
 * nothing across a restart; it is what the real engines must agree with, and where wrong designs are planted.
 */
import { isSettled } from '../../server/domain/task.ts';
import type {
  AgentStatus,
  Batch,
  CommitResult,
  DueChange,
  Kinds,
  Lease,
  Ref,
  Store,
  Stored,
} from '../../server/ports/store.ts';
import { settleMicrotasks } from './fake-clock.ts';

const LEASE_MS = 1_500;
const START_MS = 1_700_000_000_000;

type DueEntry = { atMs: number; lease: Lease | null };
type Contact = AgentStatus['contact'];

/** Creates an empty plain store on the clock. */
export function createPlainStore(clock: { nowMs(): number }): Store {
  const values = new Map<string, Stored<unknown>>();
  const slots = new Map<string, string[]>();
  const grants = new Map<string, number>();
  const contacts = new Map<string, Contact>();
  const due = new Map<Ref, DueEntry>();
  const feeds = new Map<string, { cursor: string; request_id: string }[]>();
  const unreported: { agent_id: string; request_id: string; atMs: number }[] = [];
  const listeners = new Set<() => void>();
  let counter = 0;
  let lastSweepMs = clock.nowMs();
  let resumedAt = START_MS + clock.nowMs();
  const nowMs = (): number => START_MS + clock.nowMs();
  const at = <K extends keyof Kinds>(kind: K, id: string) =>
    values.get(`${kind} ${id}`) as Stored<Kinds[K]> | undefined;

  const allOf = <K extends keyof Kinds>(kind: K): [string, Stored<Kinds[K]>][] =>
    [...values.entries()]
      .filter(([key]) => key.startsWith(`${kind} `))
      .map(([key, stored]) => [key.slice(kind.length + 1), stored as Stored<Kinds[K]>]);
  const heldBy = (agent_id: string): readonly string[] => slots.get(agent_id) ?? [];
  const freeFor = (tags: readonly string[]): string | undefined =>
    allOf('agent')
      .map(([, { value }]) => value)
      .find(
        (one) => heldBy(one.agent_id).length < one.limit && one.agent_tags.some((tag) => tags.includes(tag)),
      )?.agent_id;
  const waiters = (tags: readonly string[]): readonly string[] =>
    allOf('task')
      .filter(([, { value }]) => value.waiting && value.task_tags.some((tag) => tags.includes(tag)))
      .sort(([a, x], [b, y]) => x.value.createdMs - y.value.createdMs || (a < b ? -1 : 1))
      .map(([id]) => id);

  function standingOf(agent_id: string): AgentStatus | undefined {
    const stored = at('agent', agent_id);
    if (!stored) return undefined;
    const contact = contacts.get(agent_id) ?? { contactMs: 0, beatMs: null, beatGapMs: null, push: null };
    return {
      record: stored.value,
      revision: stored.revision,
      slots: heldBy(agent_id).length,
      lastGrantMs: grants.get(agent_id) ?? 0,
      contact: { ...contact, contactMs: Math.max(contact.contactMs, resumedAt) },
    };
  }

  function judge(batch: Batch): CommitResult | undefined {
    for (const { kind, id, expect } of batch.writes) {
      const revision = values.get(`${kind} ${id}`)?.revision ?? 'absent';
      if (expect !== 'any' && expect !== revision) return { ok: false, conflict: 'revision' };
    }
    for (const change of batch.due ?? []) {
      if (change.lease !== undefined && due.get(change.ref)?.lease !== change.lease)
        return { ok: false, conflict: 'lease' };
    }
    for (const slot of batch.slots ?? []) {
      if (slot.op !== 'grant' || heldBy(slot.agent_id).includes(slot.request_id)) continue;
      const agent = at('agent', slot.agent_id)?.value;
      if (agent?.registration !== slot.registration) return { ok: false, conflict: 'slot' };
      if (heldBy(slot.agent_id).length >= agent.limit) return { ok: false, conflict: 'slot' };
    }
    const free = batch.noneFree && freeFor(batch.noneFree);
    if (free !== undefined) return { ok: false, conflict: 'free_agent', agent_id: free };
    const open = allOf('task').filter(([, { value }]) => !isSettled(value)).length;
    if (batch.atMost?.openTasks !== undefined && open >= batch.atMost.openTasks)
      return { ok: false, conflict: 'full' };
    const isNew = batch.writes.some((one) => one.kind === 'agent' && one.value && !at('agent', one.id));
    const agentsMax = batch.atMost?.agents;
    if (isNew && agentsMax !== undefined && allOf('agent').length >= agentsMax)
      return { ok: false, conflict: 'full' };
    return undefined;
  }

  function apply(batch: Batch, revision: string): void {
    for (const { kind, id, value } of batch.writes) {
      if (value === null) values.delete(`${kind} ${id}`);
      else values.set(`${kind} ${id}`, { value: structuredClone(value), revision });
    }
    for (const change of batch.due ?? []) retime(change);
    const roomy = new Set(batch.writes.flatMap((one) => (one.kind === 'agent' ? [one.id] : [])));
    for (const { op, agent_id, request_id } of batch.slots ?? []) {
      const others = heldBy(agent_id).filter((one) => one !== request_id);
      slots.set(agent_id, op === 'grant' ? [...others, request_id] : others);
      if (op === 'grant') grants.set(agent_id, nowMs());
      else roomy.add(agent_id);
    }
    for (const agent_id of roomy) {
      const agent = at('agent', agent_id)?.value;
      if (agent && heldBy(agent_id).length < agent.limit && waiters(agent.agent_tags).length > 0) {
        due.set(`agent:${agent_id}`, { atMs: nowMs(), lease: null });
      }
    }
    if (batch.event) {
      const { session, request_id } = batch.event;
      feeds.set(session, [...(feeds.get(session) ?? []), { cursor: `${nowMs()}-${counter}`, request_id }]);
    }
    if (batch.unreported) unreported.unshift({ ...batch.unreported, atMs: nowMs() });
  }

  function retime(change: DueChange): void {
    const entry = due.get(change.ref);
    if (change.unlessHeld && entry && entry.lease !== null && entry.atMs > nowMs()) return;
    if (change.atMs === 'held') due.set(change.ref, { atMs: nowMs() + LEASE_MS, lease: change.lease });
    else if (change.atMs === null) due.delete(change.ref);
    else due.set(change.ref, { atMs: change.atMs, lease: null });
  }

  async function* hints(signal: AbortSignal): AsyncGenerator<void> {
    while (!signal.aborted) {
      yield;
      if (signal.aborted) return;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          listeners.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        listeners.add(wake);
        signal.addEventListener('abort', wake);
      });
    }
  }

  return {
    nowMs,
    get: async (kind, id) => at(kind, id),
    getAgentStatus: async (agent_id) => standingOf(agent_id),
    async readAgentChanges() {
      const changed = allOf('agent').flatMap(([id]) => standingOf(id) ?? []);
      return { reset: true, changed, removed: [], cursor: String(counter) };
    },
    async list(query, ask, { after, limit }) {
      const all = listAll(query, ask as { agent_id?: string; tags?: readonly string[]; session?: string });
      const from = after === undefined ? 0 : all.findIndex(({ position }) => position === after) + 1;
      const items = all.slice(from, from + limit);
      const next = from + limit < all.length ? (items.at(-1)?.position ?? null) : null;
      return { items: items.map(({ item }) => item) as never, next };
    },
    async commit(batch) {
      const refused = judge(batch);
      if (refused) return refused;
      counter += 1;
      apply(batch, `r${counter}`);
      await Promise.resolve();
      for (const wake of [...listeners]) wake();
      return { ok: true, revision: `r${counter}` };
    },
    async takeDue(limit) {
      if (clock.nowMs() - lastSweepMs > 5_000) resumedAt = nowMs();
      lastSweepMs = clock.nowMs();
      const ready = [...due].filter(([, { atMs }]) => atMs <= nowMs()).sort((a, b) => a[1].atMs - b[1].atMs);
      return ready.slice(0, limit).map(([ref]) => {
        counter += 1;
        const lease = `l${counter}`;
        due.set(ref, { atMs: nowMs() + LEASE_MS, lease });
        return { ref, lease };
      });
    },
    async renewLeases(held) {
      for (const { ref, lease } of held) {
        if (due.get(ref)?.lease === lease) due.set(ref, { atMs: nowMs() + LEASE_MS, lease });
      }
    },
    async touch(agent_id, touch) {
      if (!at('agent', agent_id)) return undefined;
      const old = contacts.get(agent_id) ?? { contactMs: 0, beatMs: null, beatGapMs: null, push: null };
      contacts.set(agent_id, nextContact(old, touch, nowMs()));
      return standingOf(agent_id);
    },
    async *feed(session, after, signal) {
      const all = (): readonly { cursor: string; request_id: string }[] => feeds.get(session) ?? [];
      let index = after === null ? 0 : all().findIndex(({ cursor }) => cursor === after) + 1;
      for await (const _hint of hints(signal)) {
        for (let item = all()[index]; item && !signal.aborted; item = all()[index]) {
          index += 1;
          yield { gap: false, ...item };
        }
      }
    },
    watch: (_topic, signal) => hints(signal),
    trim: async () => 0,
    health: () => ({ ok: true }),
    close: settleMicrotasks,
  };

  function listAll(query: string, ask: { agent_id?: string; tags?: readonly string[]; session?: string }) {
    const tasks = (ids: readonly string[]) =>
      ids.map((request_id) => ({ position: request_id, item: { request_id } }));
    switch (query) {
      case 'slots':
        return tasks(heldBy(ask.agent_id ?? ''));
      case 'waiting':
        return tasks(waiters(ask.tags ?? []));
      case 'agents':
        return allOf('agent').flatMap(([id]) => {
          const item = standingOf(id);
          return item ? [{ position: id, item }] : [];
        });
      case 'tasks':
        return allOf('task')
          .filter(([, { value }]) => ask.session === undefined || value.cli_session_id === ask.session)
          .filter(([, { value }]) => ask.agent_id === undefined || value.assignees.includes(ask.agent_id))
          .sort(([a, x], [b, y]) => y.value.createdMs - x.value.createdMs || (a < b ? 1 : -1))
          .map(([request_id]) => ({ position: request_id, item: { request_id, position: request_id } }));
      default:
        return tasks(
          unreported
            .filter((one) => one.agent_id === ask.agent_id && one.atMs > nowMs() - 600_000)
            .map((one) => one.request_id),
        );
    }
  }
}

function nextContact(old: Contact, touch: Parameters<Store['touch']>[1], nowMs: number): Contact {
  switch (touch.by) {
    case 'beat':
      return {
        ...old,
        contactMs: nowMs,
        beatMs: nowMs,
        beatGapMs: old.beatMs === null ? null : nowMs - old.beatMs,
      };
    case 'call':
      return { ...old, contactMs: nowMs };
    case 'register':
      return { ...old, contactMs: nowMs, push: null };
    case 'push': {
      const push = { taken: touch.taken, status: touch.status, error: touch.error };
      return { ...old, contactMs: touch.taken ? nowMs : old.contactMs, push };
    }
  }
}

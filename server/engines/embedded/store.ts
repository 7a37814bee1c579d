/**
 * The embedded engine: the store port over one Keyv with ordered keys, for one process.
 *
 * How it keeps the port's promises
 * - A commit is decided against the image in memory in one go and joins the group that is written next; `commit()`
 *   resolves when its group is on disk. So commits are totally ordered, and conflict costs no disk.
 * - Whoever is answered from memory waits until the last commit that touched the value is durable.
 * - After an outage the image is read anew. Watchers are hinted then, feeds go on from where they were, cursors of
 *   `changes` are refused, leases are void.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import {
  type AgentChanges,
  type AgentStatus,
  type Batch,
  type CommitResult,
  type Kinds,
  type Ref,
  type Store,
  type Stored,
  StoreUnavailable,
} from '../../ports/store.ts';
import { createDueTimer, type DueTimer } from '../due-timer.ts';
import { createNotifications, type Notifications } from '../notifications.ts';
import { createSharedReads, type SharedReads } from '../shared-reads.ts';
import { watchTopic } from '../watch.ts';
import { applyBatch } from './apply.ts';
import { readFeed, type Slice } from './feed.ts';
import type { Generation } from './generation.ts';
import { describeAgent, listPage } from './lists.ts';
import { lookUp, openEnvelope, type Prefetched, prefetchAndDecide, readsOf, rowKeyOf } from './lookup.ts';
import { type Contacts, createContacts } from './memory/contacts.ts';
import { LEASE_MS } from './memory/due-queue.ts';
import { findConflict } from './preconditions.ts';
import { createGenerations, type Generations, type OpenStorage } from './recovery.ts';
import { trimTurn } from './retention.ts';
import { readEnvelope } from './sqlite/row-keys.ts';

export type EngineDeps = {
  readonly openStorage: OpenStorage;
  readonly clock: Clock;
  readonly log: Log;
  /** Read once, at the start. */
  readonly wallMs?: () => number;
};

/** The parts of a running engine. */
type Engine = {
  readonly generations: Generations;
  readonly contacts: Contacts;
  readonly notifications: Notifications;
  readonly slices: SharedReads<Slice>;
  readonly dueTimer: DueTimer;
  /** Sessions that got events since retention looked at them last. */
  readonly overLimitSessions: Set<string>;
  nowMs(): number;
};

/** No answer of the storage for so long is an outage. */
const ANSWER_WITHIN_MS = 4_500;

/** Opens the storage and creates the store over it; rejects with one sentence when it can't be used. */
export async function createEmbeddedStore(deps: EngineDeps): Promise<Store> {
  const { clock, wallMs = Date.now } = deps;
  const offsetMs = wallMs() - clock.monotonicMs();
  const nowMs = (): number => Math.floor(offsetMs + clock.monotonicMs());
  const notifications = createNotifications();
  const slices = createSharedReads<Slice>();
  let generations: Generations | null = null;
  const dueTimer = createDueTimer({
    clock,
    notifications,
    nowMs,
    earliestMs: () => generations?.currentOrNull()?.due.earliestMs(),
  });
  generations = await createGenerations({
    ...deps,
    answerWithinMs: ANSWER_WITHIN_MS,
    nowMs,
    onDurable(topics) {
      slices.forget();
      for (const topic of topics) if (topic !== 'due') notifications.notify(topic);
      if (topics.has('due')) dueTimer.update();
    },
    onBack() {
      slices.forget();
      notifications.notifyAll();
      dueTimer.update();
    },
  });
  const engine: Engine = {
    generations,
    contacts: createContacts(nowMs()),
    notifications,
    slices,
    dueTimer,
    overLimitSessions: new Set(),
    nowMs,
  };
  return {
    nowMs,
    ...createReads(engine),
    ...createWrites(engine),
    ...createFollowing(engine),
    health: generations.health,
    close: () =>
      engine.generations.close(() => {
        notifications.close();
        dueTimer.update();
      }),
  };
}

function createReads(engine: Engine): Pick<Store, 'get' | 'getAgentStatus' | 'readAgentChanges' | 'list'> {
  const { generations, contacts, nowMs } = engine;
  return {
    async get<K extends keyof Kinds>(kind: K, id: string): Promise<Stored<Kinds[K]> | undefined> {
      const generation = generations.current();
      const known = lookUp(generation, kind, id, nowMs());
      if (known) {
        await generation.commits.whenDurable(known.seq);
        return known.stored;
      }
      if (kind === 'agent') return undefined;
      const text = await generation.storage.get(rowKeyOf(kind, id));
      const stored = text === undefined ? undefined : openEnvelope(readEnvelope(text), nowMs());
      return stored as Stored<Kinds[K]> | undefined;
    },

    getAgentStatus: async (agent_id) => await readStanding(engine, generations.current(), agent_id),

    async readAgentChanges(after): Promise<AgentChanges> {
      const generation = generations.current();
      const { agents } = generation;
      const since = after === null ? undefined : agents.changes.since(after);
      const ids = since?.changed ?? agents.list(undefined, agents.count());
      const changed = ids.flatMap((id) => describeAgent(generation, contacts, id) ?? []);
      const reset = since === undefined;
      return { reset, changed, removed: since?.gone ?? [], cursor: agents.changes.cursor() };
    },

    list: async (query, ask, page) =>
      await listPage(generations.current(), contacts, nowMs(), query, ask, page),
  };
}

/** Held back until the last commit that touched the agent is durable. */
async function readStanding(
  { contacts }: Engine,
  generation: Generation,
  agent_id: string,
): Promise<AgentStatus | undefined> {
  const seq = generation.agents.get(agent_id)?.seq ?? generation.agents.removedSeq();
  const agentStatus = describeAgent(generation, contacts, agent_id);
  await generation.commits.whenDurable(seq);
  return agentStatus;
}

function createWrites(engine: Engine): Pick<Store, 'commit' | 'takeDue' | 'renewLeases' | 'touch' | 'trim'> {
  const { generations, contacts, dueTimer, overLimitSessions, nowMs } = engine;
  let trimming: Promise<unknown> = Promise.resolve();
  return {
    async commit(batch) {
      const generation = generations.current();
      const { seq, outcome } = await prefetchAndDecide(generation, readsOf(generation, batch), (prefetched) =>
        decide(engine, generation, prefetched, batch),
      );
      // A refusal, too, waits: what it rests on must last before anybody acts on it.
      await generation.commits.whenDurable(seq);
      return outcome;
    },

    async takeDue(limit) {
      const { due } = generations.current();
      contacts.noteSweep(nowMs());
      const taken = due.take(nowMs(), limit);
      dueTimer.update();
      return taken;
    },

    async renewLeases(held) {
      const { due } = generations.current();
      for (const { ref, lease } of held) {
        if (due.isHeld(ref, lease)) due.set(ref, nowMs() + LEASE_MS, lease);
      }
      dueTimer.update();
    },

    async touch(agent_id, touch) {
      const generation = generations.current();
      if (generation.agents.get(agent_id)) {
        contacts.noteTouch(agent_id, touch, nowMs());
        generation.agents.changes.note(agent_id);
      }
      return await readStanding(engine, generation, agent_id);
    },

    trim(retention, limit) {
      const turn = trimming.then(() =>
        trimTurn({ generation: generations.current(), retention, nowMs: nowMs() }, limit, overLimitSessions),
      );
      trimming = turn.catch(() => undefined);
      return turn;
    },
  };
}

/** Judges and applies in one go. An image that is half changed is none: whatever throws there ends its life. */
function decide(
  engine: Engine,
  generation: Generation,
  prefetched: Prefetched,
  batch: Batch,
): { readonly seq: number; readonly outcome: CommitResult } {
  const nowMs = engine.nowMs();
  if (batch.notAfterMs !== undefined && nowMs > batch.notAfterMs) {
    throw new StoreUnavailable('The commit came too late: its caller has been answered already.');
  }
  const refused = findConflict(generation, prefetched, batch, nowMs);
  if (refused) return { seq: generation.commits.lastSeq(), outcome: refused };
  try {
    const { seq, revision } = applyBatch(generation, prefetched, batch, nowMs, engine.contacts);
    if (batch.event) engine.overLimitSessions.add(batch.event.session);
    return { seq, outcome: { ok: true, revision } };
  } catch (error) {
    generation.commits.fail(error instanceof Error ? error.message : String(error));
    throw error;
  }
}

function createFollowing({
  generations,
  notifications,
  slices,
  dueTimer,
}: Engine): Pick<Store, 'feed' | 'watch'> {
  async function* watch(topic: Ref | 'due', signal: AbortSignal): AsyncGenerator<void> {
    generations.current();
    yield* watchTopic({ notifications, dueTimer }, topic, signal);
  }

  return {
    watch,
    feed: (session, after, signal) =>
      readFeed({ generations, notifications, slices }, session, after, signal),
  };
}

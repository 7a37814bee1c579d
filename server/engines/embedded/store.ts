/**
 * The embedded engine: the store port over one Keyv with ordered keys, for one process.
 *
 * How it keeps the port's promises
 * - A commit is decided on the memory state in one go and joins the group that is written next; `commit()`
 *   resolves when its group is on disk. So commits are totally ordered, and a conflict needs no write.
 * - A read that is served from memory resolves when the last commit that touched the value is durable.
 * - After an outage the memory state is loaded again. Then watchers are notified and feeds continue where
 *   they were; cursors of `readAgentChanges` and leases from before are no longer valid.
 */
import { createSharedReads, type SharedReads } from '../../async/shared-reads.ts';
import type { Clock } from '../../ports/clock.ts';
import { STORE_LIMITS, TIME_BUDGETS } from '../../ports/limits.ts';
import type { Log } from '../../ports/log.ts';
import type { AgentChanges, AgentStatus, Kinds, Revision, Store, Stored } from '../../ports/store.ts';
import { noteClockStep } from '../clock-step.ts';
import { type Contacts, createContacts } from '../contacts.ts';
import { createDueTimer, type DueTimer } from '../due-timer.ts';
import { createNotifications, type Notifications } from '../notifications.ts';
import { watchTopic } from '../watch.ts';
import { appendOutput, type CommitDeps, commitBatch } from './commit.ts';
import { readActivity, readCounts, readEnded } from './counts.ts';
import { type FeedSlice, feedTopic, readFeed } from './feed.ts';
import type { Generation } from './generation.ts';
import { buildAgentStatus, listClaimable, listPage } from './lists.ts';
import { lookUp, openEnvelope, readRow, rowKeyOf } from './lookup.ts';
import { NO_TASK_PAGE, readOutputPage } from './output-page.ts';
import { createGenerations, type Generations, type OpenStorage } from './recovery.ts';
import { runTrimPass } from './retention.ts';

/** Few enough that no other call waits long; a start reads all agents. */
const CHANGED_PER_PAGE = 2_000;

type EngineDeps = {
  readonly openStorage: OpenStorage;
  readonly clock: Clock;
  readonly log: Log;
  /** The wall clock, epoch milliseconds; read once, when the store is created. Default: `Date.now`. */
  readonly wallMs?: () => number;
  /** How long output waits for more of it; see `group-commit.ts`. Default: not at all. */
  readonly outputEveryMs?: number;
  /** Bytes that open tasks may take of the memory. Default: any number. */
  readonly openBytesMax?: number;
};

/** The parts of a running engine. */
type Engine = CommitDeps & {
  readonly generations: Generations;
  readonly contacts: Contacts;
  readonly notifications: Notifications;
  readonly feedSlices: SharedReads<FeedSlice>;
  readonly dueTimer: DueTimer;
  readonly log: Log;
};

/**
 * Opens the storage and creates the store over it; rejects with an error that says what to do when it can't
 * be used.
 */
export async function createEmbeddedStore(deps: EngineDeps): Promise<Store> {
  const { clock, wallMs = Date.now } = deps;
  const offsetMs = wallMs() - clock.monotonicMs();
  const nowMs = (): number => Math.floor(offsetMs + clock.monotonicMs());
  const notifications = createNotifications();
  const feedSlices = createSharedReads<FeedSlice>();
  let generations: Generations | null = null;
  const dueTimer = createDueTimer({
    clock,
    notifications,
    nowMs,
    earliestMs: () => generations?.earliestDueMs(),
  });
  generations = await createGenerations({
    ...deps,
    timeoutMs: TIME_BUDGETS.storeWithinMs,
    nowMs,
    hasReaders: (session) => notifications.hasListener(feedTopic(session)),
    onDurable(topics) {
      feedSlices.forget();
      for (const topic of topics) if (topic !== 'due') notifications.notify(topic);
      if (topics.has('due')) dueTimer.update();
    },
    onRecovered() {
      feedSlices.forget();
      notifications.notifyAll();
      dueTimer.update();
    },
  });
  const engine: Engine = {
    generations,
    contacts: createContacts(nowMs()),
    notifications,
    feedSlices,
    dueTimer,
    log: deps.log,
    sessionsToCheck: new Set(),
    outputBytesMax: Number.POSITIVE_INFINITY,
    openBytesMax: deps.openBytesMax ?? Number.POSITIVE_INFINITY,
    nowMs,
  };
  return {
    nowMs,
    ...createReads(engine),
    readCounts: async (tagsMax) => readCounts(engine.generations.current(), tagsMax),
    readActivity: async () => readActivity(engine.generations.current(), nowMs()),
    readEnded: async () => await readEnded(engine.generations.current()),
    ...createWrites(engine),
    ...createStreams(engine),
    health: () => noteClockStep(generations.health(), wallMs() - nowMs()),
    close: () =>
      engine.generations.close(() => {
        notifications.close();
        dueTimer.update();
      }),
  };
}

function createReads(
  engine: Engine,
): Pick<
  Store,
  | 'get'
  | 'getForCommit'
  | 'getAgentStatus'
  | 'readAgentChanges'
  | 'list'
  | 'listClaimable'
  | 'findSlots'
  | 'readOutput'
> {
  const { generations, contacts, nowMs } = engine;
  return {
    get: (kind, id) => readValue(engine, kind, id),

    async getForCommit(request_id) {
      const found = lookUp(generations.current(), 'task', request_id, nowMs());
      return found ? found.stored : await readValue(engine, 'task', request_id);
    },

    getAgentStatus: async (agent_id) => await readAgentStatus(engine, generations.current(), agent_id),

    async readAgentChanges(after): Promise<AgentChanges> {
      const generation = generations.current();
      const page = generation.agents.changes.read(after, CHANGED_PER_PAGE);
      const changed = page.changed.flatMap((id) => buildAgentStatus(generation, contacts, id) ?? []);
      return { ...page, changed };
    },

    list: async (query, filter, page) =>
      await listPage(generations.current(), contacts, nowMs(), query, filter, page),

    async listClaimable(agent_id, limit) {
      const { indexes, commits } = generations.current();
      const found = listClaimable(indexes, agent_id, nowMs(), limit);
      await commits.whenDurable(commits.lastSeq());
      return found;
    },

    async findSlots(agent_id, request_ids) {
      const { agents, commits } = generations.current();
      const found = new Set(request_ids.filter((request_id) => agents.slots.has(agent_id, request_id)));
      await commits.whenDurable(commits.lastSeq());
      return found;
    },

    async readOutput(request_id, after, limit) {
      const generation = generations.current();
      const revision = await readRevision(generation, request_id);
      if (revision === undefined) return NO_TASK_PAGE;
      return await readOutputPage(generation, request_id, revision, after, limit);
    },
  };
}

async function readValue<K extends keyof Kinds>(
  engine: Engine,
  kind: K,
  id: string,
): Promise<Stored<Kinds[K]> | undefined> {
  const generation = engine.generations.current();
  const found = lookUp(generation, kind, id, engine.nowMs());
  if (!found) {
    if (kind === 'agent') return undefined;
    const envelope = await readRow(generation, rowKeyOf(kind, id));
    return openEnvelope(envelope, engine.nowMs()) as Stored<Kinds[K]> | undefined;
  }
  await generation.commits.whenDurable(found.seq);
  return found.stored;
}

/** The revision of a task's state, when it is durable. */
async function readRevision(generation: Generation, request_id: string): Promise<Revision | undefined> {
  const found = lookUp(generation, 'task', request_id, 0);
  if (!found) return (await readRow(generation, rowKeyOf('task', request_id)))?.r;
  const { commits } = generation;
  if (!commits.isDurable(found.seq)) await commits.whenDurable(found.seq);
  return found.stored?.revision;
}

/** Resolves when the last commit that touched the agent is durable. */
async function readAgentStatus(
  { contacts }: Engine,
  generation: Generation,
  agent_id: string,
): Promise<AgentStatus | undefined> {
  const seq = generation.agents.get(agent_id)?.seq ?? generation.agents.removedSeq();
  const agentStatus = buildAgentStatus(generation, contacts, agent_id);
  await generation.commits.whenDurable(seq);
  return agentStatus;
}

function createWrites(
  engine: Engine,
): Pick<Store, 'commit' | 'appendOutput' | 'takeDue' | 'renewLeases' | 'touch' | 'trim'> {
  const { generations, contacts, dueTimer, sessionsToCheck, nowMs, log } = engine;
  const removedRows = new Set<string>();
  let lastTrim: Promise<unknown> = Promise.resolve();
  return {
    commit: (batch) => commitBatch(engine, batch),
    appendOutput: ({ request_id, pieces, by }) =>
      appendOutput(engine, { request_id, append: { pieces, by } }),

    async takeDue(limit) {
      await generations.diskSpace.update();
      const { due } = generations.writable();
      contacts.noteSweep(nowMs());
      const taken = due.take(nowMs(), limit);
      dueTimer.update();
      return taken;
    },

    async renewLeases(held) {
      const { due } = generations.writable();
      for (const { ref, lease } of held) {
        if (due.isHeld(ref, lease)) due.set(ref, nowMs() + STORE_LIMITS.leaseMs, lease);
      }
      dueTimer.update();
    },

    async touch(agent_id, touch) {
      const { agents, commits } = generations.writable();
      const entry = agents.get(agent_id);
      if (entry) {
        contacts.noteTouch(agent_id, touch, nowMs());
        agents.changes.note(agent_id);
      }
      await commits.whenDurable(entry?.recordSeq ?? agents.removedSeq());
      return entry?.record;
    },

    trim(retention, limit) {
      engine.outputBytesMax = retention.outputBytesMax;
      const trim = lastTrim.then(() =>
        runTrimPass(
          { generation: generations.writable(), retention, nowMs: nowMs(), log, removedRows },
          limit,
          sessionsToCheck,
        ),
      );
      lastTrim = trim.catch(() => undefined);
      return trim;
    },
  };
}

function createStreams({
  generations,
  notifications,
  feedSlices,
  dueTimer,
}: Engine): Pick<Store, 'feed' | 'watch'> {
  const requireUp = (): void => void generations.current();
  return {
    watch: (topic, signal) => watchTopic({ notifications, dueTimer, requireUp }, topic, signal),
    feed: (session, after, signal) =>
      readFeed({ generations, notifications, slices: feedSlices }, session, after, signal),
  };
}

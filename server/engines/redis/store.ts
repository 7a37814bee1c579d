/**
 * The Redis engine: the store port over one Redis or Valkey, for any number of gateway processes.
 *
 * How it keeps the port's promises
 * - A script checks and applies a commit with all its effects. `scripts.ts` lists the keys. If the reply is
 *   lost, the commit is sent again under the same revision, and the script finds out whether it was applied.
 * - A reply is held back until the writes that it depends on are durable (`client/durability.ts`). So reads,
 *   conflicts and notifications need no further care.
 * - The process keeps only the connection, and what processes wrote a moment ago (`reads/written-tasks.ts`).
 *   So what one process has returned, every other process sees.
 * - Notifications come over a connection of their own, which is up only together with that of the calls
 *   (`connection/connection-state.ts`). After a loss every listener is notified, feeds continue from their
 *   positions, and old cursors of `readAgentChanges` get all agents.
 * - Every reply is bounded: pages of agents in bytes, listings and feeds in the number of ids. Only one value
 *   above 64 KiB is read at a time (`reads/values.ts`).
 * - What ends a task or frees memory is written even when the memory of Redis is full. New tasks, agents and
 *   output are refused before that (`connection/server-inspection.ts`).
 */

import type { SharedReads } from '../../async/shared-reads.ts';
import type { Clock } from '../../ports/clock.ts';
import { countLatestDue, TIME_BUDGETS } from '../../ports/limits.ts';
import type { OutputConflict, OutputHead } from '../../ports/output.ts';
import {
  type Batch,
  type CommitResult,
  type Kinds,
  type Ref,
  type Revision,
  type Store,
  StoreDamaged,
  type Stored,
  StoreRefused,
  StoreUnavailable,
} from '../../ports/store.ts';
import type { DueTimer } from '../due-timer.ts';
import type { Notifications } from '../notifications.ts';
import { parseValue } from '../single-values.ts';
import { watchTopic } from '../watch.ts';
import type { Reply } from './client/client.ts';
import { encodeCommit } from './commit/commit-arguments.ts';
import type { CommitGroups } from './commit/commit-groups.ts';
import type { Connection } from './connection/connection.ts';
import type { Inspection } from './connection/server-inspection.ts';
import type { Contacts } from './contacts.ts';
import type { DamageLog } from './damage-log.ts';
import type { NextDue } from './next-due.ts';
import { type AgentStatuses, readAgentChanges } from './reads/agent-status.ts';
import { createCountedReads } from './reads/counted-reads.ts';
import { readFeed, type Slice } from './reads/feed.ts';
import { readPage } from './reads/lists.ts';
import { createOutputReads } from './reads/output.ts';
import type { Values } from './reads/values.ts';
import type { WrittenTasks } from './reads/written-tasks.ts';
import { scripts } from './scripts.ts';
import type { SparedLeases } from './spared-leases.ts';
import type { StoreTime } from './store-time.ts';

export type Engine = {
  readonly connection: Connection;
  readonly values: Values;
  readonly groups: CommitGroups;
  readonly inspection: Inspection;
  readonly statuses: AgentStatuses;
  readonly contacts: Contacts;
  readonly writtenTasks: WrittenTasks;
  readonly notifications: Notifications;
  readonly slices: SharedReads<Slice>;
  readonly dueTimer: DueTimer;
  readonly clock: Clock;
  readonly time: StoreTime;
  readonly nextDue: NextDue;
  readonly sparedLeases: SparedLeases;
  readonly noteDamage: DamageLog;
  /** The unique name of this process among those that share the store. */
  readonly processName: string;
};

/** One call of `trim` runs several slices, so that other calls run in between. */
const TRIM_SLICES_MAX = 20;
const TRIM_SLICE = 50;

export function createRedisStore(engine: Engine): Store {
  const { connection, notifications, dueTimer, time } = engine;
  const writes = createWrites(engine);
  return {
    nowMs: time.nowMs,
    ...createReads(engine, writes.commit),
    ...createCountedReads(engine),
    readOutput: createOutputReads(connection),
    ...writes,
    ...createWatching(engine),
    health() {
      const health = connection.health();
      const warning = health.ok ? time.warning() : null;
      return warning === null ? health : { ok: true, warning };
    },
    async close() {
      await engine.contacts.flush();
      await engine.groups.whenIdle();
      await connection.close();
      notifications.close();
      dueTimer.update();
    },
  };
}

function createReads(
  engine: Engine,
  commit: Store['commit'],
): Pick<Store, 'get' | 'getForCommit' | 'getAgentStatus' | 'readAgentChanges' | 'list'> {
  const { connection, values, statuses, writtenTasks } = engine;
  async function read<K extends keyof Kinds>(kind: K, id: string) {
    const found = await values.read(kind, id);
    return found && { value: parseValue(kind, id, found.json), revision: found.revision };
  }

  return {
    async get<K extends keyof Kinds>(kind: K, id: string) {
      connection.requireUp();
      const written = kind === 'task' ? writtenTasks.findSettled(id) : undefined;
      return (written as Stored<Kinds[K]> | undefined) ?? (await read(kind, id));
    },
    // Redis replies to a read only when the writes that the read has seen are durable.
    async getForCommit(request_id) {
      connection.requireUp();
      return writtenTasks.find(request_id) ?? (await read('task', request_id));
    },
    async getAgentStatus(agent_id) {
      const [resumedMs, status] = (await values.readStatus(agent_id)) as readonly Reply[];
      const agentStatus = statuses.parse(agent_id, resumedMs, status);
      if (agentStatus || !Array.isArray(status)) return agentStatus;
      // Nothing else would ever replace or remove a damaged record. The agent will register again.
      const expect = String(status[1]);
      await commit({ writes: [{ kind: 'agent', id: agent_id, expect, value: null }] });
      return undefined;
    },
    readAgentChanges: (after) => readAgentChanges(connection, statuses, after),
    list: (query, ask, page) => readPage(engine.connection, query, ask, page),
  };
}

function createWrites(
  engine: Engine,
): Pick<Store, 'commit' | 'appendOutput' | 'takeDue' | 'renewLeases' | 'touch' | 'trim'> {
  const { connection, groups, inspection, dueTimer, clock, time, nextDue } = engine;
  const { processName, writtenTasks, sparedLeases } = engine;
  let names = 0;
  /** Creates a new unique name, for a revision or for leases. */
  const createName = (): string => {
    names += 1;
    return `${processName}-${names}`;
  };

  async function commit(batch: Batch): Promise<CommitResult> {
    connection.requireUp();
    const revision = createName();
    const notAfterMs = batch.notAfterMs ?? time.nowMs() + TIME_BUDGETS.storeWithinMs;
    const commit = encodeCommit(batch, { revision, notAfterMs });
    if (commit.isAdmission) inspection.requireMemory();
    const noteResult = writtenTasks.begin(batch, commit.size);
    const parsed = parseCommitResult(await groups.run(commit), revision);
    noteResult(parsed);
    return parsed;
  }

  return {
    commit,
    async appendOutput({ request_id, ...append }) {
      const batch = { writes: [], output: { request_id, append } };
      const result = await commit(batch);
      return result.ok ? { ok: true, ...(result.output as OutputHead) } : (result as OutputConflict);
    },

    async takeDue(limit) {
      if (sparedLeases.areSpared()) return [];
      const inspected = inspection.update();
      const noteNext = nextDue.begin();
      const sentMs = clock.monotonicMs();
      const latest = countLatestDue(limit);
      const beganMs = sparedLeases.mayBeLate() ? '' : String(time.nowMs());
      const args = [String(limit - latest), createName(), String(latest), beganMs];
      const reply = await connection.call(scripts.takeDue, args).catch((error: unknown) => {
        noteNext(nextDue.ms());
        throw error;
      });
      sparedLeases.noteSwept(sentMs);
      const [redisMs, nextMs, taken] = reply as readonly Reply[];
      time.learn(Number(redisMs), sentMs);
      noteNext(nextMs === '' ? undefined : Number(nextMs));
      dueTimer.update();
      await inspected;
      return pairsOf(taken as readonly string[]).map(([ref, lease]) => ({ ref: ref as Ref, lease }));
    },

    async renewLeases(held) {
      connection.requireUp();
      if (held.length === 0) return;
      const args = held.flatMap(({ ref, lease }) => [ref, lease]);
      await connection.call(scripts.renewLeases, args);
    },

    touch: engine.contacts.touch,

    async trim({ keepTasksMs, sessionEventsMax, outputBytesMax }, limit) {
      let removed = 0;
      for (let slices = 0; removed < limit && slices < TRIM_SLICES_MAX; slices += 1) {
        const sliceLimit = Math.min(TRIM_SLICE, limit - removed);
        const args = [keepTasksMs, sessionEventsMax, sliceLimit, outputBytesMax].map(String);
        const reply = await connection.call(scripts.trim, args);
        const [count, hasMore, damaged] = reply as readonly Reply[];
        for (const entry of damaged as readonly string[]) engine.noteDamage(entry);
        removed += Number(count);
        if (Number(count) === 0 && hasMore !== 1) break;
      }
      return removed;
    },
  };
}

function parseCommitResult(result: string, revision: Revision): CommitResult {
  const [word, rest = ''] = splitOnce(result);
  switch (word) {
    case 'ok':
      return { ok: true, revision, ...(rest !== '' && { output: parseOutputHead(rest) }) };
    case 'late':
      throw new StoreUnavailable('The commit reached Redis after its caller had given up.');
    case 'free_agent':
      return { ok: false, conflict: 'free_agent', agent_id: rest };
    case 'removing':
      throw new StoreRefused('The store has no room for output until that of ended tasks is removed.');
    case 'damaged':
      throw new StoreDamaged('The store is damaged: it does not say how the output of the task stands.');
    case 'gap':
      return { ok: false, conflict: 'gap', next: Number(rest) };
    case 'revision':
    case 'slot':
    case 'lease':
    case 'waiting':
    case 'contact':
    case 'full':
    case 'settled':
    case 'writer':
    case 'replaced':
      return { ok: false, conflict: word };
    default:
      throw new Error(`The commit script returned ${JSON.stringify(result)}, which is not a result.`);
  }
}

/** Reads how an output stands from the commit script's text. */
function parseOutputHead(text: string): OutputHead {
  const [next, last, flag] = text.split(' ');
  return { next: Number(next), last: Number(last), isFull: flag === 'f' };
}

/** Returns the text before the first blank, and the text after it. */
function splitOnce(text: string): readonly [string, string?] {
  const at = text.indexOf(' ');
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function pairsOf(texts: readonly string[]): readonly (readonly [string, string])[] {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < texts.length; index += 2) {
    pairs.push([texts[index] ?? '', texts[index + 1] ?? '']);
  }
  return pairs;
}

function createWatching(engine: Engine): Pick<Store, 'feed' | 'watch'> {
  const { connection, notifications, slices, dueTimer } = engine;
  const { requireUp } = connection;
  return {
    watch: (topic, signal) => watchTopic({ notifications, dueTimer, requireUp }, topic, signal),
    feed: (session, after, signal) => readFeed({ connection, notifications, slices }, session, after, signal),
  };
}

/**
 * The Redis engine: the store port over one Redis or Valkey, for any number of gateway processes.
 *
 * How it keeps the port's promises
 * - A commit is one script: judged and applied in one go, effects and all. What it names is the law of `scripts/`.
 *   Where the answer is lost it is asked again under the same revision, and Redis knows what it applied.
 * - Redis answers nobody before what he was answered is as durable as it will be (`durability.ts`), so reads, refusals
 *   and hints need not be held back.
 * - Nothing is kept here but the connection: what one process was answered, every other sees.
 * - Hints come by the connection that carries the calls. When it was lost all are hinted, feeds go on from where they
 *   were, cursors of `changes` are refused.
 */
import type { Clock } from '../../ports/clock.ts';
import {
  type Batch,
  type CommitResult,
  type Kinds,
  type Ref,
  type Store,
  StoreUnavailable,
  type Touch,
} from '../../ports/store.ts';
import type { DueTimer } from '../due-timer.ts';
import type { Notifications } from '../notifications.ts';
import type { SharedReads } from '../shared-reads.ts';
import { watchTopic } from '../watch.ts';
import { readAgentChanges, readAgentStatus } from './agent-status.ts';
import type { Reply } from './client.ts';
import { buildCommitArguments } from './commit-arguments.ts';
import { ANSWER_WITHIN_MS, type Connection } from './connection.ts';
import { readFeed, type Slice } from './feed.ts';
import { listPage } from './lists.ts';
import { scripts } from './scripts.ts';
import type { StoreTime } from './store-time.ts';

/** The parts of a running engine. */
export type Engine = {
  readonly connection: Connection;
  readonly notifications: Notifications;
  readonly slices: SharedReads<Slice>;
  readonly dueTimer: DueTimer;
  readonly clock: Clock;
  readonly time: StoreTime;
  /** When the earliest entry is due, as far as this process was told. */
  readonly nextDue: { ms: number | undefined };
  /** Names this process among those that share the store; no other ever had the same name. */
  readonly name: string;
};

/** What one call of trim may do in all, and how much of it in one go: other calls get their turn in between. */
const TRIM_SLICES_MAX = 20;
const TRIM_SLICE = 50;

/** Creates the store over the parts. */
export function createRedisStore(engine: Engine): Store {
  const { connection, notifications, dueTimer, time } = engine;
  return {
    nowMs: time.nowMs,
    ...createReads(engine),
    ...createWrites(engine),
    ...createFollowing(engine),
    health: connection.health,
    async close() {
      await connection.close();
      notifications.close();
      dueTimer.update();
    },
  };
}

/** Where a value and its revision stand in the hash of a task; the others are read by a script alone. */
const FIELDS: Partial<Record<keyof Kinds, readonly [string, string]>> = {
  task: ['s', 'r'],
  input: ['i', 'ir'],
};

function createReads({
  connection,
}: Engine): Pick<Store, 'get' | 'getAgentStatus' | 'readAgentChanges' | 'list'> {
  return {
    async get<K extends keyof Kinds>(kind: K, id: string) {
      const fields = FIELDS[kind];
      const found = fields ? await connection.read(`task:${id}`, ...fields) : [];
      const isThere = typeof found[0] === 'string';
      const [value, revision] = isThere
        ? found
        : ((await connection.call(scripts.get, [kind, id])) as readonly Reply[]);
      if (typeof value !== 'string') return undefined;
      return { value: JSON.parse(value) as Kinds[K], revision: String(revision) };
    },
    async getAgentStatus(agent_id) {
      const [resumed, reply] = (await connection.call(scripts.agentStatus, [agent_id])) as readonly Reply[];
      return readAgentStatus(resumed, reply);
    },
    readAgentChanges: (after) => readAgentChanges(connection, after),
    list: (query, ask, page) => listPage(connection, query, ask, page),
  };
}

function createWrites(engine: Engine): Pick<Store, 'commit' | 'takeDue' | 'renewLeases' | 'touch' | 'trim'> {
  const { connection, dueTimer, clock, time, nextDue, name } = engine;
  let count = 0;
  /** A name for a revision or a lease. */
  const nextName = (): string => {
    count += 1;
    return `${name}-${count}`;
  };

  return {
    async commit(batch: Batch): Promise<CommitResult> {
      const revision = nextName();
      const notAfterMs = batch.notAfterMs ?? time.nowMs() + ANSWER_WITHIN_MS;
      const { plan, values } = buildCommitArguments(batch, { by: name, revision, notAfterMs });
      const [answer, agent_id] = (await connection.callRepeatable(scripts.commit, [
        plan,
        ...values,
      ])) as readonly Reply[];
      return readOutcome(String(answer), revision, String(agent_id));
    },

    async takeDue(limit) {
      const sentMs = clock.monotonicMs();
      const reply = await connection.call(scripts.due, [String(limit), nextName()]);
      const [nowMs, nextMs, taken] = reply as readonly Reply[];
      time.learn(Number(nowMs), sentMs);
      nextDue.ms = nextMs === '' ? undefined : Number(nextMs);
      dueTimer.update();
      return pairsOf(taken as readonly string[]).map(([ref, lease]) => ({ ref: ref as Ref, lease }));
    },

    async renewLeases(held) {
      connection.requireUp();
      if (held.length === 0) return;
      await connection.call(
        scripts.keep,
        held.flatMap(({ ref, lease }) => [ref, lease]),
      );
    },

    async touch(agent_id, touch) {
      const [resumed, reply] = (await connection.call(scripts.touch, [
        agent_id,
        ...tellTouch(touch),
      ])) as readonly Reply[];
      return readAgentStatus(resumed, reply);
    },

    async trim({ keepTasksMs, sessionEventsMax }, limit) {
      let gone = 0;
      for (let slices = 0; gone < limit && slices < TRIM_SLICES_MAX; slices += 1) {
        const room = Math.min(TRIM_SLICE, limit - gone);
        const args = [keepTasksMs, sessionEventsMax, room].map(String);
        const [went, more] = (await connection.call(scripts.trim, args)) as readonly Reply[];
        gone += Number(went);
        if (Number(went) === 0 && more !== 1) break;
      }
      return gone;
    },
  };
}

function readOutcome(answer: string, revision: string, agent_id: string): CommitResult {
  switch (answer) {
    case 'ok':
      return { ok: true, revision };
    case 'late':
      throw new StoreUnavailable('The commit came too late: its caller has been answered already.');
    case 'free_agent':
      return { ok: false, conflict: 'free_agent', agent_id };
    case 'revision':
    case 'slot':
    case 'lease':
    case 'full':
      return { ok: false, conflict: answer };
    default:
      throw new Error(`The commit was answered with ${JSON.stringify(answer)}, which means nothing.`);
  }
}

function tellTouch(touch: Touch): readonly string[] {
  if (touch.by !== 'push') return [touch.by];
  const { taken, status, error } = touch;
  return ['push', taken ? '1' : '0', JSON.stringify({ taken, status, error })];
}

function pairsOf(texts: readonly string[]): readonly (readonly [string, string])[] {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < texts.length; index += 2) {
    pairs.push([texts[index] ?? '', texts[index + 1] ?? '']);
  }
  return pairs;
}

function createFollowing({
  connection,
  notifications,
  slices,
  dueTimer,
}: Engine): Pick<Store, 'feed' | 'watch'> {
  async function* watch(topic: Ref | 'due', signal: AbortSignal): AsyncGenerator<void> {
    connection.requireUp();
    yield* watchTopic({ notifications, dueTimer }, topic, signal);
  }

  return {
    watch,
    feed: (session, after, signal) => readFeed({ connection, notifications, slices }, session, after, signal),
  };
}

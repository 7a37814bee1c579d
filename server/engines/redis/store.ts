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
  type Kinds,
  type Outcome,
  type Ref,
  type Store,
  StoreUnavailable,
  type Touch,
} from '../../ports/store.ts';
import type { Alarm } from '../alarm.ts';
import type { Hints } from '../hints.ts';
import type { SharedReads } from '../shared-reads.ts';
import { watchTopic } from '../watch.ts';
import type { Reply } from './connect.ts';
import { readFeed, type Slice } from './feed.ts';
import { ANSWER_WITHIN_MS, type Line } from './line.ts';
import { listPage } from './lists.ts';
import { planOf } from './plan.ts';
import { scripts } from './scripts.ts';
import { readChanges, readStanding } from './standing.ts';
import type { StoreTime } from './store-time.ts';

/** The parts of a running engine. */
export type Engine = {
  readonly line: Line;
  readonly hints: Hints;
  readonly slices: SharedReads<Slice>;
  readonly alarm: Alarm;
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
  const { line, hints, alarm, time } = engine;
  return {
    nowMs: time.nowMs,
    ...createReads(engine),
    ...createWrites(engine),
    ...createFollowing(engine),
    health: line.health,
    async close() {
      await line.close();
      hints.close();
      alarm.look();
    },
  };
}

/** Where a value and its revision stand in the hash of a task; the others are read by a script alone. */
const FIELDS: Partial<Record<keyof Kinds, readonly [string, string]>> = {
  task: ['s', 'r'],
  input: ['i', 'ir'],
};

function createReads({ line }: Engine): Pick<Store, 'get' | 'standing' | 'changes' | 'list'> {
  return {
    async get<K extends keyof Kinds>(kind: K, id: string) {
      const fields = FIELDS[kind];
      const found = fields ? await line.read(`task:${id}`, ...fields) : [];
      const isThere = typeof found[0] === 'string';
      const [value, revision] = isThere
        ? found
        : ((await line.call(scripts.get, [kind, id])) as readonly Reply[]);
      if (typeof value !== 'string') return undefined;
      return { value: JSON.parse(value) as Kinds[K], revision: String(revision) };
    },
    async standing(agentId) {
      const [resumed, told] = (await line.call(scripts.standing, [agentId])) as readonly Reply[];
      return readStanding(resumed, told);
    },
    changes: (after) => readChanges(line, after),
    list: (query, ask, page) => listPage(line, query, ask, page),
  };
}

function createWrites(engine: Engine): Pick<Store, 'commit' | 'due' | 'keep' | 'touch' | 'trim'> {
  const { line, alarm, clock, time, nextDue, name } = engine;
  let count = 0;
  /** A name for a revision or a lease. */
  const nextName = (): string => {
    count += 1;
    return `${name}-${count}`;
  };

  return {
    async commit(batch: Batch): Promise<Outcome> {
      const revision = nextName();
      const notAfterMs = batch.notAfterMs ?? time.nowMs() + ANSWER_WITHIN_MS;
      const { plan, values } = planOf(batch, { by: name, revision, notAfterMs });
      const [answer, agentId] = (await line.settle(scripts.commit, [plan, ...values])) as readonly Reply[];
      return readOutcome(String(answer), revision, String(agentId));
    },

    async due(limit) {
      const sentMs = clock.monotonicMs();
      const reply = await line.call(scripts.due, [String(limit), nextName()]);
      const [nowMs, nextMs, taken] = reply as readonly Reply[];
      time.learn(Number(nowMs), sentMs);
      nextDue.ms = nextMs === '' ? undefined : Number(nextMs);
      alarm.look();
      return pairsOf(taken as readonly string[]).map(([ref, lease]) => ({ ref: ref as Ref, lease }));
    },

    async keep(held) {
      line.check();
      if (held.length === 0) return;
      await line.call(
        scripts.keep,
        held.flatMap(({ ref, lease }) => [ref, lease]),
      );
    },

    async touch(agentId, touch) {
      const [resumed, told] = (await line.call(scripts.touch, [
        agentId,
        ...tellTouch(touch),
      ])) as readonly Reply[];
      return readStanding(resumed, told);
    },

    async trim({ keepTasksMs, sessionEventsMax }, limit) {
      let gone = 0;
      for (let slices = 0; gone < limit && slices < TRIM_SLICES_MAX; slices += 1) {
        const room = Math.min(TRIM_SLICE, limit - gone);
        const args = [keepTasksMs, sessionEventsMax, room].map(String);
        const [went, more] = (await line.call(scripts.trim, args)) as readonly Reply[];
        gone += Number(went);
        if (Number(went) === 0 && more !== 1) break;
      }
      return gone;
    },
  };
}

function readOutcome(answer: string, revision: string, agentId: string): Outcome {
  switch (answer) {
    case 'ok':
      return { ok: true, revision };
    case 'late':
      throw new StoreUnavailable('The commit came too late: its caller has been answered already.');
    case 'free_agent':
      return { ok: false, conflict: 'free_agent', agentId };
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

function createFollowing({ line, hints, slices, alarm }: Engine): Pick<Store, 'feed' | 'watch'> {
  async function* watch(topic: Ref | 'due', signal: AbortSignal): AsyncGenerator<void> {
    line.check();
    yield* watchTopic({ hints, alarm }, topic, signal);
  }

  return {
    watch,
    feed: (session, after, signal) => readFeed({ line, hints, slices }, session, after, signal),
  };
}

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
  type Batch,
  type Changes,
  type Kinds,
  type Outcome,
  type Ref,
  type Standing,
  type Store,
  type Stored,
  StoreUnavailable,
} from '../../ports/store.ts';
import { type Alarm, createAlarm } from '../alarm.ts';
import { createHints, type Hints } from '../hints.ts';
import { createSharedReads, type SharedReads } from '../shared-reads.ts';
import { watchTopic } from '../watch.ts';
import { applyBatch } from './apply.ts';
import { LEASE_MS } from './due-list.ts';
import { readFeed, type Slice } from './feed.ts';
import { judgeBatch } from './judge.ts';
import { type Brought, decideWith, lookUp, openEnvelope, rowKeyOf, wantsOf } from './known.ts';
import type { Life } from './life.ts';
import { describeAgent, listPage } from './lists.ts';
import { createLives, type Lives, type OpenStorage } from './lives.ts';
import { createPresence, type Presence } from './presence.ts';
import { readEnvelope } from './rows.ts';
import { trimTurn } from './trim.ts';

export type EngineDeps = {
  readonly openStorage: OpenStorage;
  readonly clock: Clock;
  readonly log: Log;
  /** Read once, at the start. */
  readonly wallMs?: () => number;
};

/** The parts of a running engine. */
type Engine = {
  readonly lives: Lives;
  readonly presence: Presence;
  readonly hints: Hints;
  readonly slices: SharedReads<Slice>;
  readonly alarm: Alarm;
  /** Sessions that got events since retention looked at them last. */
  readonly crowded: Set<string>;
  nowMs(): number;
};

/** No answer of the storage for so long is an outage. */
const ANSWER_WITHIN_MS = 4_500;

/** Opens the storage and creates the store over it; rejects with one sentence when it can't be used. */
export async function createEmbeddedStore(deps: EngineDeps): Promise<Store> {
  const { clock, wallMs = Date.now } = deps;
  const offsetMs = wallMs() - clock.monotonicMs();
  const nowMs = (): number => Math.floor(offsetMs + clock.monotonicMs());
  const hints = createHints();
  const slices = createSharedReads<Slice>();
  let lives: Lives | null = null;
  const alarm = createAlarm({ clock, hints, nowMs, earliestMs: () => lives?.present()?.due.earliestMs() });
  lives = await createLives({
    ...deps,
    answerWithinMs: ANSWER_WITHIN_MS,
    nowMs,
    onDurable(topics) {
      slices.forget();
      for (const topic of topics) if (topic !== 'due') hints.notify(topic);
      if (topics.has('due')) alarm.look();
    },
    onBack() {
      slices.forget();
      hints.notifyAll();
      alarm.look();
    },
  });
  const engine: Engine = {
    lives,
    presence: createPresence(nowMs()),
    hints,
    slices,
    alarm,
    crowded: new Set(),
    nowMs,
  };
  return {
    nowMs,
    ...createReads(engine),
    ...createWrites(engine),
    ...createFollowing(engine),
    health: lives.health,
    close: () =>
      engine.lives.close(() => {
        hints.close();
        alarm.look();
      }),
  };
}

function createReads(engine: Engine): Pick<Store, 'get' | 'standing' | 'changes' | 'list'> {
  const { lives, presence, nowMs } = engine;
  return {
    async get<K extends keyof Kinds>(kind: K, id: string): Promise<Stored<Kinds[K]> | undefined> {
      const life = lives.live();
      const known = lookUp(life, kind, id, nowMs());
      if (known) {
        await life.groups.whenDurable(known.seq);
        return known.stored;
      }
      if (kind === 'agent') return undefined;
      const text = await life.storage.get(rowKeyOf(kind, id));
      const stored = text === undefined ? undefined : openEnvelope(readEnvelope(text), nowMs());
      return stored as Stored<Kinds[K]> | undefined;
    },

    standing: async (agentId) => await readStanding(engine, lives.live(), agentId),

    async changes(after): Promise<Changes> {
      const life = lives.live();
      const { agents } = life;
      const since = after === null ? undefined : agents.changes.since(after);
      const ids = since?.changed ?? agents.list(undefined, agents.count());
      const changed = ids.flatMap((id) => describeAgent(life, presence, id) ?? []);
      const reset = since === undefined;
      return { reset, changed, gone: since?.gone ?? [], cursor: agents.changes.cursor() };
    },

    list: async (query, ask, page) => await listPage(lives.live(), presence, nowMs(), query, ask, page),
  };
}

/** Held back until the last commit that touched the agent is durable. */
async function readStanding(
  { presence }: Engine,
  life: Life,
  agentId: string,
): Promise<Standing | undefined> {
  const seq = life.agents.get(agentId)?.seq ?? life.agents.removedSeq();
  const standing = describeAgent(life, presence, agentId);
  await life.groups.whenDurable(seq);
  return standing;
}

function createWrites(engine: Engine): Pick<Store, 'commit' | 'due' | 'keep' | 'touch' | 'trim'> {
  const { lives, presence, alarm, crowded, nowMs } = engine;
  let trimming: Promise<unknown> = Promise.resolve();
  return {
    async commit(batch) {
      const life = lives.live();
      const { seq, outcome } = await decideWith(life, wantsOf(life, batch), (brought) =>
        decide(engine, life, brought, batch),
      );
      // A refusal, too, waits: what it rests on must last before anybody acts on it.
      await life.groups.whenDurable(seq);
      return outcome;
    },

    async due(limit) {
      const { due } = lives.live();
      presence.noteSweep(nowMs());
      const taken = due.take(nowMs(), limit);
      alarm.look();
      return taken;
    },

    async keep(held) {
      const { due } = lives.live();
      for (const { ref, lease } of held) {
        if (due.isHeld(ref, lease)) due.set(ref, nowMs() + LEASE_MS, lease);
      }
      alarm.look();
    },

    async touch(agentId, touch) {
      const life = lives.live();
      if (life.agents.get(agentId)) {
        presence.noteTouch(agentId, touch, nowMs());
        life.agents.changes.note(agentId);
      }
      return await readStanding(engine, life, agentId);
    },

    trim(retention, limit) {
      const turn = trimming.then(() =>
        trimTurn({ life: lives.live(), retention, nowMs: nowMs() }, limit, crowded),
      );
      trimming = turn.catch(() => undefined);
      return turn;
    },
  };
}

/** Judges and applies in one go. An image that is half changed is none: whatever throws there ends its life. */
function decide(
  engine: Engine,
  life: Life,
  brought: Brought,
  batch: Batch,
): { readonly seq: number; readonly outcome: Outcome } {
  const nowMs = engine.nowMs();
  if (batch.notAfterMs !== undefined && nowMs > batch.notAfterMs) {
    throw new StoreUnavailable('The commit came too late: its caller has been answered already.');
  }
  const refused = judgeBatch(life, brought, batch, nowMs);
  if (refused) return { seq: life.groups.lastSeq(), outcome: refused };
  try {
    const { seq, revision } = applyBatch(life, brought, batch, nowMs, engine.presence);
    if (batch.event) engine.crowded.add(batch.event.session);
    return { seq, outcome: { ok: true, revision } };
  } catch (error) {
    life.groups.fail(error instanceof Error ? error.message : String(error));
    throw error;
  }
}

function createFollowing({ lives, hints, slices, alarm }: Engine): Pick<Store, 'feed' | 'watch'> {
  async function* watch(topic: Ref | 'due', signal: AbortSignal): AsyncGenerator<void> {
    lives.live();
    yield* watchTopic({ hints, alarm }, topic, signal);
  }

  return {
    watch,
    feed: (session, after, signal) => readFeed({ lives, hints, slices }, session, after, signal),
  };
}

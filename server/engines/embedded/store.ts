/**
 * The embedded engine: the store port over one Keyv with ordered keys, for one process.
 *
 * How it keeps the port's promises
 * - A commit is decided against the image in memory in one go and joins the group that is written next; `commit()`
 *   resolves when its group is on disk. So commits are totally ordered, and conflict costs no disk.
 * - Whoever is answered from memory waits until the last commit that touched the value is durable.
 * - The first write whose fate is unknown ends the life of the image: all that waits is rejected, every call throws
 *   `StoreUnavailable` at once, the file is opened anew with growing pauses, and a new life begins by reading it.
 *   Watchers are hinted then, feeds go on from where they were, cursors of `changes` are refused.
 *
 * Modes: present (a life) → out (none; left by a rebuild that read and wrote) → present; closed from either, for good.
 */
import type { Keyv } from 'keyv';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { type Batch, type Outcome, type Store, StoreUnavailable } from '../../ports/store.ts';
import { createAlarm } from './alarm.ts';
import { applyBatch } from './apply.ts';
import { LEASE_MS } from './due-list.ts';
import { readFeed } from './feed.ts';
import { createGroups } from './groups.ts';
import { createHints } from './hints.ts';
import { judgeBatch } from './judge.ts';
import { type Brought, decideWith, lookUp, openEnvelope, rowKeyOf, wantsOf } from './known.ts';
import { createLife, type Life, readImage, writeMark } from './life.ts';
import { describeAgent, listPage } from './lists.ts';
import { type OrderedStorage, orderStorage } from './ordered-storage.ts';
import { createPresence } from './presence.ts';
import { MARK_KEY, type Mark, readEnvelope } from './rows.ts';
import { trimTurn } from './trim.ts';

/** Opens the storage, each time anew; what it opened before has been disconnected by then. */
export type OpenStorage = () => Promise<Keyv<string>>;

export type EngineDeps = {
  readonly openStorage: OpenStorage;
  readonly clock: Clock;
  readonly log: Log;
  /** Read once, at the start. */
  readonly wallMs?: () => number;
  /** After so long without an answer of the storage it counts as out. */
  readonly answerWithinMs?: number;
};

const ANSWER_WITHIN_MS = 4_500;
const PAUSE_FIRST_MS = 50;
const PAUSE_MAX_MS = 1_000;

/** Opens the storage and creates the store over it; rejects with one sentence when it can't be used. */
export async function createEmbeddedStore(deps: EngineDeps): Promise<Store> {
  const { clock, log, wallMs = Date.now, answerWithinMs = ANSWER_WITHIN_MS } = deps;
  const offsetMs = wallMs() - clock.monotonicMs();
  const nowMs = (): number => Math.floor(offsetMs + clock.monotonicMs());
  const presence = createPresence(nowMs());
  const hints = createHints();
  const closing = new AbortController();
  const crowded = new Set<string>();
  let life: Life | null = null;
  let outReason = 'The store is starting.';
  let past: Mark = { run: 0, ms: 0, n: 0 };
  let pastSeq = 0;
  let recovering: Promise<void> = Promise.resolve();
  let trimming: Promise<unknown> = Promise.resolve();
  let closed: Promise<void> | null = null;

  const alarm = createAlarm({ clock, hints, nowMs, earliestMs: () => life?.due.earliestMs() });

  function live(): Life {
    if (life && !closing.signal.aborted) return life;
    throw new StoreUnavailable(outReason);
  }

  async function begin(): Promise<Life> {
    const storage = orderStorage(await deps.openStorage());
    try {
      const image = await readImage(storage, nowMs(), past);
      await probe(storage, image.mark);
      const groups = createGroups({
        clock,
        answerWithinMs,
        closing: closing.signal,
        afterSeq: pastSeq,
        write({ sets, deletes, mark }) {
          if (mark) sets.set(MARK_KEY, writeMark(mark));
          return storage.apply(sets, deletes);
        },
        onDurable(topics) {
          for (const topic of topics) if (topic !== 'due') hints.notify(topic);
          if (topics.has('due')) alarm.look();
        },
        onFailed: end,
      });
      return createLife(image, storage, groups);
    } catch (error) {
      await storage.disconnect().catch(() => undefined);
      throw error;
    }
  }

  /** The first write of a life notes its run; a disk that does not take it is not back yet. */
  async function probe(storage: OrderedStorage, mark: Mark): Promise<void> {
    const answered = new AbortController();
    const late = clock.sleep(answerWithinMs, answered.signal).then(() => {
      if (!answered.signal.aborted) throw new Error('the disk did not answer in time');
    });
    try {
      await Promise.race([storage.apply(new Map([[MARK_KEY, writeMark(mark)]]), new Set()), late]);
    } finally {
      answered.abort();
    }
  }

  function end(error: StoreUnavailable): void {
    const ended = life;
    if (!ended) return;
    life = null;
    outReason = error.message;
    past = ended.mark;
    pastSeq = ended.groups.lastSeq();
    if (closing.signal.aborted) return;
    log.error({ err: error }, 'the store is out; the file is opened anew');
    recovering = recover(ended);
  }

  async function recover(ended: Life): Promise<void> {
    await ended.storage.disconnect().catch(() => undefined);
    for (
      let pauseMs = PAUSE_FIRST_MS;
      !closing.signal.aborted;
      pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2)
    ) {
      try {
        life = await begin();
        log.info({ run: life.run }, 'the store is back');
        hints.notifyAll();
        alarm.look();
        return;
      } catch (error) {
        outReason = `The store is out: ${error instanceof Error ? error.message : String(error)}`;
        await clock.sleep(pauseMs, closing.signal);
      }
    }
  }

  async function shut(): Promise<void> {
    outReason = 'The store is closed.';
    closing.abort();
    await recovering;
    const last = life;
    if (last) await last.groups.whenDurable(last.groups.lastSeq()).catch(() => undefined);
    hints.close();
    alarm.look();
    life = null;
    await last?.storage.disconnect();
  }

  life = await begin();

  return {
    nowMs,

    async get(kind, id) {
      const present = live();
      const known = lookUp(present, kind, id, nowMs());
      if (known) {
        await present.groups.whenDurable(known.seq);
        return known.stored;
      }
      if (kind === 'agent') return undefined;
      const text = await present.storage.get(rowKeyOf(kind, id));
      return openEnvelope(text === undefined ? null : readEnvelope(text), nowMs()) as never;
    },

    async standing(agentId) {
      const present = live();
      const seq = present.agents.get(agentId)?.seq ?? present.agents.removedSeq();
      const standing = describeAgent(present, presence, agentId);
      await present.groups.whenDurable(seq);
      return standing;
    },

    async changes(after) {
      const { agents } = live();
      const since = after === null ? undefined : agents.changes.since(after);
      const changed = since?.changed ?? agents.list(undefined, agents.count());
      const standings = changed.flatMap((id) => describeAgent(live(), presence, id) ?? []);
      const reset = since === undefined;
      return { reset, changed: standings, gone: since?.gone ?? [], cursor: agents.changes.cursor() };
    },

    list: async (query, ask, page) => await listPage(live(), presence, nowMs(), query, ask, page),

    async commit(batch) {
      const present = live();
      const { seq, outcome } = await decideWith(present, wantsOf(present, batch), (brought) =>
        decide(present, brought, batch),
      );
      // A refusal, too, waits: what it rests on must last before anybody acts on it.
      await present.groups.whenDurable(seq);
      return outcome;
    },

    async due(limit) {
      const { due } = live();
      presence.noteSweep(nowMs());
      const taken = due.take(nowMs(), limit);
      alarm.look();
      return taken;
    },

    async keep(held) {
      const { due } = live();
      for (const { ref, lease } of held) {
        if (due.isHeld(ref, lease)) due.set(ref, nowMs() + LEASE_MS, lease);
      }
      alarm.look();
    },

    async touch(agentId, touch) {
      const { agents } = live();
      if (!agents.get(agentId)) return false;
      presence.noteTouch(agentId, touch, nowMs());
      agents.changes.note(agentId);
      return true;
    },

    async *feed(session, after, signal) {
      live();
      yield* readFeed({ live, isPresent: (one) => one === life, hints }, session, after, signal);
    },

    async *watch(topic, signal) {
      live();
      const listener = hints.listen(topic, signal);
      if (topic === 'due') alarm.look();
      try {
        if (signal.aborted) return;
        do yield;
        while (await listener.next());
      } finally {
        listener.close();
        if (topic === 'due') alarm.look();
      }
    },

    trim(retention, limit) {
      const turn = trimming.then(() => trimTurn({ life: live(), retention, nowMs: nowMs() }, limit, crowded));
      trimming = turn.catch(() => undefined);
      return turn;
    },

    health() {
      if (life && !closing.signal.aborted) return { ok: true };
      return { ok: false, reason: outReason };
    },

    close() {
      closed ??= shut();
      return closed;
    },
  };

  /** Judges and applies in one go. An image that is half changed is none: whatever throws there ends its life. */
  function decide(present: Life, brought: Brought, batch: Batch): { seq: number; outcome: Outcome } {
    const now = nowMs();
    if (batch.notAfterMs !== undefined && now > batch.notAfterMs) {
      throw new StoreUnavailable('The commit came too late: its caller has been answered already.');
    }
    const refused = judgeBatch(present, brought, batch, now);
    if (refused) return { seq: present.groups.lastSeq(), outcome: refused };
    try {
      const { seq, revision } = applyBatch(present, brought, batch, now, presence);
      if (batch.event) crowded.add(batch.event.session);
      return { seq, outcome: { ok: true, revision } };
    } catch (error) {
      present.groups.fail(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }
}

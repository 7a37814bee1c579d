/**
 * The SQLite engine: the store port over the tables of one file, for one process.
 *
 * - The conditions of a batch are queries, its effects are statements. A group of batches is one transaction
 *   in the writer's thread, with one fsync.
 * - Reads use a read-only connection of this thread, which sees only what is committed.
 * - Memory has contacts, and copies that may be lost: states of the last commits, the status of agents,
 *   events for readers.
 * - After an outage the engine drops all copies and notifies all watchers. Feeds go on where they were; a
 *   reader of `readAgentChanges` begins again.
 */
import type { DatabaseSync } from 'node:sqlite';
import { createBoundedMap } from '../../async/bounded-map.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { OutputConflict, OutputHead } from '../../ports/output.ts';
import { type Batch, isAdmission, type Store, StoreRefused, StoreUnavailable } from '../../ports/store.ts';
import { createChangeLog } from '../change-log.ts';
import { noteClockStep } from '../clock-step.ts';
import { type Contacts, createContacts } from '../contacts.ts';
import { createDueTimer, type DueTimer } from '../due-timer.ts';
import { createNotifications, type Notifications } from '../notifications.ts';
import { createAgentStatuses } from './agent-statuses.ts';
import { RENEW, TAKE_DUE, TRIM } from './calls.ts';
import { type Copies, createCommitting, createSilence } from './committing.ts';
import { type GroupReply, nameRun } from './decider.ts';
import type { TakenEntry } from './due-entries.ts';
import { createFeeds } from './feed.ts';
import { createFigures } from './figures.ts';
import { type FileLook, watchFile } from './file-watch.ts';
import { createGroupCommit, type GroupCommit } from './group-commit.ts';
import { createReadTransaction } from './read-transaction.ts';
import { createReads } from './reads.ts';
import { createPrepareQuery, type Prepare } from './statements.ts';
import type { Writer } from './writer.ts';

export type Tables = {
  readonly writer: Writer;
  readonly reader: DatabaseSync;
  readonly isShared: boolean;
  /** Looks at the file; absent in memory. */
  readonly look?: () => Promise<FileLook>;
};

type SqliteDeps = {
  readonly clock: Clock;
  readonly log: Log;
  /**
   * The wall clock in epoch milliseconds, `Date.now` by default. Store time begins with its first reading.
   */
  readonly wallMs?: () => number;
  /** How long appended output waits for more output; see `group-commit.ts`. By default it does not wait. */
  readonly outputEveryMs?: number;
};

type Engine = {
  readonly tables: Tables;
  /** The name of this run of the file. Revisions begin with it. */
  readonly run: string;
  readonly isNearlyFull: () => boolean;
  readonly prepare: Prepare;
  readonly nowMs: () => number;
  readonly contacts: Contacts;
  readonly copies: Copies;
  readonly groups: GroupCommit;
  readonly notifications: Notifications;
  readonly dueTimer: DueTimer;
  /** Undefined if nothing will be due or nothing can be written. */
  readonly earliestMs: () => number | undefined;
  /** Aborted when the store is closed. */
  readonly closing: AbortController;
  readonly requireReadable: () => void;
};

/** This many values of the last commits are read without the file. */
const VALUES_MAX = 4_096;

export function createSqliteStore(tables: Tables, deps: SqliteDeps): Store {
  const { clock, log, wallMs = Date.now, outputEveryMs = 0 } = deps;
  const { writer, reader, isShared, look } = tables;
  const run = nameRun();
  const reading = createReadTransaction(reader);
  const prepare = createPrepareQuery(reader, isShared ? () => undefined : reading.begin);
  const offsetMs = wallMs() - clock.monotonicMs();
  const nowMs = (): number => Math.floor(offsetMs + clock.monotonicMs());
  const closing = new AbortController();
  const notifications = createNotifications();
  const contacts = createContacts(nowMs());
  const isReadable = (): boolean => !closing.signal.aborted && !groups.isStuck();
  const copies = createCopies({ prepare, contacts, notifications, log, isReadable });
  let recoveries = 0;
  const beginCopies = (): void => {
    copies.values = createValueCopies();
    copies.statuses.forgetAll();
    copies.changes = createChangeLog(`${run}.${recoveries}`);
    for (const agent_id of copies.statuses.listIds()) copies.changes.note(agent_id);
  };
  const groups = createGroupCommit({
    writer,
    clock,
    nowMs,
    outputEveryMs,
    closed: closing.signal,
    onCommitted: reading.end,
    onFinished: (topics, reply) => noteFinished(engine, log, topics, reply),
    onOutage: () => log.error({ err: groups.outage() }, 'the store takes no writes: it tries again'),
    onRecovered() {
      log.info({}, 'the store takes writes again');
      recoveries += 1;
      beginCopies();
      copies.feeds.cutAll();
      notifications.notifyAll();
      dueTimer.update();
    },
  });
  const earliestMs = (): number | undefined => {
    const ms = groups.outage() || closing.signal.aborted ? Number.POSITIVE_INFINITY : writer.earliestMs();
    return ms === Number.POSITIVE_INFINITY ? undefined : ms;
  };
  const dueTimer = createDueTimer({ clock, notifications, nowMs, earliestMs });
  const requireReadable = (): void => {
    if (closing.signal.aborted) throw closedError();
    if (groups.isStuck()) throw groups.outage() ?? closedError();
  };
  const isNearlyFull = look
    ? watchFile({
        clock,
        log,
        closed: closing.signal,
        look,
        onMoved: () => void (groups.outage() ?? groups.join(true)),
      })
    : () => false;
  const parts = {
    tables,
    run,
    isNearlyFull,
    prepare,
    nowMs,
    contacts,
    copies,
    groups,
    notifications,
    dueTimer,
    earliestMs,
  };
  const engine: Engine = { ...parts, closing, requireReadable };
  beginCopies();
  return {
    nowMs,
    ...createReads(engine),
    ...createFigures(prepare, nowMs, requireReadable),
    ...createWrites(engine),
    health() {
      const outage = closing.signal.aborted ? closedError() : groups.outage();
      if (outage) return { ok: false, outage, ...(isReadable() && { isReadable: true }) };
      const warned = isNearlyFull() && ({ isNearlyFull: true, warning: NEARLY_FULL } as const);
      return noteClockStep({ ok: true, ...warned }, wallMs() - nowMs());
    },
    close: () => closeStore(engine),
  };
}

const NEARLY_FULL = 'The disk of the store is nearly full: new tasks, agents and output are refused.';

const createValueCopies = (): Copies['values'] => createBoundedMap(VALUES_MAX);

type CopiesDeps = Pick<Engine, 'prepare' | 'contacts' | 'notifications'> & {
  readonly log: Log;
  readonly isReadable: () => boolean;
};

function createCopies({ prepare, contacts, notifications, log, isReadable }: CopiesDeps): Copies {
  const statuses = createAgentStatuses(prepare, contacts, (err) => {
    log.error({ err }, 'a damaged record of an agent was left out of a listing');
  });
  const feeds = createFeeds(prepare, notifications, isReadable);
  return { values: createValueCopies(), statuses, feeds, changes: createChangeLog('') };
}

function noteFinished(
  { copies, notifications, dueTimer }: Engine,
  log: Log,
  topics: ReadonlySet<string>,
  reply: GroupReply,
): void {
  if (reply !== 0) {
    for (const session of reply.trimmed) copies.feeds.noteTrimmed(session);
    for (const damage of reply.damaged) {
      log.error({ damage }, 'a damaged row was removed: it is past its time, and cannot be read');
    }
  }
  for (const topic of topics) if (topic !== 'due') notifications.notify(topic);
  if (topics.has('due')) dueTimer.update();
}

function createWrites(
  engine: Engine,
): Pick<Store, 'commit' | 'appendOutput' | 'takeDue' | 'renewLeases' | 'touch' | 'trim'> {
  const { run, isNearlyFull, prepare, nowMs, contacts, copies, groups, dueTimer, earliestMs } = engine;
  const { requireReadable } = engine;
  const lastEventMs = Number(prepare('SELECT event_ms FROM count').get()?.[0]);
  const { commit, ask } = createCommitting({
    groups: requireWritable,
    copies,
    contacts,
    run,
    lastEventMs,
    nowMs,
  });
  const commitOnSilence = createSilence(commit);

  function requireWritable(): GroupCommit {
    requireReadable();
    const outage = groups.outage();
    if (outage) throw outage;
    return groups;
  }

  function requireSpace(batch: Batch): Batch {
    if (!isNearlyFull() || !isAdmission(batch)) return batch;
    throw new StoreRefused(
      'The disk of the store is nearly full: it takes no new tasks, agents and output now.',
    );
  }

  return {
    commit: async (batch) => await commitOnSilence.commit(requireSpace(batch)),
    async appendOutput({ request_id, pieces, by }) {
      const output = { request_id, append: { pieces, by } };
      const result = await commit(requireSpace({ writes: [], output }), true);
      return result.ok ? { ok: true, ...(result.output as OutputHead) } : (result as OutputConflict);
    },
    async takeDue(limit) {
      requireWritable();
      contacts.noteSweep(nowMs());
      if (groups.isIdle() && (earliestMs() ?? Number.POSITIVE_INFINITY) > nowMs()) return [];
      const taken = await ask<readonly TakenEntry[]>(TAKE_DUE, limit);
      dueTimer.update();
      return taken;
    },
    async renewLeases(held) {
      requireWritable();
      if (held.length === 0) return;
      await ask(RENEW, held.length, ...held.flatMap(({ ref, lease }) => [ref, lease]));
      dueTimer.update();
    },
    async touch(agent_id, touch) {
      requireWritable();
      await commitOnSilence.whenDecided(agent_id);
      const record = copies.statuses.readRecord(agent_id);
      if (!record) return undefined;
      contacts.noteTouch(agent_id, touch, nowMs());
      copies.changes.note(agent_id);
      return record;
    },
    async trim({ keepTasksMs, sessionEventsMax, outputBytesMax }, limit) {
      const removed = await ask<number>(TRIM, keepTasksMs, sessionEventsMax, outputBytesMax, limit);
      if (removed > 0) copies.values = createValueCopies();
      return removed;
    },
  };
}

async function closeStore({ tables, groups, notifications, dueTimer, closing }: Engine): Promise<void> {
  if (closing.signal.aborted) return;
  await groups.whenIdle();
  closing.abort();
  notifications.close();
  dueTimer.update();
  // The connection that closes last moves the log into the file. So that must be the writer's connection.
  if (!tables.isShared) tables.reader.close();
  await tables.writer.close();
}

function closedError(): StoreUnavailable {
  return new StoreUnavailable('The store is closed.', { kind: 'closed' });
}

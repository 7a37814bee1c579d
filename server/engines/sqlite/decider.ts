/**
 * The writer's side of the file: opens the tables, and applies each group of calls in one transaction.
 * Between groups memory has only the counts. When a group fails, they are read again.
 */
import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { type CommitConflict, StoreRefused } from '../../ports/store.ts';
import { createAgents } from './agents.ts';
import { COMMIT, createWordReader, RENEW, readCommit, TAKE_DUE, TRIM, type WordReader } from './calls.ts';
import { createCommits, type GroupContext, type Late, type Made, type Tables } from './commit.ts';
import { createCounters } from './counters.ts';
import { createDueEntries, type TakenEntry } from './due-entries.ts';
import { createEntries } from './entries.ts';
import { createOutputs } from './outputs.ts';
import { createTrimming } from './retention.ts';
import { createPrepare, type Prepare } from './statements.ts';
import { createValues } from './values.ts';

/** The commit was refused and changed nothing. */
type Refused = { readonly refused: string };
/** The result of a call. 0: a commit was made, and its sender knows the rest. */
export type CallResult = Made | CommitConflict | Late | Refused | readonly TakenEntry[] | number;

/** The results of a group, and changes that its sender cannot know. 0: every call has the result 0. */
export type GroupReply =
  | 0
  | {
      /** One result for each call; empty if every call has the result 0. */
      readonly results: readonly CallResult[];
      readonly topics: readonly string[];
      /** Sessions that lost events. */
      readonly trimmed: readonly string[];
      /** Rows that could not be read and were removed. */
      readonly damaged: readonly string[];
    };

export type Decider = {
  /** The earliest due time; `Infinity` if nothing will be due. */
  earliestMs(): number;
  /**
   * Applies a group, all or nothing. The group is durable when the call returns. Throws the errors of SQLite.
   */
  apply(words: readonly unknown[]): GroupReply;
};

/** Begins a run of the file. */
export function openDecider(sqlite: DatabaseSync): Decider {
  const prepare = createPrepare(sqlite);
  const tables = openTables(prepare, `${nameRun()}-`);
  const { counters, dueEntries } = tables;
  const commits = createCommits(prepare, tables);
  const trimming = createTrimming(prepare, tables);
  const [begin, end, undo] = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].map((sql) => sqlite.prepare(sql));
  /** The limit that retention last used. */
  let outputBytesMax = Number.POSITIVE_INFINITY;

  /** Whether a transaction failed and left wrong counts in memory. */
  let isStale = false;

  function transact<T>(change: () => T): T {
    begin?.run();
    try {
      if (isStale) counters.load();
      isStale = false;
      const result = change();
      counters.save();
      end?.run();
      return result;
    } catch (error) {
      isStale = true;
      if (sqlite.isTransaction) undo?.run();
      throw error;
    }
  }

  function commit(reader: WordReader, group: GroupContext): CallResult {
    const call = readCommit(reader);
    if (call.event) trimming.noteEvent(call.event.session);
    try {
      return commits.commit(call, group);
    } catch (error) {
      if (!(error instanceof StoreRefused)) throw error;
      return { refused: error.message };
    }
  }

  function applyCalls(reader: WordReader): GroupReply {
    const { next, many } = reader;
    const [trimmed, topics] = [new Set<string>(), new Set<string>()];
    const damaged: string[] = [];
    const nowMs = next<number>();
    const results: CallResult[] = [];
    while (reader.hasMore()) {
      const group = { nowMs, outputBytesMax, topics };
      switch (next<number>()) {
        case COMMIT:
          results.push(commit(reader, group));
          break;
        case TAKE_DUE:
          results.push(dueEntries.take(next(), nowMs));
          break;
        case RENEW:
          for (const held of many((): TakenEntry => ({ ref: next(), lease: next() })))
            dueEntries.renew(held, nowMs);
          results.push(0);
          break;
        case TRIM: {
          const retention = {
            keepTasksMs: next<number>(),
            sessionEventsMax: next<number>(),
            outputBytesMax: next<number>(),
          };
          outputBytesMax = retention.outputBytesMax;
          const onTrimmed = (session: string) => trimmed.add(session);
          const onDamaged = (what: string) => damaged.push(what);
          results.push(trimming.trim(retention, next(), { ...group, onTrimmed, onDamaged }));
          break;
        }
      }
    }
    const hasResults = results.some((result) => result !== 0);
    if (!hasResults && topics.size === 0) return 0;
    return { results: hasResults ? results : [], topics: [...topics], trimmed: [...trimmed], damaged };
  }

  return {
    earliestMs: dueEntries.earliestMs,
    apply: (words) => transact(() => applyCalls(createWordReader(words))),
  };
}

/** Creates the name of a run, which no other run has. Revisions and leases begin with this name. */
export function nameRun(): string {
  return randomBytes(RUN_BYTES).toString('hex');
}

const RUN_BYTES = 8;

function openTables(prepare: Prepare, leasePrefix: string): Tables {
  const counters = createCounters(prepare);
  const values = createValues(prepare);
  const entries = createEntries(prepare, counters);
  const dueEntries = createDueEntries(prepare, leasePrefix);
  const agents = createAgents({ prepare, counters, entries, dueEntries, values });
  return { counters, values, entries, dueEntries, agents, outputs: createOutputs(prepare, counters, values) };
}

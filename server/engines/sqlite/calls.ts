/**
 * The calls that change the file, as the writer gets them. A group of calls is one flat list of words,
 * because threads copy that faster than objects. The sender renders the texts.
 *
 *   group    time of the group, then its calls
 *   call     COMMIT … │ TAKE_DUE limit │ RENEW count, (ref, lease) … │ TRIM four numbers
 *
 * `readCommit()` reads exactly the words that `writeCommit()` writes, line by line.
 */
import { isTimed } from '../../domain/activity.ts';
import { writeEnded } from '../../domain/ended-task.ts';
import { writeJson } from '../../domain/json-text.ts';
import type { IndexChange } from '../../domain/projection.ts';
import { isSettled } from '../../domain/task.ts';
import type { OutputChange } from '../../ports/output.ts';
import type { Batch, Lease, Ref, TaskWrite } from '../../ports/store.ts';

export const COMMIT = 0;
export const TAKE_DUE = 1;
export const RENEW = 2;
export const TRIM = 3;

/** How a task ends in a commit, in the form of the tables. */
export type EndingCall = {
  readonly outcome: string;
  /** The index in the counts `tookMs` of an activity step; null if these do not count the task. */
  readonly tookIndex: number | null;
  readonly noAgent: readonly string[];
  readonly json: string;
};

export type TaskCall = {
  readonly id: string;
  readonly expect: string;
  readonly json: string;
  readonly isOpen: boolean;
  /** Undefined leaves the stored details; null removes them. */
  readonly details: string | null | undefined;
  readonly index: readonly IndexChange[];
  readonly ending: EndingCall | null;
};

/** The write of an agent's record. A null record removes the stored one. */
export type AgentCall = {
  readonly id: string;
  readonly expect: string;
  readonly record: {
    readonly json: string;
    readonly registration: string;
    readonly slotsMax: number;
    readonly tags: readonly string[];
  } | null;
};

/** A value that is written once. */
export type OnceCall = {
  readonly kind: 'input' | 'key';
  readonly id: string;
  readonly json: string;
  readonly keepMs: number | null;
};

/** `held` hides the entry from now on; see `DueChange`. */
export type DueCall = {
  readonly ref: Ref;
  readonly atMs: number | 'held' | null;
  readonly lease: Lease | null;
  readonly isNew: boolean;
  readonly unlessHeld: boolean;
};

/** With a registration the slot is granted; without, it is released. */
export type SlotCall = {
  readonly agent: string;
  readonly task: string;
  readonly registration: string | null;
};

type EventCall = {
  readonly session: string;
  readonly task: string;
  readonly ms: number;
  readonly n: number;
};

/** One commit. The sender has chosen the revision and the cursor of the event. */
export type CommitCall = {
  readonly revision: string;
  readonly notAfterMs: number | null;
  readonly tasks: readonly TaskCall[];
  readonly agents: readonly AgentCall[];
  readonly once: readonly OnceCall[];
  readonly due: readonly DueCall[];
  readonly slots: readonly SlotCall[];
  readonly noneFree: readonly string[];
  readonly noneWaiting: readonly string[];
  /**
   * Whether the agent of `noContactAfter` had a contact. The sender decides this, because it knows the
   * contacts.
   */
  readonly hadContact: boolean;
  readonly openTasksMax: number | null;
  readonly agentsMax: number | null;
  readonly event: EventCall | null;
  readonly output: OutputChange | null;
};

const HELD = -1;
const REMOVED = -2;

export function writeCommit(
  words: unknown[],
  batch: Batch,
  revision: string,
  cursor: readonly [ms: number, n: number] | null,
  hadContact: boolean,
): void {
  const { writes, due = [], slots = [], noneFree = [], noneWaiting = [], event, atMost, output } = batch;
  words.push(COMMIT, revision, batch.notAfterMs ?? null, writes.length);
  for (const write of writes) {
    words.push(write.kind, write.id);
    if (write.kind === 'task') writeTask(words, write);
    else if (write.kind === 'agent') {
      const record = write.value;
      words.push(write.expect, record && writeJson(record));
      if (record) words.push(record.registration, record.limit, ...countList(record.agent_tags));
    } else words.push(writeJson(write.value), write.kind === 'key' ? write.keepMs : null);
  }
  words.push(due.length);
  for (const { ref, atMs, lease, isNew, unlessHeld } of due) {
    words.push(ref, atMs === 'held' ? HELD : (atMs ?? REMOVED), lease ?? null, isNew, unlessHeld);
  }
  words.push(slots.length);
  for (const slot of slots) {
    words.push(slot.agent_id, slot.request_id, slot.op === 'grant' ? slot.registration : null);
  }
  words.push(...countList(noneFree), ...countList(noneWaiting), hadContact);
  words.push(atMost?.openTasks ?? null, atMost?.agents ?? null);
  words.push(event?.session ?? null);
  if (event && cursor) words.push(event.request_id, ...cursor);
  words.push(output ?? null);
}

function writeTask(words: unknown[], { expect, value, details, index, ending }: TaskWrite): void {
  words.push(expect, writeJson(value), !isSettled(value), details && JSON.stringify(details), index.length);
  for (const { op, index: name, of, fromMs, atMs, keepMs } of index) {
    words.push(op, name, of, fromMs, atMs, keepMs);
  }
  words.push(ending?.task.outcome ?? null);
  if (!ending) return;
  const { task, tookIndex, noAgent } = ending;
  words.push(isTimed(task.outcome) ? tookIndex : null, writeEnded(task), ...countList(noAgent));
}

function countList(list: readonly string[]): readonly unknown[] {
  return [list.length, ...list];
}

export type WordReader = {
  hasMore(): boolean;
  /** Returns the next word. The caller must know its type. */
  next<T>(): T;
  /** Reads a list: its first word is the number of items, and `read` reads each item. */
  many<T>(read: () => T): readonly T[];
};

export function createWordReader(words: readonly unknown[]): WordReader {
  let at = 0;
  const next = <T>(): T => words[at++] as T;
  return {
    hasMore: () => at < words.length,
    next,
    many: (read) => Array.from({ length: next<number>() }, read),
  };
}

/** Reads what `writeCommit()` wrote after the word COMMIT. */
export function readCommit({ next, many }: WordReader): CommitCall {
  const [revision, notAfterMs] = [next<string>(), next<number | null>()];
  const tasks: TaskCall[] = [];
  const agents: AgentCall[] = [];
  const once: OnceCall[] = [];
  many(() => {
    const [kind, id] = [next<'task' | 'agent' | 'input' | 'key'>(), next<string>()];
    if (kind === 'task') tasks.push(readTask({ next, many } as WordReader, id));
    else if (kind !== 'agent') once.push({ kind, id, json: next(), keepMs: next() });
    else {
      const [expect, json] = [next<string>(), next<string | null>()];
      const readRecord = (text: string) => ({
        json: text,
        registration: next<string>(),
        slotsMax: next<number>(),
        tags: many(next<string>),
      });
      agents.push({ id, expect, record: json === null ? null : readRecord(json) });
    }
  });
  const due = many((): DueCall => {
    const [ref, atMs] = [next<Ref>(), next<number>()];
    const at = atMs === HELD ? 'held' : atMs === REMOVED ? null : atMs;
    return { ref, atMs: at, lease: next(), isNew: next() === true, unlessHeld: next() === true };
  });
  const slots = many((): SlotCall => ({ agent: next(), task: next(), registration: next() }));
  const [noneFree, noneWaiting] = [many(next<string>), many(next<string>)];
  const hadContact = next<boolean>();
  const [openTasksMax, agentsMax] = [next<number | null>(), next<number | null>()];
  const session = next<string | null>();
  const event =
    session === null ? null : { session, task: next<string>(), ms: next<number>(), n: next<number>() };
  const limits = { noneFree, noneWaiting, hadContact, openTasksMax, agentsMax };
  return { revision, notAfterMs, tasks, agents, once, due, slots, ...limits, event, output: next() };
}

function readTask({ next, many }: WordReader, id: string): TaskCall {
  const [expect, json, isOpen] = [next<string>(), next<string>(), next<boolean>()];
  const details = next<string | null | undefined>();
  const index = many((): IndexChange => {
    const entry = { op: next<IndexChange['op']>(), index: next<IndexChange['index']>(), of: next<string>() };
    const times = { fromMs: next<number>(), atMs: next<number>() };
    const keepMs = next<number | undefined>();
    return { ...entry, ...times, ...(keepMs !== undefined && { keepMs }) };
  });
  const outcome = next<string | null>();
  const readEnding = (name: string): EndingCall => {
    const [tookIndex, text] = [next<number | null>(), next<string>()];
    return { outcome: name, tookIndex, json: text, noAgent: many(next<string>) };
  };
  return { id, expect, json, isOpen, details, index, ending: outcome === null ? null : readEnding(outcome) };
}

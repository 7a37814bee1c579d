/**
 * What the engine knows of single values: from the image, from what was written lately, or from the file. A decision
 * is made in one go, so what it must know of the file is brought before: commits that are decided meanwhile stay in
 * memory until the reading is over, and win over what was read.
 */
import type { TaskState } from '../../domain/task.ts';
import type { Batch, Kinds, Revision, Stored, Write } from '../../ports/store.ts';
import type { FeedEnd, Life } from './life.ts';
import {
  doneKey,
  type Envelope,
  feedPath,
  inputKey,
  keyKey,
  rangeOf,
  readEnvelope,
  readEvent,
  taskRange,
} from './rows.ts';

/** A value as memory knows it, with the commit that must be durable before it is shown. */
export type Known<T> = { readonly stored: Stored<T> | undefined; readonly seq: number };

/** What was read from the file for one decision; null: not there. */
export type Brought = {
  readonly rows: ReadonlyMap<string, Envelope | null>;
  readonly feeds: ReadonlyMap<string, FeedEnd>;
};

/** What must be known: single rows by key, both rows of tasks by id, the ends of sessions' feeds. */
export type Wants = {
  readonly rows?: readonly string[];
  readonly tasks?: readonly string[];
  readonly sessions?: readonly string[];
};

const NOTHING: Brought = { rows: new Map(), feeds: new Map() };
const NO_FEED: FeedEnd = { number: 0, stored: false };

/** The row of a value that is not in the image. */
export function rowKeyOf(kind: 'input' | 'task' | 'key', id: string): string {
  switch (kind) {
    case 'input':
      return inputKey(id);
    case 'task':
      return doneKey(id);
    case 'key':
      return keyKey(id);
  }
}

/** What memory knows of a value; undefined: the file must be asked. */
export function lookUp<K extends keyof Kinds>(
  life: Life,
  kind: K,
  id: string,
  nowMs: number,
): Known<Kinds[K]> | undefined {
  return lookUpAny(life, kind, id, nowMs) as Known<Kinds[K]> | undefined;
}

function lookUpAny(life: Life, kind: keyof Kinds, id: string, nowMs: number): Known<unknown> | undefined {
  if (kind === 'agent') {
    const entry = life.agents.get(id);
    if (!entry) return { stored: undefined, seq: life.agents.removedSeq() };
    return { stored: { value: entry.record, revision: entry.revision }, seq: entry.seq };
  }
  const open = kind === 'task' ? life.tasks.get(id) : undefined;
  if (open) return { stored: { value: open.state, revision: open.revision }, seq: open.seq };
  const key = rowKeyOf(kind, id);
  const envelope = life.values.peek(key);
  return envelope === undefined
    ? undefined
    : { stored: openEnvelope(envelope, nowMs), seq: life.values.seqOf(key) };
}

/** The value in an envelope; one whose time is over reads as absent. */
export function openEnvelope(envelope: Envelope | null, nowMs: number): Stored<unknown> | undefined {
  if (!envelope || (envelope.e != null && envelope.e <= nowMs)) return undefined;
  return { value: envelope.v, revision: envelope.r };
}

/** A row as the decision sees it: what was written lately, else what was brought. */
export function rowOf(life: Life, brought: Brought, key: string): Envelope | null {
  return life.values.peek(key) ?? brought.rows.get(key) ?? null;
}

/** The end of a feed as the decision sees it. */
export function feedEndOf(life: Life, brought: Brought, session: string): FeedEnd {
  return life.feeds.peek(session) ?? brought.feeds.get(session) ?? NO_FEED;
}

/** The revision a write is judged against. */
export function revisionOf(life: Life, brought: Brought, write: Write, nowMs: number): Revision | 'absent' {
  const { kind, id } = write;
  if (kind === 'agent') return life.agents.get(id)?.revision ?? 'absent';
  const open = kind === 'task' ? life.tasks.get(id) : undefined;
  if (open) return open.revision;
  return openEnvelope(rowOf(life, brought, rowKeyOf(kind, id)), nowMs)?.revision ?? 'absent';
}

/** The state of a task that has ended; undefined when it is open or unknown. */
export function settledState(life: Life, brought: Brought, id: string): TaskState | undefined {
  return rowOf(life, brought, doneKey(id))?.v as TaskState | undefined;
}

/**
 * Runs a decision with what it must know of the file: at once if memory knows it all, else when it has been read.
 * Between the end of the reading and the decision nothing else runs.
 */
export function decideWith<T>(life: Life, wants: Wants, decide: (brought: Brought) => T): T | Promise<T> {
  const { rows = [], tasks = [], sessions = [] } = wants;
  const unknown = {
    rows: rows.filter((key) => life.values.peek(key) === undefined),
    tasks,
    sessions: sessions.filter((session) => life.feeds.peek(session) === undefined),
  };
  if (unknown.rows.length + tasks.length + unknown.sessions.length === 0) return decide(NOTHING);
  return bringAndDecide(life, unknown, decide);
}

async function bringAndDecide<T>(
  life: Life,
  wants: Required<Wants>,
  decide: (brought: Brought) => T,
): Promise<T> {
  life.reads.count += 1;
  try {
    const rows = new Map<string, Envelope | null>();
    const feeds = new Map<string, FeedEnd>();
    // One after the other: each is a matter of microseconds, and mostly there is one.
    for (const id of wants.tasks) {
      const range = taskRange(id);
      if ((await life.storage.scan(range, 1)).length === 0) continue;
      for (const [key, text] of await life.storage.scan(range, 2)) rows.set(key, readEnvelope(text));
    }
    for (const key of wants.rows) {
      const text = await life.storage.get(key);
      if (text !== undefined) rows.set(key, readEnvelope(text));
    }
    for (const session of wants.sessions) feeds.set(session, await readFeedEnd(life, session));
    return decide({ rows, feeds });
  } finally {
    life.reads.count -= 1;
  }
}

/** What the decision on a batch must know of the file. */
export function wantsOf(life: Life, batch: Batch): Wants {
  const rows: string[] = [];
  const tasks: string[] = [];
  for (const write of batch.writes) {
    if (write.kind === 'key' && write.expect !== 'any') rows.push(keyKey(write.id));
    // Both rows of a task in one read: for a new task that is what tells that there are none.
    if (isColdTask(life, write) && !tasks.includes(write.id)) tasks.push(write.id);
  }
  return { rows, tasks, sessions: batch.event ? [batch.event.session] : [] };
}

function isColdTask(life: Life, { kind, id, expect }: Write): boolean {
  // The smaller of a task's two keys; behind all that are stored, neither is there.
  if (doneKey(id) > life.newestTaskKey) return false;
  if (kind === 'task') return !life.tasks.has(id) && life.values.peek(doneKey(id)) === undefined;
  return kind === 'input' && expect !== 'any' && life.values.peek(inputKey(id)) === undefined;
}

/** The last row of a feed is its last event or, when none is stored, the mark of what was trimmed. */
async function readFeedEnd(life: Life, session: string): Promise<FeedEnd> {
  const [last] = await life.storage.scan(rangeOf(feedPath(session)), 1, true);
  if (!last) return NO_FEED;
  const [key, text] = last;
  return key.endsWith('/!')
    ? { number: Number(text), stored: false }
    : { number: readEvent(text).number, stored: true };
}

/**
 * What the engine knows of single values: from the image, from what was written lately, or from the file. A decision
 * is made in one go, so what it must know of the file is brought before: commits that are decided meanwhile stay in
 * memory until the reading is over, and win over what was read.
 */
import type { TaskState } from '../../domain/task.ts';
import type { Batch, Kinds, Revision, Stored, Write } from '../../ports/store.ts';
import type { FeedEnd, Generation } from './generation.ts';
import {
  type Envelope,
  feedPath,
  inputKey,
  keyKey,
  rangeOf,
  readEnvelope,
  readEvent,
  settledKey,
  taskRange,
} from './sqlite/row-keys.ts';

/** A value as memory knows it, with the commit that must be durable before it is shown. */
export type Lookup<T> = { readonly stored: Stored<T> | undefined; readonly seq: number };

/** What was read from the file for one decision; null: not there. */
export type Prefetched = {
  readonly rows: ReadonlyMap<string, Envelope | null>;
  readonly feeds: ReadonlyMap<string, FeedEnd>;
};

/** What must be known: single rows by key, both rows of tasks by id, the ends of sessions' feeds. */
export type Reads = {
  readonly rows?: readonly string[];
  readonly tasks?: readonly string[];
  readonly sessions?: readonly string[];
};

const NOTHING: Prefetched = { rows: new Map(), feeds: new Map() };
const NO_FEED: FeedEnd = { number: 0, stored: false };

/** The row of a value that is not in the image. */
export function rowKeyOf(kind: 'input' | 'task' | 'key', id: string): string {
  switch (kind) {
    case 'input':
      return inputKey(id);
    case 'task':
      return settledKey(id);
    case 'key':
      return keyKey(id);
  }
}

/** What memory knows of a value; undefined: the file must be asked. */
export function lookUp<K extends keyof Kinds>(
  generation: Generation,
  kind: K,
  id: string,
  nowMs: number,
): Lookup<Kinds[K]> | undefined {
  return lookUpAny(generation, kind, id, nowMs) as Lookup<Kinds[K]> | undefined;
}

function lookUpAny(
  generation: Generation,
  kind: keyof Kinds,
  id: string,
  nowMs: number,
): Lookup<unknown> | undefined {
  if (kind === 'agent') {
    const entry = generation.agents.get(id);
    if (!entry) return { stored: undefined, seq: generation.agents.removedSeq() };
    return { stored: { value: entry.record, revision: entry.revision }, seq: entry.seq };
  }
  const open = kind === 'task' ? generation.tasks.get(id) : undefined;
  if (open) return { stored: { value: open.state, revision: open.revision }, seq: open.seq };
  const key = rowKeyOf(kind, id);
  const envelope = generation.recentRows.get(key);
  return envelope === undefined
    ? undefined
    : { stored: openEnvelope(envelope, nowMs), seq: generation.recentRows.seqOf(key) };
}

/** The value in an envelope; one whose time is over reads as absent. */
export function openEnvelope(envelope: Envelope | null, nowMs: number): Stored<unknown> | undefined {
  if (!envelope || (envelope.e != null && envelope.e <= nowMs)) return undefined;
  return { value: envelope.v, revision: envelope.r };
}

/** A row as the decision sees it: what was written lately, else what was brought. */
export function rowOf(generation: Generation, prefetched: Prefetched, key: string): Envelope | null {
  return generation.recentRows.get(key) ?? prefetched.rows.get(key) ?? null;
}

/** The end of a feed as the decision sees it. */
export function feedEndOf(generation: Generation, prefetched: Prefetched, session: string): FeedEnd {
  return generation.feedEnds.get(session) ?? prefetched.feeds.get(session) ?? NO_FEED;
}

/** The revision a write is judged against. */
export function revisionOf(
  generation: Generation,
  prefetched: Prefetched,
  write: Write,
  nowMs: number,
): Revision | 'absent' {
  const { kind, id } = write;
  if (kind === 'agent') return generation.agents.get(id)?.revision ?? 'absent';
  const open = kind === 'task' ? generation.tasks.get(id) : undefined;
  if (open) return open.revision;
  return openEnvelope(rowOf(generation, prefetched, rowKeyOf(kind, id)), nowMs)?.revision ?? 'absent';
}

/** The state of a task that has ended; undefined when it is open or unknown. */
export function settledState(
  generation: Generation,
  prefetched: Prefetched,
  id: string,
): TaskState | undefined {
  return rowOf(generation, prefetched, settledKey(id))?.v as TaskState | undefined;
}

/**
 * Runs a decision with what it must know of the file: at once if memory knows it all, else when it has been read.
 * Between the end of the reading and the decision nothing else runs.
 */
export function prefetchAndDecide<T>(
  generation: Generation,
  wants: Reads,
  decide: (prefetched: Prefetched) => T,
): T | Promise<T> {
  const { rows = [], tasks = [], sessions = [] } = wants;
  const unknown = {
    rows: rows.filter((key) => generation.recentRows.get(key) === undefined),
    tasks,
    sessions: sessions.filter((session) => generation.feedEnds.get(session) === undefined),
  };
  if (unknown.rows.length + tasks.length + unknown.sessions.length === 0) return decide(NOTHING);
  return readAndDecide(generation, unknown, decide);
}

async function readAndDecide<T>(
  generation: Generation,
  wants: Required<Reads>,
  decide: (prefetched: Prefetched) => T,
): Promise<T> {
  generation.reads.count += 1;
  try {
    const rows = new Map<string, Envelope | null>();
    const feeds = new Map<string, FeedEnd>();
    // One after the other: each is a matter of microseconds, and mostly there is one.
    for (const id of wants.tasks) {
      const range = taskRange(id);
      if ((await generation.storage.scan(range, 1)).length === 0) continue;
      for (const [key, text] of await generation.storage.scan(range, 2)) rows.set(key, readEnvelope(text));
    }
    for (const key of wants.rows) {
      const text = await generation.storage.get(key);
      if (text !== undefined) rows.set(key, readEnvelope(text));
    }
    for (const session of wants.sessions) feeds.set(session, await readFeedEnd(generation, session));
    return decide({ rows, feeds });
  } finally {
    generation.reads.count -= 1;
  }
}

/** What the decision on a batch must know of the file. */
export function readsOf(generation: Generation, batch: Batch): Reads {
  const rows: string[] = [];
  const tasks: string[] = [];
  for (const write of batch.writes) {
    if (write.kind === 'key' && write.expect !== 'any') rows.push(keyKey(write.id));
    // Both rows of a task in one read: for a new task that is what tells that there are none.
    if (isColdTask(generation, write) && !tasks.includes(write.id)) tasks.push(write.id);
  }
  return { rows, tasks, sessions: batch.event ? [batch.event.session] : [] };
}

function isColdTask(generation: Generation, { kind, id, expect }: Write): boolean {
  // The smaller of a task's two keys; behind all that are stored, neither is there.
  if (settledKey(id) > generation.newestTaskKey) return false;
  if (kind === 'task')
    return !generation.tasks.has(id) && generation.recentRows.get(settledKey(id)) === undefined;
  return kind === 'input' && expect !== 'any' && generation.recentRows.get(inputKey(id)) === undefined;
}

/** The last row of a feed is its last event or, when none is stored, the mark of what was trimmed. */
async function readFeedEnd(generation: Generation, session: string): Promise<FeedEnd> {
  const [last] = await generation.storage.scan(rangeOf(feedPath(session)), 1, true);
  if (!last) return NO_FEED;
  const [key, text] = last;
  return key.endsWith('/!')
    ? { number: Number(text), stored: false }
    : { number: readEvent(text).number, stored: true };
}

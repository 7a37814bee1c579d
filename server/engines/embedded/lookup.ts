/**
 * The engine's lookup of single values: in the memory state, among the recent rows, or in the file.
 *
 * A decision runs in one go, so the rows that it needs from the file are prefetched. Commits that are decided
 * during the read stay in memory until the read is over, and win over what was read.
 */
import { isSettled } from '../../domain/task.ts';
import type { Batch, Kinds, Revision, Stored, Write } from '../../ports/store.ts';
import type { Generation } from './generation.ts';
import type { OpenTask } from './memory/open-tasks.ts';
import type { StoredOutput } from './memory/outputs.ts';
import type { FeedEnd } from './memory/state.ts';
import { readStoredOutput } from './output-rows.ts';
import {
  detailsKey,
  type Envelope,
  feedPath,
  inputKey,
  keyKey,
  rangeOf,
  readEnvelope,
  readEvent,
  settledKey,
  taskRange,
} from './storage/row-keys.ts';

/**
 * A value found in memory (undefined: it is absent), and the commit that must be durable before it is shown.
 */
type LookupResult<T> = {
  readonly stored: Stored<T> | undefined;
  readonly seq: number;
};

/**
 * The rows read from the file for one decision; if a row was read and is not there, it is null or missing.
 */
export type Prefetched = {
  readonly rows: ReadonlyMap<string, Envelope | null>;
  readonly feeds: ReadonlyMap<string, FeedEnd>;
  readonly outputs: ReadonlyMap<string, StoredOutput>;
};

/**
 * The reads of a decision: single rows by key, both rows of tasks by id, the ends of sessions' feeds, how the
 * output of tasks stands.
 */
type PrefetchRequest = {
  readonly rows?: readonly string[];
  readonly tasks?: readonly string[];
  readonly sessions?: readonly string[];
  readonly outputs?: readonly string[];
};

const NOTHING: PrefetchRequest = {};
const NOTHING_PREFETCHED: Prefetched = { rows: new Map(), feeds: new Map(), outputs: new Map() };
const EMPTY_FEED: FeedEnd = { number: 0, stored: false };

/** The key of a value that is not part of the memory state; for tasks, of the settled state. */
export function rowKeyOf(kind: 'input' | 'task' | 'key' | 'details', id: string): string {
  switch (kind) {
    case 'input':
      return inputKey(id);
    case 'task':
      return settledKey(id);
    case 'key':
      return keyKey(id);
    case 'details':
      return detailsKey(id);
  }
}

/** Looks a value up in memory; undefined when the file must be read. */
export function lookUp<K extends keyof Kinds>(
  generation: Generation,
  kind: K,
  id: string,
  nowMs: number,
): LookupResult<Kinds[K]> | undefined {
  return lookUpAnyKind(generation, kind, id, nowMs) as LookupResult<Kinds[K]> | undefined;
}

function lookUpAnyKind(
  generation: Generation,
  kind: keyof Kinds,
  id: string,
  nowMs: number,
): LookupResult<unknown> | undefined {
  if (kind === 'agent') {
    const entry = generation.agents.get(id);
    if (!entry) return { stored: undefined, seq: generation.agents.removedSeq() };
    return { stored: { value: entry.record, revision: entry.revision }, seq: entry.seq };
  }
  const open = kind === 'task' ? findOpenTask(generation, id) : undefined;
  if (open) return { stored: { value: open.state, revision: open.revision }, seq: open.seq };
  const key = rowKeyOf(kind, id);
  const envelope = generation.recentRows.get(key);
  return envelope === undefined
    ? undefined
    : { stored: openEnvelope(envelope, nowMs), seq: generation.recentRows.seqOf(key) };
}

/** An open task; undefined where there is none. Throws `StoreDamaged` where its row was set aside. */
function findOpenTask({ tasks, damagedTasks }: Generation, id: string): OpenTask | undefined {
  const damage = damagedTasks.get(id);
  if (damage) throw damage;
  return tasks.get(id);
}

/** The value in an envelope; undefined when there is none or it has expired. */
export function openEnvelope(envelope: Envelope | null, nowMs: number): Stored<unknown> | undefined {
  if (!envelope || (envelope.e !== undefined && envelope.e <= nowMs)) return undefined;
  return { value: envelope.v, revision: envelope.r };
}

/**
 * A row as a decision sees it: as it was written recently, else as it was prefetched; null when it is absent.
 */
export function findRow(generation: Generation, prefetched: Prefetched, key: string): Envelope | null {
  const recent = generation.recentRows.get(key);
  // Null: it was removed after it was prefetched.
  return recent === undefined ? (prefetched.rows.get(key) ?? null) : recent;
}

/** The end of a session's feed as a decision sees it. */
export function findFeedEnd(generation: Generation, prefetched: Prefetched, session: string): FeedEnd {
  return generation.feedEnds.get(session) ?? prefetched.feeds.get(session) ?? EMPTY_FEED;
}

/** The revision that a write's value has before the commit. */
export function findRevision(
  generation: Generation,
  prefetched: Prefetched,
  write: Write,
  nowMs: number,
): Revision | 'absent' {
  const { kind, id } = write;
  if (kind === 'agent') return generation.agents.get(id)?.revision ?? 'absent';
  const open = kind === 'task' ? findOpenTask(generation, id) : undefined;
  if (open) return open.revision;
  return openEnvelope(findRow(generation, prefetched, rowKeyOf(kind, id)), nowMs)?.revision ?? 'absent';
}

/**
 * Runs a decision with what it needs from the file: at once when memory has everything, else when it has been
 * read. Nothing else runs between the end of the read and the decision.
 */
export function prefetchAndDecide<T>(
  generation: Generation,
  request: PrefetchRequest,
  decide: (prefetched: Prefetched) => T,
): T | Promise<T> {
  if (request === NOTHING) return decide(NOTHING_PREFETCHED);
  const { rows = [], tasks = [], sessions = [], outputs = [] } = request;
  const missing = {
    rows: rows.filter((key) => generation.recentRows.get(key) === undefined),
    tasks,
    sessions: sessions.filter((session) => generation.feedEnds.get(session) === undefined),
    outputs,
  };
  const count = missing.rows.length + tasks.length + missing.sessions.length + outputs.length;
  if (count === 0) return decide(NOTHING_PREFETCHED);
  return readAndDecide(generation, missing, decide);
}

async function readAndDecide<T>(
  generation: Generation,
  request: Required<PrefetchRequest>,
  decide: (prefetched: Prefetched) => T,
): Promise<T> {
  generation.fileReads.count += 1;
  try {
    const rows = new Map<string, Envelope | null>();
    const feeds = new Map<string, FeedEnd>();
    const outputs = new Map<string, StoredOutput>();
    // One after the other: each takes microseconds, and most decisions need one.
    for (const id of request.tasks) {
      const range = taskRange(id);
      if ((await generation.storage.scan(range, 1)).length === 0) continue;
      for (const [key, text] of await generation.storage.scan(range, 2)) rows.set(key, readEnvelope(text));
    }
    for (const key of request.rows) {
      const text = await generation.storage.get(key);
      if (text !== undefined) rows.set(key, readEnvelope(text));
    }
    for (const session of request.sessions) feeds.set(session, await readFeedEnd(generation, session));
    for (const id of request.outputs) {
      const output = await readStoredOutput(generation.storage, id);
      if (output) outputs.set(id, output);
    }
    return decide({ rows, feeds, outputs });
  } finally {
    generation.fileReads.count -= 1;
    generation.recentRows.trim();
    generation.feedEnds.trim();
  }
}

/** The reads of the decision on a batch. */
export function buildPrefetchRequest(generation: Generation, batch: Batch): PrefetchRequest {
  const { output } = batch;
  const outputs = output && needsOutput(generation, output.request_id) ? [output.request_id] : [];
  // Nearly every write of output.
  if (batch.writes.length === 0 && !batch.event && outputs.length === 0) return NOTHING;
  const rows: string[] = [];
  const tasks: string[] = [];
  for (const write of batch.writes) {
    if (write.kind === 'task' && isSettled(write.value) && needsOutput(generation, write.id))
      outputs.push(write.id);
    if (write.kind === 'key') rows.push(keyKey(write.id));
    // One read gets both rows of a task; of a new task it finds that neither is there.
    if (needsTaskRows(generation, write) && !tasks.includes(write.id)) tasks.push(write.id);
  }
  return { rows, tasks, sessions: batch.event ? [batch.event.session] : [], outputs };
}

/** Of an open task: whether it has output that was not written to since the start. */
function needsOutput(generation: Generation, id: string): boolean {
  return generation.tasks.get(id)?.hasOutput === true && generation.outputs.get(id) === undefined;
}

function needsTaskRows(generation: Generation, { kind, id }: Write): boolean {
  // This is the smaller of the task's two keys: when it is greater than all stored keys, neither row is
  // there.
  if (settledKey(id) > generation.newestTaskKey) return false;
  if (kind === 'task') {
    return !generation.tasks.has(id) && generation.recentRows.get(settledKey(id)) === undefined;
  }
  return kind === 'input' && generation.recentRows.get(inputKey(id)) === undefined;
}

/**
 * The last row of a feed is its last event or, when no event is stored, the number of the last trimmed one.
 */
async function readFeedEnd(generation: Generation, session: string): Promise<FeedEnd> {
  const [last] = await generation.storage.scan(rangeOf(feedPath(session)), 1, true);
  if (!last) return EMPTY_FEED;
  const [key, text] = last;
  return key.endsWith('/!')
    ? { number: Number(text), stored: false }
    : { number: readEvent(text).number, stored: true };
}

/** A row as of the last decided commit; null when it is absent. */
export async function readRow(generation: Generation, key: string): Promise<Envelope | null> {
  const recent = generation.recentRows.get(key);
  if (recent !== undefined) return recent;
  const text = await generation.storage.get(key);
  return text === undefined ? null : readEnvelope(text);
}

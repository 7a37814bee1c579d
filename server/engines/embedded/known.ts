/**
 * What the engine knows of single values: from the image, from what was written or read lately, or not at all. What a
 * decision must know and memory does not hold is brought here before it is made.
 */
import type { AgentRecord } from '../../domain/agent.ts';
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
  const known: Known<AgentRecord> | Known<unknown> | undefined =
    kind === 'agent' ? lookUpAgent(life, id) : lookUpRow(life, kind, id, nowMs);
  return known as Known<Kinds[K]> | undefined;
}

function lookUpAgent(life: Life, id: string): Known<AgentRecord> {
  const entry = life.agents.get(id);
  if (!entry) return { stored: undefined, seq: life.agents.removedSeq() };
  return { stored: { value: entry.record, revision: entry.revision }, seq: entry.seq };
}

function lookUpRow(
  life: Life,
  kind: Exclude<keyof Kinds, 'agent'>,
  id: string,
  nowMs: number,
): Known<unknown> | undefined {
  if (kind === 'task') {
    const open = life.tasks.get(id);
    if (open) return { stored: { value: open.state, revision: open.revision }, seq: open.seq };
  }
  const key = rowKeyOf(kind, id);
  const envelope = life.values.peek(key);
  if (envelope === undefined) return undefined;
  return { stored: openEnvelope(envelope ?? undefined, nowMs), seq: life.values.seqOf(key) };
}

/** The value in an envelope; one whose time is over reads as absent. */
export function openEnvelope(envelope: Envelope | undefined, nowMs: number): Stored<unknown> | undefined {
  if (!envelope || (envelope.e != null && envelope.e <= nowMs)) return undefined;
  return { value: envelope.v, revision: envelope.r };
}

/** The revision a write is judged against. Its facts must have been brought. */
export function revisionOf(life: Life, write: Write, nowMs: number): Revision | 'absent' {
  return lookUp(life, write.kind, write.id, nowMs)?.stored?.revision ?? 'absent';
}

/** The settled state of a task, if that is what it is and memory knows. */
export function settledState(life: Life, id: string): TaskState | undefined {
  return life.values.peek(doneKey(id))?.v as TaskState | undefined;
}

/** Brings whatever the decision on this batch must know; undefined when memory knows it all. */
export function bringFacts(life: Life, batch: Batch): Promise<void> | undefined {
  const loads = missingLoads(life, batch);
  return loads.length === 0 ? undefined : bringAll(life, batch, loads);
}

type Load = () => Promise<void>;

async function bringAll(life: Life, batch: Batch, first: readonly Load[]): Promise<void> {
  // What was brought may have been overtaken by a commit, or dropped to make room: look again until all is there.
  for (let loads = first; loads.length > 0; loads = missingLoads(life, batch)) {
    await Promise.all(loads.map((load) => load()));
  }
}

function missingLoads(life: Life, batch: Batch): readonly Load[] {
  const loads = new Map<string, Load>();
  for (const { kind, id, expect } of batch.writes) {
    if (kind === 'task') {
      const unknown = !life.tasks.has(id) && life.values.peek(doneKey(id)) === undefined;
      if (unknown) loads.set(`task ${id}`, () => loadTask(life, id));
    }
    if (expect === 'any') continue;
    if (kind === 'input' && life.values.peek(inputKey(id)) === undefined) {
      loads.set(`task ${id}`, () => loadTask(life, id));
    }
    if (kind === 'key' && life.values.peek(keyKey(id)) === undefined) {
      loads.set(`key ${id}`, () => loadRows(life, [keyKey(id)]));
    }
  }
  if (batch.event) {
    const { session } = batch.event;
    if (life.feeds.peek(session) === undefined) loads.set('feed', () => loadFeedEnd(life, session));
  }
  return [...loads.values()];
}

/** Both rows of a task in one read: for a new task that is what tells that there are none. */
async function loadTask(life: Life, id: string): Promise<void> {
  const keys = [doneKey(id), inputKey(id)];
  await life.values.load(keys, async () => {
    const rows = new Map(await life.storage.scan(taskRange(id), keys.length));
    return keys.map((key) => toFact(rows.get(key)));
  });
}

/** Reads rows into the facts. */
export async function loadRows(life: Life, keys: readonly string[]): Promise<void> {
  await life.values.load(keys, () =>
    Promise.all(keys.map(async (key) => toFact(await life.storage.get(key)))),
  );
}

function toFact(text: string | undefined): { value: Envelope | null; size: number } {
  return text === undefined ? { value: null, size: 0 } : { value: readEnvelope(text), size: text.length };
}

/** The last row of a feed is its last event or, when none is stored, the mark of what was trimmed. */
export async function loadFeedEnd(life: Life, session: string): Promise<void> {
  await life.feeds.load([session], async () => {
    const [last] = await life.storage.scan(rangeOf(feedPath(session)), 1, true);
    return [{ value: readFeedEnd(last), size: session.length }];
  });
}

function readFeedEnd(last: readonly [string, string] | undefined): FeedEnd {
  if (!last) return { number: 0, stored: false };
  const [key, text] = last;
  return key.endsWith('/!')
    ? { number: Number(text), stored: false }
    : { number: readEvent(text).number, stored: true };
}

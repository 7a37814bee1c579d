/** Reads what the scripts tell of agents: how each stands, and which changed since when. */
import type { Contact } from '../../domain/agent.ts';
import type { Changes, Standing } from '../../ports/store.ts';
import type { Reply } from './connect.ts';
import type { Line } from './line.ts';
import { scripts } from './scripts.ts';

/** Agents read at a time, so that no other call waits long. */
const SLICE = 500;

/** How an agent stands, from what is told of it; undefined without a record. */
export function readStanding(resumed: Reply | undefined, told: Reply | undefined): Standing | undefined {
  if (!Array.isArray(told)) return undefined;
  const [value, revision, lastGrantMs, contactMs, beatMs, beatGapMs, push, held] = told as readonly Reply[];
  return {
    record: JSON.parse(String(value)),
    revision: String(revision),
    held: Number(held),
    lastGrantMs: Number(lastGrantMs ?? 0),
    contact: {
      contactMs: Math.max(Number(contactMs ?? 0), Number(resumed ?? 0)),
      beatMs: numberOrNull(beatMs),
      beatGapMs: numberOrNull(beatGapMs),
      push: push === null ? null : (JSON.parse(String(push)) as Contact['push']),
    },
  };
}

function numberOrNull(reply: Reply | undefined): number | null {
  return reply === null || reply === undefined ? null : Number(reply);
}

type Slice = {
  readonly last: number;
  readonly forgotten: number;
  readonly isFull: boolean;
  readonly changed: readonly (readonly [number: number, standing: Standing])[];
  readonly gone: readonly string[];
};

/**
 * Agents that changed since a cursor, in slices: one that changes meanwhile comes again at the end. A cursor from before
 * the connection was lost is refused: another Redis, somewhat behind, may have taken the place of the first.
 */
export async function readChanges(line: Line, cursor: string | null): Promise<Changes> {
  const life = line.life();
  const [, theirs, number] = /^([\w-]+):(\d+)$/.exec(cursor ?? '') ?? [];
  const from = theirs === life ? Number(number) : null;
  const first = await readSlice(line, from ?? 0, from ?? 0);
  if (from !== null && (from < first.forgotten || from > first.last)) return await readChanges(line, null);
  const changed = new Map<string, Standing>();
  const goneAfter = from ?? first.last;
  let slice = first;
  for (;;) {
    for (const [, standing] of slice.changed) changed.set(standing.record.agent_id, standing);
    if (!slice.isFull) break;
    slice = await readSlice(line, slice.changed.at(-1)?.[0] ?? slice.last, goneAfter);
  }
  for (const agentId of slice.gone) changed.delete(agentId);
  return {
    reset: from === null,
    changed: [...changed.values()],
    gone: from === null ? [] : slice.gone,
    cursor: `${life}:${slice.last}`,
  };
}

async function readSlice(line: Line, after: number, goneAfter: number): Promise<Slice> {
  const args = [String(after), String(goneAfter), String(SLICE)];
  const reply = (await line.call(scripts.changes, args)) as readonly Reply[];
  const [resumed, last, forgotten, count, changed, gone] = reply;
  return {
    last: Number(last),
    forgotten: Number(forgotten),
    isFull: Number(count) === SLICE,
    changed: (changed as readonly (readonly Reply[])[]).flatMap(([number, told]) => {
      const standing = readStanding(resumed, told);
      return standing ? [[Number(number), standing] as const] : [];
    }),
    gone: gone as readonly string[],
  };
}

/** Reads what the scripts tell of agents: how each stands, and which changed since when. */
import type { Contact } from '../../domain/agent.ts';
import type { AgentChanges, AgentStatus } from '../../ports/store.ts';
import type { Reply } from './client.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';

/** Agents read at a time, so that no other call waits long. */
const SLICE = 500;

/** How an agent stands, from what is told of it; undefined without a record. */
export function readAgentStatus(
  resumed: Reply | undefined,
  reply: Reply | undefined,
): AgentStatus | undefined {
  if (!Array.isArray(reply)) return undefined;
  const [value, revision, lastGrantMs, contactMs, beatMs, beatGapMs, push, held] = reply as readonly Reply[];
  return {
    record: JSON.parse(String(value)),
    revision: String(revision),
    slots: Number(held),
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
  readonly changed: readonly (readonly [number: number, agentStatus: AgentStatus])[];
  readonly gone: readonly string[];
};

/**
 * Agents that changed since a cursor, in slices: one that changes meanwhile comes again at the end. A cursor from before
 * the connection was lost is refused: another Redis, somewhat behind, may have taken the place of the first.
 */
export async function readAgentChanges(connection: Connection, cursor: string | null): Promise<AgentChanges> {
  const generation = connection.generation();
  const [, theirs, number] = /^([\w-]+):(\d+)$/.exec(cursor ?? '') ?? [];
  const from = theirs === generation ? Number(number) : null;
  const first = await readSlice(connection, from ?? 0, from ?? 0);
  if (from !== null && (from < first.forgotten || from > first.last))
    return await readAgentChanges(connection, null);
  const changed = new Map<string, AgentStatus>();
  const goneAfter = from ?? first.last;
  let slice = first;
  for (;;) {
    for (const [, agentStatus] of slice.changed) changed.set(agentStatus.record.agent_id, agentStatus);
    if (!slice.isFull) break;
    slice = await readSlice(connection, slice.changed.at(-1)?.[0] ?? slice.last, goneAfter);
  }
  for (const agent_id of slice.gone) changed.delete(agent_id);
  return {
    reset: from === null,
    changed: [...changed.values()],
    removed: from === null ? [] : slice.gone,
    cursor: `${generation}:${slice.last}`,
  };
}

async function readSlice(connection: Connection, after: number, goneAfter: number): Promise<Slice> {
  const args = [String(after), String(goneAfter), String(SLICE)];
  const reply = (await connection.call(scripts.changes, args)) as readonly Reply[];
  const [resumed, last, forgotten, count, changed, gone] = reply;
  return {
    last: Number(last),
    forgotten: Number(forgotten),
    isFull: Number(count) === SLICE,
    changed: (changed as readonly (readonly Reply[])[]).flatMap(([number, reply]) => {
      const agentStatus = readAgentStatus(resumed, reply);
      return agentStatus ? [[Number(number), agentStatus] as const] : [];
    }),
    gone: gone as readonly string[],
  };
}

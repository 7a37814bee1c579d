/** Reads what the scripts return about agents: the status of each, and which changed since a cursor. */
import type { Contact } from '../../domain/agent.ts';
import type { AgentChanges, AgentStatus } from '../../ports/store.ts';
import type { Reply } from './client.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';

/** Agents read at a time, so that no other call waits long. */
const SLICE = 500;

/** Reads an agent's status from the reply of `read_status`; undefined when it has no record. */
export function parseAgentStatus(
  resumedMs: Reply | undefined,
  reply: Reply | undefined,
): AgentStatus | undefined {
  if (!Array.isArray(reply)) return undefined;
  const [value, revision, lastGrantMs, contactMs, beatMs, beatGapMs, push, unreachedSinceMs, slots] =
    reply as readonly Reply[];
  return {
    record: JSON.parse(String(value)),
    revision: String(revision),
    slots: Number(slots),
    lastGrantMs: Number(lastGrantMs ?? 0),
    contact: {
      // While no gateway swept, none could receive a contact either.
      contactMs: Math.max(Number(contactMs ?? 0), Number(resumedMs ?? 0)),
      beatMs: numberOrNull(beatMs),
      beatGapMs: numberOrNull(beatGapMs),
      push: push === null ? null : (JSON.parse(String(push)) as Contact['push']),
      unreachedSinceMs: numberOrNull(unreachedSinceMs),
    },
  };
}

function numberOrNull(reply: Reply | undefined): number | null {
  return reply === null || reply === undefined ? null : Number(reply);
}

type Slice = {
  /** The number of the last change in the store. */
  readonly lastNumber: number;
  /** Removals up to this number are forgotten. */
  readonly forgottenNumber: number;
  /** Whether more changes may follow. */
  readonly isFull: boolean;
  readonly changed: readonly (readonly [number: number, status: AgentStatus])[];
  readonly removed: readonly string[];
};

/**
 * Reads the agents that changed since a cursor, in slices: an agent that changes meanwhile comes again at the
 * end. A cursor from before the connection was lost gets all agents: the new primary may be behind the one it
 * replaced.
 */
export async function readAgentChanges(connection: Connection, cursor: string | null): Promise<AgentChanges> {
  const clientId = connection.clientId();
  const [, cursorClientId, number] = /^([\w-]+):(\d+)$/.exec(cursor ?? '') ?? [];
  const after = cursorClientId === clientId ? Number(number) : null;
  const first = await readSlice(connection, after ?? 0, after ?? 0);
  if (after !== null && (after < first.forgottenNumber || after > first.lastNumber))
    return await readAgentChanges(connection, null);
  const changed = new Map<string, AgentStatus>();
  const removedAfter = after ?? first.lastNumber;
  let slice = first;
  for (;;) {
    for (const [, status] of slice.changed) changed.set(status.record.agent_id, status);
    if (!slice.isFull) break;
    slice = await readSlice(connection, slice.changed.at(-1)?.[0] ?? slice.lastNumber, removedAfter);
  }
  for (const agent_id of slice.removed) changed.delete(agent_id);
  return {
    reset: after === null,
    changed: [...changed.values()],
    removed: after === null ? [] : slice.removed,
    cursor: `${clientId}:${slice.lastNumber}`,
  };
}

async function readSlice(connection: Connection, after: number, removedAfter: number): Promise<Slice> {
  const args = [after, removedAfter, SLICE].map(String);
  const reply = (await connection.call(scripts.agentChanges, args)) as readonly Reply[];
  const [resumedMs, lastNumber, forgottenNumber, count, changed, removed] = reply;
  return {
    lastNumber: Number(lastNumber),
    forgottenNumber: Number(forgottenNumber),
    isFull: Number(count) === SLICE,
    changed: (changed as readonly (readonly Reply[])[]).flatMap(([number, found]) => {
      const status = parseAgentStatus(resumedMs, found);
      return status ? [[Number(number), status] as const] : [];
    }),
    removed: removed as readonly string[],
  };
}

/**
 * Reads what the scripts return about agents: the status of each, and which agents changed since a cursor. An
 * agent whose record cannot be read is logged by its id and left out, so that the other agents are still
 * read.
 */
import type { AgentRecord, Contact } from '../../../domain/agent.ts';
import type { AgentChanges, AgentStatus } from '../../../ports/store.ts';
import type { Reply } from '../client/client.ts';
import type { Connection } from '../connection/connection.ts';
import type { DamageLog } from '../damage-log.ts';
import { scripts } from '../scripts.ts';

/**
 * How many changed agents a page has at most, and how many removed ones. The script ends a page of a megabyte
 * sooner.
 */
const PAGE = 500;
export type AgentStatuses = {
  /** Parses the reply of `read_status`; undefined without a record, or if the record cannot be read. */
  parse(agent_id: string, resumedMs: Reply | undefined, reply: Reply | undefined): AgentStatus | undefined;
  parseRecord(
    agent_id: string,
    value: Reply | undefined,
    revision: Reply | undefined,
  ): AgentRecord | undefined;
};

export function createAgentStatuses(noteDamage: DamageLog): AgentStatuses {
  const logDamage = (agent_id: string, revision: string): void =>
    noteDamage(`the record of agent ${agent_id}, revision ${revision}`);

  return {
    parse(agent_id, resumedMs, reply) {
      if (!Array.isArray(reply)) return undefined;
      try {
        return parseAgentStatus(resumedMs, reply);
      } catch {
        logDamage(agent_id, String(reply[1]));
        return undefined;
      }
    },
    parseRecord(agent_id, value, revision) {
      if (typeof value !== 'string') return undefined;
      try {
        return JSON.parse(value);
      } catch {
        logDamage(agent_id, String(revision));
        return undefined;
      }
    },
  };
}

function parseAgentStatus(resumedMs: Reply | undefined, reply: readonly Reply[]): AgentStatus {
  const [value, revision, lastGrantMs, contactMs, beatMs, beatGapMs, push, unreachedSinceMs, slots] = reply;
  return {
    record: JSON.parse(String(value)),
    revision: String(revision),
    slots: Number(slots),
    lastGrantMs: Number(lastGrantMs ?? 0),
    contact: {
      // While no gateway swept, no gateway could receive a contact either.
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

/** Up to which numbers a reader has read changes, and from which on it needs removals. */
type Position = { readonly changes: number; readonly removals: number };

/** The start of a reader of all agents, which needs every change and no removal from before. */
const START: Position = { changes: 0, removals: Number.MAX_SAFE_INTEGER };

/**
 * Reads one page of the agents that changed since a cursor. An agent that changes meanwhile comes again on a
 * later page. A cursor of an earlier connection gets all agents, because the present primary may be behind
 * the earlier one.
 */
export async function readAgentChanges(
  connection: Connection,
  statuses: AgentStatuses,
  cursor: string | null,
): Promise<AgentChanges> {
  const clientId = connection.clientId();
  const [, cursorClientId, changes, removals] = /^([\w-]+):(\d+):(\d+)$/.exec(cursor ?? '') ?? [];
  const from = cursorClientId === clientId ? { changes: Number(changes), removals: Number(removals) } : null;
  const page = await readPage(connection, from ?? START);
  if (from && (Math.max(from.changes, from.removals) < page.forgotten || from.changes > page.last))
    return await readAgentChanges(connection, statuses, null);
  return {
    reset: from === null,
    changed: page.changed.flatMap(
      ([, agent_id, status]) => statuses.parse(String(agent_id), page.resumedMs, status) ?? [],
    ),
    removed: page.removed,
    cursor: `${clientId}:${page.complete}:${from?.removals ?? page.last}`,
    more: page.complete < page.last,
  };
}

type ChangesPage = {
  readonly resumedMs: Reply | undefined;
  /** The number of the last change in the store. */
  readonly last: number;
  /** Removals up to this number are forgotten. */
  readonly forgotten: number;
  /** The page has every change up to this number. */
  readonly complete: number;
  readonly changed: readonly (readonly Reply[])[];
  readonly removed: readonly string[];
};

async function readPage(connection: Connection, { changes, removals }: Position): Promise<ChangesPage> {
  const args = [changes, removals, PAGE].map(String);
  const reply = (await connection.call(scripts.agentChanges, args)) as readonly Reply[];
  const [resumedMs, last, forgotten, complete, changed, removed] = reply;
  return {
    resumedMs,
    last: Number(last),
    forgotten: Number(forgotten),
    complete: Number(complete),
    changed: changed as readonly (readonly Reply[])[],
    removed: removed as readonly string[],
  };
}

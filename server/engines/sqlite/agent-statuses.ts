/**
 * The status of agents as it was committed last. Copies of rows and records are kept in memory; they may be
 * lost, and a commit that touches an agent removes them.
 */
import type { AgentRecord } from '../../domain/agent.ts';
import { type AgentStatus, StoreDamaged } from '../../ports/store.ts';
import type { Contacts } from '../contacts.ts';
import { parseValue } from './single-values.ts';
import type { Prepare } from './statements.ts';

export type AgentStatuses = {
  /** Undefined if it has no record. Throws `StoreDamaged`. */
  read(agent_id: string): AgentStatus | undefined;
  /** The same, undefined also where its record cannot be read: one of several. */
  readIfWhole(agent_id: string): AgentStatus | undefined;
  readRegistration(agent_id: string): string | undefined;
  /** All agents with a record. */
  listIds(): readonly string[];
  holdsSlot(agent_id: string, request_id: string): boolean;
  /** A commit has changed its slots. */
  forgetSlots(agent_id: string): void;
  /** A commit has changed its record. */
  forget(agent_id: string): void;
  forgetAll(): void;
};

type Copy = { readonly record: AgentRecord; readonly revision: string; readonly slots: number };

/** Creates it over the tables of a connection. `onDamaged` gets the error of each record it passes over. */
export function createAgentStatuses(
  prepare: Prepare,
  contacts: Contacts,
  onDamaged: (error: StoreDamaged) => void,
): AgentStatuses {
  const selectAgent = prepare('SELECT used, registration FROM agent WHERE id = ?');
  const selectRecord = prepare(
    'SELECT revision, coalesce(json, (SELECT large.json FROM large WHERE large.id = large_id)) ' +
      "FROM value WHERE kind = 'agent' AND id = ?",
  );
  const selectIds = prepare('SELECT id FROM agent ORDER BY id');
  const findSlot = prepare('SELECT 1 FROM slot WHERE agent = ? AND task = ?');
  const copies = new Map<string, Copy>();
  /** A record is parsed once, also when slots change. */
  const records = new Map<string, Pick<Copy, 'record' | 'revision'>>();

  function readRecord(agent_id: string): Pick<Copy, 'record' | 'revision'> {
    const known = records.get(agent_id);
    if (known) return known;
    const [revision, json] = selectRecord.get(agent_id) ?? [];
    const record = parseValue('agent', agent_id, String(json));
    const found = { record, revision: String(revision) };
    records.set(agent_id, found);
    return found;
  }

  function find(agent_id: string): Copy | undefined {
    const known = copies.get(agent_id);
    if (known) return known;
    const row = selectAgent.get(agent_id);
    if (!row) return undefined;
    const copy = { ...readRecord(agent_id), slots: Number(row[0]) };
    copies.set(agent_id, copy);
    return copy;
  }

  function read(agent_id: string): AgentStatus | undefined {
    const copy = find(agent_id);
    if (!copy) return undefined;
    return { ...copy, lastGrantMs: contacts.lastGrantMs(agent_id), contact: contacts.contactOf(agent_id) };
  }

  return {
    read,
    readIfWhole(agent_id) {
      try {
        return read(agent_id);
      } catch (error) {
        if (!(error instanceof StoreDamaged)) throw error;
        onDamaged(error);
        return undefined;
      }
    },
    readRegistration: (agent_id) => selectAgent.get(agent_id)?.[1] as string | undefined,
    listIds: () => selectIds.all().map(([id]) => String(id)),
    holdsSlot: (agent_id, request_id) => findSlot.get(agent_id, request_id) !== undefined,
    forgetSlots: (agent_id) => void copies.delete(agent_id),
    forget(agent_id) {
      copies.delete(agent_id);
      records.delete(agent_id);
    },
    forgetAll() {
      copies.clear();
      records.clear();
    },
  };
}

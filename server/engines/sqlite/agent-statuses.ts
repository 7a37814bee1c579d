/**
 * The last committed status of each agent. Memory has copies of records and slots, which may be lost at any
 * time. A commit that touches an agent removes its copy.
 */
import { createBoundedMap } from '../../async/bounded-map.ts';
import type { AgentRecord } from '../../domain/agent.ts';
import { type AgentStatus, StoreDamaged } from '../../ports/store.ts';
import type { Contacts } from '../contacts.ts';
import { parseValue } from '../single-values.ts';
import type { Prepare } from './statements.ts';

export type AgentStatuses = {
  /** Undefined without a record. Throws `StoreDamaged`. */
  read(agent_id: string): AgentStatus | undefined;
  /** As `read`, but undefined if the record is damaged: for callers that read many agents. */
  readIfWhole(agent_id: string): AgentStatus | undefined;
  readRecord(agent_id: string): AgentRecord | undefined;
  listIds(): readonly string[];
  holdsSlot(agent_id: string, request_id: string): boolean;
  /** Called when a commit has changed the agent's slots. */
  forgetSlots(agent_id: string): void;
  /** Called when a commit has changed the agent's record. */
  forget(agent_id: string): void;
  forgetAll(): void;
};

type Copy = {
  readonly record: AgentRecord;
  readonly revision: string;
  /** Null once a commit has changed the slots. */
  slots: number | null;
};

/** This many agents are read without the file. The gateway's index keeps its own copy of all agents. */
const COPIES_MAX = 4_096;

/** `onDamaged` gets the error of each damaged record that `readIfWhole` leaves out. */
export function createAgentStatuses(
  prepare: Prepare,
  contacts: Contacts,
  onDamaged: (error: StoreDamaged) => void,
): AgentStatuses {
  const selectRecord = prepare(
    'SELECT revision, coalesce(json, (SELECT large.json FROM large WHERE large.id = large_id)) ' +
      "FROM value WHERE id = ? AND kind = 'agent'",
  );
  const selectUsed = prepare('SELECT used FROM agent WHERE id = ?');
  const selectIds = prepare('SELECT id FROM agent ORDER BY id');
  const findSlot = prepare('SELECT 1 FROM slot WHERE agent = ? AND task = ?');
  let copies = createBoundedMap<string, Copy>(COPIES_MAX);

  function find(agent_id: string): Copy | undefined {
    const known = copies.get(agent_id);
    if (known) return known;
    const [revision, json] = selectRecord.get(agent_id) ?? [];
    if (revision === undefined) return undefined;
    const record = parseValue('agent', agent_id, String(json));
    const copy: Copy = { record, revision: String(revision), slots: null };
    copies.set(agent_id, copy);
    return copy;
  }

  function read(agent_id: string): AgentStatus | undefined {
    const copy = find(agent_id);
    if (!copy) return undefined;
    copy.slots ??= Number(selectUsed.get(agent_id)?.[0]);
    const { record, revision, slots } = copy;
    const lastGrantMs = contacts.lastGrantMs(agent_id);
    return { record, revision, slots, lastGrantMs, contact: contacts.contactOf(agent_id) };
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
    readRecord: (agent_id) => find(agent_id)?.record,
    listIds: () => selectIds.all().map(([id]) => String(id)),
    holdsSlot: (agent_id, request_id) => findSlot.get(agent_id, request_id) !== undefined,
    forgetSlots(agent_id) {
      const copy = copies.get(agent_id);
      if (copy) copy.slots = null;
    },
    forget: (agent_id) => void copies.delete(agent_id),
    forgetAll() {
      copies = createBoundedMap(COPIES_MAX);
    },
  };
}

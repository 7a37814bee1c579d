/**
 * The arguments of the commit script: the batch with everything that the script must read, and the values,
 * which it stores as they are. So no number and no empty list of a value passes through the JSON of Lua,
 * which would change them.
 */
import { claimableFromMs } from '../../domain/delivery.ts';
import { writeJson } from '../../domain/json-text.ts';
import { isSettled, type TaskState } from '../../domain/task.ts';
import type { Batch, DueChange, Revision, SlotChange, Write } from '../../ports/store.ts';

type CommitOptions = {
  /** Names this process in its notifications. */
  readonly processName: string;
  /** Where notifications are published, without the prefix. */
  readonly channel: string;
  readonly revision: Revision;
  /** When the caller will have given up. */
  readonly notAfterMs: number;
};

/** Encodes a batch: its JSON, then its values. */
export function buildCommitArguments(batch: Batch, options: CommitOptions): readonly string[] {
  const values: string[] = [];
  const encoded = {
    ...options,
    writes: batch.writes.map((write) => encodeWrite(write, values)),
    slots: (batch.slots ?? []).map(encodeSlot),
    due: (batch.due ?? []).map(encodeDue),
    noneFree: batch.noneFree ?? [],
    noneWaiting: batch.noneWaiting ?? [],
    noContactAfter: batch.noContactAfter,
    openTasksMax: batch.atMost?.openTasks,
    agentsMax: batch.atMost?.agents,
    wait: batch.wait,
    event: batch.event,
    unreported: batch.unreported,
    agents: agentsOf(batch),
    topics: JSON.stringify(topicsOf(batch)),
  };
  return [JSON.stringify(encoded), ...values];
}

/** Adds the value to `values` and names it by its index there, which begins at 1 as in Lua. */
function encodeWrite(write: Write, values: string[]): object {
  const { kind, id, expect } = write;
  if (write.value === null) return { kind, id, expect };
  const valueIndex = values.push(writeJson(write.value));
  switch (write.kind) {
    case 'input':
      return { kind, id, expect, valueIndex };
    case 'key':
      return { kind, id, expect, valueIndex, keepMs: write.keepMs };
    case 'task': {
      const { createdMs, cli_session_id: session } = write.value;
      const assignees = JSON.stringify(write.value.assignees);
      const open = !isSettled(write.value);
      const claimable = encodeClaimable(write.value);
      return { kind, id, expect, valueIndex, open, createdMs, session, assignees, claimable };
    }
    case 'agent': {
      const { registration, limit, agent_tags } = write.value;
      const tags = JSON.stringify([...new Set(agent_tags)]);
      return { kind, id, expect, valueIndex, registration, limit, tags };
    }
  }
}

/** Where a claim finds the task; undefined when none may hand it out. */
function encodeClaimable(state: TaskState): object | undefined {
  const fromMs = claimableFromMs(state);
  if (fromMs === null) return undefined;
  return { agent_id: state.agent_id, fromMs, assignedMs: state.delivery?.assignedMs };
}

function encodeSlot(slot: SlotChange): object {
  const { op, agent_id, request_id } = slot;
  return op === 'grant'
    ? { op, agent_id, request_id, registration: slot.registration }
    : { op, agent_id, request_id };
}

function encodeDue({ ref, atMs, lease, unlessHeld, isNew }: DueChange): object {
  if (unlessHeld) return { ref, atMs, unlessHeld };
  if (isNew) return { ref, held: true, newLease: lease };
  if (atMs === 'held') return { ref, lease, held: true };
  return atMs === null ? { ref, lease, remove: true } : { ref, lease, atMs };
}

/** The agents whose free slots may change. */
function agentsOf(batch: Batch): readonly string[] {
  const written = batch.writes.flatMap(({ kind, id }) => (kind === 'agent' ? [id] : []));
  return [...new Set([...written, ...(batch.slots ?? []).map(({ agent_id }) => agent_id)])];
}

/** The agents for which a task is claimable at once. */
function claimersOf({ writes }: Batch): readonly string[] {
  return writes.flatMap(({ kind, value }) => {
    const isClaimable = kind === 'task' && value !== null && claimableFromMs(value) === 0;
    return isClaimable && value.agent_id !== null ? [value.agent_id] : [];
  });
}

/** What watchers and feed readers are notified about. */
function topicsOf(batch: Batch): readonly string[] {
  const tasks = batch.writes.flatMap(({ kind, id }) => (kind === 'task' ? [`task:${id}`] : []));
  const agents = [...agentsOf(batch), ...claimersOf(batch)].map((id) => `agent:${id}`);
  return [...new Set([...tasks, ...agents, ...(batch.event ? [`feed:${batch.event.session}`] : [])])];
}

/** Whether a batch adds a task or an agent. What it adds to is not full; what it ends or frees has room. */
export function isAdmission({ writes }: Batch): boolean {
  return writes.some(({ expect, value }) => expect === 'absent' && value !== null);
}

/**
 * The general form of a commit, for every batch: everything that the script must read as JSON, and the
 * values, which it stores as they are. So no number and no empty list of a value passes through the JSON of
 * Lua, which would change them.
 */
import { tookIndexOf } from '../../../domain/activity.ts';
import { claimableFromMs } from '../../../domain/delivery.ts';
import type { TaskOutcome } from '../../../domain/history-record.ts';
import { writeJson } from '../../../domain/json-text.ts';
import { isSettled, type TaskState } from '../../../domain/task.ts';
import { classifyTask, isOutcome, tagsWithoutAgent } from '../../../domain/task-counts.ts';
import type { Batch, DueChange, Revision, SlotChange, Write } from '../../../ports/store.ts';

/** The part that each commit has for itself. */
export type CommitName = {
  readonly revision: Revision;
  /** When the caller will have given up. */
  readonly notAfterMs: number;
};

/** The agents whose free slots may change, and what listeners are notified of. */
type Concerned = { readonly agents: readonly string[]; readonly topics: readonly string[] };

/** Encodes a batch: the number of its values, its JSON, then its values. */
export function encodeGeneralCommit(batch: Batch, name: CommitName, concerned: Concerned): readonly string[] {
  const values: string[] = [];
  const encoded = {
    ...name,
    ...concerned,
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
  };
  return ['general', String(values.length), JSON.stringify(encoded), ...values];
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
      const counted = encodeEnding(write.value);
      const noAgent = tagsWithoutAgent(write.value);
      const listed = { createdMs, session, assignees, claimable, noAgent };
      return { kind, id, expect, valueIndex, open, ...listed, ...counted };
    }
    case 'agent': {
      const { registration, limit, agent_tags } = write.value;
      const tags = JSON.stringify([...new Set(agent_tags)]);
      return { kind, id, expect, valueIndex, registration, limit, tags };
    }
  }
}

/**
 * How a settled task is counted: its outcome, and the index of how long it took; undefined while it is
 * open.
 */
export function encodeEnding(
  state: TaskState,
): { readonly outcome: TaskOutcome; readonly took: number } | undefined {
  const outcome = classifyTask(state);
  if (!isOutcome(outcome)) return undefined;
  return { outcome, took: tookIndexOf((state.settledMs ?? state.createdMs) - state.createdMs) };
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

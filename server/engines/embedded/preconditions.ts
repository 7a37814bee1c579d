/** The preconditions of a batch: whether it may be applied to the memory state as it is. Reads only. */
import { isSettled } from '../../domain/task.ts';
import type { Batch, CommitResult, SlotChange } from '../../ports/store.ts';
import type { Contacts } from '../contacts.ts';
import type { Generation } from './generation.ts';
import { findRevision, type Prefetched } from './lookup.ts';
import { estimateTaskBytes } from './memory/open-tasks.ts';

type Conflict = Extract<CommitResult, { ok: false }>;

/** The first precondition which fails; undefined when the batch may be applied. */
export function findConflict(
  generation: Generation,
  prefetched: Prefetched,
  batch: Batch,
  nowMs: number,
  { contacts, openBytesMax }: { readonly contacts: Contacts; readonly openBytesMax: number },
): Conflict | undefined {
  for (const write of batch.writes) {
    if (write.expect !== findRevision(generation, prefetched, write, nowMs)) {
      return { ok: false, conflict: 'revision' };
    }
  }
  for (const { ref, lease, isNew } of batch.due ?? []) {
    if (lease === undefined || isNew) continue;
    if (!generation.due.isHeld(ref, lease)) return { ok: false, conflict: 'lease' };
  }
  if (batch.slots && !areGrantable(generation, batch.slots)) return { ok: false, conflict: 'slot' };
  if (batch.noneWaiting && generation.indexes.hasAny('waiting-for', batch.noneWaiting)) {
    return { ok: false, conflict: 'waiting' };
  }
  const silent = batch.noContactAfter;
  if (silent && contacts.contactOf(silent.agent_id).contactMs > silent.atMs) {
    return { ok: false, conflict: 'contact' };
  }
  const agent_id = batch.noneFree && generation.agents.findFree(batch.noneFree);
  if (agent_id !== undefined) return { ok: false, conflict: 'free_agent', agent_id };
  const conflict = batch.atMost && findLimit(generation, batch, batch.atMost, openBytesMax);
  return conflict && { ok: false, conflict };
}

/**
 * The grants and releases of one batch count together, in order. A slot that is already granted needs no free
 * one, but the same registration.
 */
function areGrantable(generation: Generation, changes: readonly SlotChange[]): boolean {
  const { agents } = generation;
  const freeByAgent = new Map<string, number>();
  for (const change of changes) {
    const { op, agent_id, request_id } = change;
    const isGranted = agents.slots.has(agent_id, request_id);
    const freeSlots = freeByAgent.get(agent_id) ?? agents.freeSlots(agent_id);
    if (op === 'release') {
      if (isGranted) freeByAgent.set(agent_id, freeSlots + 1);
      continue;
    }
    if (agents.get(agent_id)?.record.registration !== change.registration) return false;
    if (isGranted) continue;
    if (freeSlots <= 0) return false;
    freeByAgent.set(agent_id, freeSlots - 1);
  }
  return true;
}

/** The limit that the batch exceeds. Only one that adds is refused: what is there may change and settle. */
function findLimit(
  generation: Generation,
  batch: Batch,
  atMost: NonNullable<Batch['atMost']>,
  openBytesMax: number,
): 'full' | 'memory' | undefined {
  const { openTasks = Number.POSITIVE_INFINITY, agents = Number.POSITIVE_INFINITY } = atMost;
  let addedTasks = 0;
  let addedBytes = 0;
  let addedAgents = 0;
  for (const write of batch.writes) {
    if (write.kind === 'task') {
      const isOpen = !isSettled(write.value);
      addedTasks += Number(isOpen) - Number(generation.tasks.has(write.id));
      const before = generation.tasks.get(write.id)?.state;
      if (isOpen) addedBytes += estimateTaskBytes(write.value) - (before ? estimateTaskBytes(before) : 0);
    }
    if (write.kind === 'agent') {
      addedAgents += Number(write.value !== null) - Number(generation.agents.get(write.id) !== undefined);
    }
  }
  const { tasks } = generation;
  const isFull =
    (addedTasks > 0 && tasks.count() + addedTasks > openTasks) ||
    (addedAgents > 0 && generation.agents.count() + addedAgents > agents);
  if (isFull) return 'full';
  return addedBytes > 0 && tasks.bytes() + addedBytes > openBytesMax ? 'memory' : undefined;
}

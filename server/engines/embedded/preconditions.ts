/** Whether a batch may be applied to the image as it is: conflict is an answer. Looks, changes nothing. */
import { isSettled } from '../../domain/task.ts';
import type { Batch, CommitResult, SlotChange } from '../../ports/store.ts';
import type { Generation } from './generation.ts';
import { type Prefetched, revisionOf } from './lookup.ts';

type Conflict = Extract<CommitResult, { ok: false }>;

/** The first reason against the batch; undefined: it may be applied. */
export function findConflict(
  generation: Generation,
  prefetched: Prefetched,
  batch: Batch,
  nowMs: number,
): Conflict | undefined {
  for (const write of batch.writes) {
    if (write.expect !== 'any' && write.expect !== revisionOf(generation, prefetched, write, nowMs)) {
      return { ok: false, conflict: 'revision' };
    }
  }
  for (const { ref, lease } of batch.due ?? []) {
    if (lease !== undefined && !generation.due.isHeld(ref, lease)) return { ok: false, conflict: 'lease' };
  }
  if (batch.slots && !areGrantable(generation, batch.slots)) return { ok: false, conflict: 'slot' };
  const agent_id = batch.noneFree && generation.agents.findFree(batch.noneFree);
  if (agent_id !== undefined) return { ok: false, conflict: 'free_agent', agent_id };
  if (batch.atMost && isOverLimit(generation, batch, batch.atMost)) return { ok: false, conflict: 'full' };
  return undefined;
}

/** Grants of one batch count together; a slot that is held already costs nothing. */
function areGrantable(generation: Generation, changes: readonly SlotChange[]): boolean {
  const freeSlots = new Map<string, number>();
  for (const change of changes) {
    const { op, agent_id, request_id } = change;
    const held = generation.agents.slots.has(agent_id, request_id);
    const room = freeSlots.get(agent_id) ?? generation.agents.freeSlots(agent_id);
    if (op === 'release') {
      if (held) freeSlots.set(agent_id, room + 1);
      continue;
    }
    if (held) continue;
    if (generation.agents.get(agent_id)?.record.registration !== change.registration || room <= 0)
      return false;
    freeSlots.set(agent_id, room - 1);
  }
  return true;
}

/** Only what the batch adds is refused: what is there already may still end or change. */
function isOverLimit(generation: Generation, batch: Batch, atMost: NonNullable<Batch['atMost']>): boolean {
  const { openTasks = Number.POSITIVE_INFINITY, agents = Number.POSITIVE_INFINITY } = atMost;
  let moreTasks = 0;
  let moreAgents = 0;
  for (const write of batch.writes) {
    if (write.kind === 'task') {
      const opens = write.value !== null && !isSettled(write.value);
      moreTasks += Number(opens) - Number(generation.tasks.has(write.id));
    }
    if (write.kind === 'agent') {
      moreAgents += Number(write.value !== null) - Number(generation.agents.get(write.id) !== undefined);
    }
  }
  return (
    (moreTasks > 0 && generation.tasks.size + moreTasks > openTasks) ||
    (moreAgents > 0 && generation.agents.count() + moreAgents > agents)
  );
}

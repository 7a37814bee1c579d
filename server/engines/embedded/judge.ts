/** Whether a batch may be applied to the image as it is: conflict is an answer. Looks, changes nothing. */
import { isSettled } from '../../domain/task.ts';
import type { Batch, Outcome, SlotChange } from '../../ports/store.ts';
import { type Brought, revisionOf } from './known.ts';
import type { Life } from './life.ts';

type Refusal = Extract<Outcome, { ok: false }>;

/** The first reason against the batch; undefined: it may be applied. */
export function judgeBatch(life: Life, brought: Brought, batch: Batch, nowMs: number): Refusal | undefined {
  for (const write of batch.writes) {
    if (write.expect !== 'any' && write.expect !== revisionOf(life, brought, write, nowMs)) {
      return { ok: false, conflict: 'revision' };
    }
  }
  for (const { ref, lease } of batch.due ?? []) {
    if (lease !== undefined && !life.due.isHeld(ref, lease)) return { ok: false, conflict: 'lease' };
  }
  if (batch.slots && !areGrantable(life, batch.slots)) return { ok: false, conflict: 'slot' };
  const agentId = batch.noneFree && life.agents.findFree(batch.noneFree);
  if (agentId !== undefined) return { ok: false, conflict: 'free_agent', agentId };
  if (batch.atMost && isFull(life, batch, batch.atMost)) return { ok: false, conflict: 'full' };
  return undefined;
}

/** Grants of one batch count together; a slot that is held already costs nothing. */
function areGrantable(life: Life, changes: readonly SlotChange[]): boolean {
  const rooms = new Map<string, number>();
  for (const change of changes) {
    const { op, agentId, request_id } = change;
    const held = life.agents.slots.has(agentId, request_id);
    const room = rooms.get(agentId) ?? life.agents.room(agentId);
    if (op === 'release') {
      if (held) rooms.set(agentId, room + 1);
      continue;
    }
    if (held) continue;
    if (life.agents.get(agentId)?.record.registration !== change.registration || room <= 0) return false;
    rooms.set(agentId, room - 1);
  }
  return true;
}

/** Only what the batch adds is refused: what is there already may still end or change. */
function isFull(life: Life, batch: Batch, atMost: NonNullable<Batch['atMost']>): boolean {
  const { openTasks = Number.POSITIVE_INFINITY, agents = Number.POSITIVE_INFINITY } = atMost;
  let moreTasks = 0;
  let moreAgents = 0;
  for (const write of batch.writes) {
    if (write.kind === 'task') {
      const opens = write.value !== null && !isSettled(write.value);
      moreTasks += Number(opens) - Number(life.tasks.has(write.id));
    }
    if (write.kind === 'agent') {
      moreAgents += Number(write.value !== null) - Number(life.agents.get(write.id) !== undefined);
    }
  }
  return (
    (moreTasks > 0 && life.tasks.size + moreTasks > openTasks) ||
    (moreAgents > 0 && life.agents.count() + moreAgents > agents)
  );
}

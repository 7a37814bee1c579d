/**
 * From a batch to what the commit script is told: a plan of everything it must look at, and the values, which it stores
 * and never reads. So no number and no empty list of a value passes through the JSON of a script.
 */
import { isSettled } from '../../domain/task.ts';
import type { Batch, DueChange, SlotChange, Write } from '../../ports/store.ts';

export type CommitArguments = { readonly plan: string; readonly values: readonly string[] };

/**
 * Writes a batch as the script reads it. `by` names the process in its hints; `notAfterMs` is that of the batch, or when
 * its caller will have given up.
 */
export function buildCommitArguments(
  batch: Batch,
  {
    by,
    revision,
    notAfterMs,
  }: { readonly by: string; readonly revision: string; readonly notAfterMs: number },
): CommitArguments {
  const values: string[] = [];
  const plan = {
    by,
    revision,
    notAfter: notAfterMs,
    writes: batch.writes.map((write) => planWrite(write, values)),
    slots: (batch.slots ?? []).map(planSlot),
    due: (batch.due ?? []).map(planDue),
    noneFree: batch.noneFree ?? [],
    tasksMax: batch.atMost?.openTasks,
    agentsMax: batch.atMost?.agents,
    wait: batch.wait && {
      op: batch.wait.op,
      task: batch.wait.request_id,
      tags: batch.wait.tags,
      since: batch.wait.sinceMs,
    },
    event: batch.event && { session: batch.event.session, task: batch.event.request_id },
    unreported: batch.unreported && { agent: batch.unreported.agent_id, task: batch.unreported.request_id },
    agents: agentsOf(batch),
    topics: JSON.stringify(topicsOf(batch)),
  };
  return { plan: JSON.stringify(plan), values };
}

function planWrite(write: Write, values: string[]): object {
  const { kind, id, expect } = write;
  if (write.value === null) return { kind, id, expect };
  const value = values.push(JSON.stringify(write.value));
  switch (write.kind) {
    case 'input':
      return { kind, id, expect, value };
    case 'key':
      return { kind, id, expect, value, keep: write.keepMs };
    case 'task': {
      const { createdMs: created, cli_session_id: session } = write.value;
      const assignees = JSON.stringify(write.value.assignees);
      return { kind, id, expect, value, open: !isSettled(write.value), created, session, assignees };
    }
    case 'agent': {
      const { registration, limit, agent_tags } = write.value;
      return { kind, id, expect, value, registration, limit, tags: JSON.stringify([...new Set(agent_tags)]) };
    }
  }
}

function planSlot(slot: SlotChange): object {
  const { op, agent_id: agent, request_id: task } = slot;
  return op === 'grant' ? { op, agent, task, registration: slot.registration } : { op, agent, task };
}

function planDue({ ref, atMs, lease, unlessHeld }: DueChange): object {
  if (unlessHeld) return { ref, at: atMs, unlessHeld };
  if (atMs === 'held') return { ref, lease, held: true };
  return atMs === null ? { ref, lease, remove: true } : { ref, lease, at: atMs };
}

/** The agents whose room may change. */
function agentsOf(batch: Batch): readonly string[] {
  const written = batch.writes.flatMap(({ kind, id }) => (kind === 'agent' ? [id] : []));
  return [...new Set([...written, ...(batch.slots ?? []).map(({ agent_id }) => agent_id)])];
}

/** What watchers and readers are hinted of. */
function topicsOf(batch: Batch): readonly string[] {
  const tasks = batch.writes.flatMap(({ kind, id }) => (kind === 'task' ? [`task:${id}`] : []));
  const agents = agentsOf(batch).map((id) => `agent:${id}`);
  return [...new Set([...tasks, ...agents, ...(batch.event ? [`feed:${batch.event.session}`] : [])])];
}

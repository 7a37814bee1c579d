/**
 * A batch as the commit script takes it, and what its sender must know of it: its size, whether it adds, and
 * what it notifies of.
 */
import { claimableFromMs } from '../../../domain/delivery.ts';
import { type Batch, isAdmission } from '../../../ports/store.ts';
import { encodeFlatCommit } from './flat-commit.ts';
import { type CommitName, encodeGeneralCommit } from './general-commit.ts';

export type EncodedCommit = {
  readonly args: readonly string[];
  /** Bytes of the arguments, in UTF-8. */
  readonly size: number;
  /** Whether it adds a task or an agent. */
  readonly isAdmission: boolean;
  /** Watchers and feed readers are notified of these. */
  readonly topics: readonly string[];
};

/** Encodes a batch: in its flat form where it fits, else in the general one. Tests compare the two forms. */
export function encodeCommit(batch: Batch, name: CommitName, isFlat = true): EncodedCommit {
  const topics = topicsOf(batch);
  const flat = isFlat ? encodeFlatCommit(batch, name) : undefined;
  const args = flat ?? encodeGeneralCommit(batch, name, { agents: agentsOf(batch), topics });
  const size = args.reduce((sum, arg) => sum + Buffer.byteLength(arg), 0);
  return { args, size, isAdmission: isAdmission(batch), topics };
}

/** The agents whose free slots may change. */
function agentsOf(batch: Batch): readonly string[] {
  const written = batch.writes.flatMap(({ kind, id }) => (kind === 'agent' ? [id] : []));
  return [...new Set([...written, ...(batch.slots ?? []).map(({ agent_id }) => agent_id)])];
}

/** The agents for which a task is claimable at once. */
function claimersOf({ writes }: Batch): readonly string[] {
  return writes.flatMap(({ kind, value }) => {
    const isClaimable = kind === 'task' && claimableFromMs(value) === 0;
    return isClaimable && value.agent_id !== null ? [value.agent_id] : [];
  });
}

function topicsOf(batch: Batch): readonly string[] {
  const tasks = batch.writes.flatMap(({ kind, id }) => (kind === 'task' ? [`task:${id}`] : []));
  const agents = [...agentsOf(batch), ...claimersOf(batch)].map((id) => `agent:${id}`);
  return [...new Set([...tasks, ...agents, ...(batch.event ? [`feed:${batch.event.session}`] : [])])];
}

/**
 * Which agent a task goes to: the order among candidates. Agents whose last push was not taken rank last.
 * Then these criteria decide, in this order: more shared tags, lower load ratio, longer since the last grant,
 * smaller id. For example, of two agents that share two tags, the agent with 1 of 4 slots taken comes before
 * the agent with 1 of 2.
 */
import type { AgentRecord, Contact } from './agent.ts';

export type Candidate = {
  readonly record: AgentRecord;
  readonly slots: number;
  readonly lastGrantMs: number;
  readonly lastPushUntaken: boolean;
  /** The contact as it was at the agent's last change. */
  readonly contact: Contact;
};

/** Whether all of the agent's pushes have failed since the last push that it took or was too busy for. */
export function isFailing({ contact }: Pick<Candidate, 'contact'>): boolean {
  return contact.unreachedSinceMs !== null;
}

export function isFree(candidate: Candidate): boolean {
  return candidate.slots < candidate.record.limit;
}

/** Orders two candidates that share equally many tags with the task: negative if the first is better. */
export function compareCandidates(a: Candidate, b: Candidate): number {
  return (
    Number(a.lastPushUntaken) - Number(b.lastPushUntaken) ||
    loadRatio(a) - loadRatio(b) ||
    a.lastGrantMs - b.lastGrantMs ||
    (a.record.agent_id < b.record.agent_id ? -1 : a.record.agent_id > b.record.agent_id ? 1 : 0)
  );
}

/** Orders two candidates by the tags that each shares with the task, then as `compareCandidates()` does. */
export function compareForTask(a: Candidate, sharedA: number, b: Candidate, sharedB: number): number {
  return (
    Number(a.lastPushUntaken) - Number(b.lastPushUntaken) || sharedB - sharedA || compareCandidates(a, b)
  );
}

function loadRatio(candidate: Candidate): number {
  return (candidate.record.external + candidate.slots) / candidate.record.max_concurrent;
}

/**
 * Which agent a task goes to: the order among candidates. Agents whose last push was not taken rank last.
 * Between others decide, in this order: more shared tags, lower load ratio, longer since the last grant,
 * smaller id. For example, of two agents that share two tags, one with 1 of 4 slots taken comes before one
 * with 1 of 2. The order is deterministic.
 */
import type { AgentRecord, Contact } from './agent.ts';

/** An agent as ranking sees it. */
export type Candidate = {
  readonly record: AgentRecord;
  readonly slots: number;
  readonly lastGrantMs: number;
  readonly lastPushUntaken: boolean;
  /** As it was when the agent changed last. */
  readonly contact: Contact;
};

/** Whether it does not take its pushes: they failed since the last one that it took or was too busy for. */
export function isFailing({ contact }: Pick<Candidate, 'contact'>): boolean {
  return contact.unreachedSinceMs !== null;
}

/** Whether the agent has a free slot. */
export function isFree(candidate: Candidate): boolean {
  return candidate.slots < candidate.record.limit;
}

/** Orders two candidates that share equally many tags with the task: negative when the first is better. */
export function compareCandidates(a: Candidate, b: Candidate): number {
  return (
    Number(a.lastPushUntaken) - Number(b.lastPushUntaken) ||
    loadRatio(a) - loadRatio(b) ||
    a.lastGrantMs - b.lastGrantMs ||
    (a.record.agent_id < b.record.agent_id ? -1 : a.record.agent_id > b.record.agent_id ? 1 : 0)
  );
}

/**
 * Orders two candidates for a task with which they share that many tags: negative when the first is better.
 */
export function compareForTask(a: Candidate, sharedA: number, b: Candidate, sharedB: number): number {
  return (
    Number(a.lastPushUntaken) - Number(b.lastPushUntaken) || sharedB - sharedA || compareCandidates(a, b)
  );
}

function loadRatio(candidate: Candidate): number {
  return (candidate.record.external + candidate.slots) / candidate.record.max_concurrent;
}

/**
 * Which agent a task goes to: the order among candidates, deterministic to the last (§1.3, §8).
 * Agents whose last push was not taken come last; then the most shared tags, the lowest load ratio, the least
 * recently assigned, the smaller id.
 */
import type { AgentRecord } from './agent.ts';

/** What ranking needs to know of an agent that may take one more. */
export type Candidate = {
  readonly record: AgentRecord;
  readonly slots: number;
  readonly lastGrantMs: number;
  readonly lastPushUntaken: boolean;
};

/** Whether the agent may take one more task. */
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

/** Orders two candidates for a task with which they share that many tags: negative when the first is better. */
export function compareForTask(a: Candidate, sharedA: number, b: Candidate, sharedB: number): number {
  return (
    Number(a.lastPushUntaken) - Number(b.lastPushUntaken) || sharedB - sharedA || compareCandidates(a, b)
  );
}

function loadRatio(candidate: Candidate): number {
  return (candidate.record.external + candidate.slots) / candidate.record.max_concurrent;
}

/** What a task's history is made of. Stored names are frozen. `history.ts` writes and reads it. */

/** The ways in which a task ends. */
export const OUTCOMES = ['success', 'failed', 'cancelled', 'timeout', 'no_agent', 'agent_lost'] as const;
/** How a task ended. */
export type TaskOutcome = (typeof OUTCOMES)[number];

/** What can happen to a task: the events of its history. The last one of a settled task is its outcome. */
export type HistoryEvent =
  | 'submitted'
  | 'waiting'
  | 'assigned'
  | 'moved'
  | 'claimed'
  | 'push_taken'
  | 'push_not_taken'
  | 'push_unknown'
  | 'acknowledged'
  | 'progress'
  | 'offered_again'
  | TaskOutcome;

/**
 * An entry as it is stored: the event, its time, the agent, what is said of it, how long a push took, how
 * many it stands for and the time of the last of them. What is missing at the end is null, null, null, 1 and
 * the first time.
 */
export type HistoryRecord = readonly [
  event: HistoryEvent,
  ms: number,
  agent_id?: string | null,
  what?: string | null,
  tookMs?: number | null,
  count?: number,
  lastMs?: number,
];

/** The entries of a task's history. Stored names are frozen. `history.ts` writes and reads them. */

/** The ways in which a task ends. */
export const OUTCOMES = ['success', 'failed', 'cancelled', 'timeout', 'no_agent', 'agent_lost'] as const;
/** How a task ended. */
export type TaskOutcome = (typeof OUTCOMES)[number];

/**
 * The events of a task's history: each thing that can happen to it. When it is settled, the last one is its
 * outcome.
 */
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
  | 'asked'
  | 'answered'
  | TaskOutcome;

/**
 * An entry as it is stored: the event, its time, the agent, what is said of it, how long a push took or a
 * lost agent had no contact, how many it stands for and the time of the last of them. If the end of an entry
 * is missing, it means null, null, null, 1 and the first time. For example,
 * `['progress', ms, 'a1', '40 %']` happened once.
 */
export type HistoryRecord = readonly [
  event: HistoryEvent,
  ms: number,
  agent_id?: string | null,
  what?: string | null,
  durationMs?: number | null,
  count?: number,
  lastMs?: number,
];

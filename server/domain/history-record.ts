/** The entries of a task's history. Stored names are frozen. `history.ts` writes and reads them. */

/** The outcomes of a task. */
export const OUTCOMES = ['success', 'failed', 'cancelled', 'timeout', 'no_agent', 'agent_lost'] as const;
export type TaskOutcome = (typeof OUTCOMES)[number];

/** The events of a task's history. The last event of a settled task is its outcome. */
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
 * An entry as it is stored. `what` is text for people, such as `40 %`. `durationMs` is how long a push took,
 * or how long a lost agent had no contact. An entry may stand for `count` equal events, the last at `lastMs`.
 * Missing items at the end mean null, null, null, 1 and `ms`: for example, `['progress', ms, 'a1', '40 %']`
 * happened once.
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

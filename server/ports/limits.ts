/**
 * The numbers that the gateway and every engine share, in one table, so that no two places can disagree. The
 * scripts that run in Redis get their numbers from here too.
 */

export const STORE_LIMITS = {
  /** A due entry that a dispatcher has taken is hidden from all other dispatchers for this long. */
  leaseMs: 1_500,
  /** The holder of a lease renews it this often. */
  renewLeaseEveryMs: 400,
  /** A task that settled without a report of its agent is listed for the agent for this long. */
  unreportedMs: 600_000,
  /** A longer pause in sweeping does not count as an agent's silence. */
  sweepGapMs: 5_000,
  /**
   * `readAgentChanges` remembers this many removed agents. A reader further behind reads all agents again.
   */
  removedAgentsMax: 10_000,
  /** `readEnded` returns at most this many tasks. */
  endedMax: 500,
  /** How many bytes one task's output may take. A piece counts with its JSON and `outputPieceBytes`. */
  outputBytesMax: 7 * 2 ** 19,
  outputPieceBytes: 64,
  /** How many more bytes questions, and the resets of new writers, may take: with them up to 4 MiB. */
  outputReserveBytes: 2 ** 19,
  /** This many replaced writers of an output are remembered, and may not begin again. */
  outputReplacedMax: 10,
  /**
   * Trimming of output begins at this share of the limit for all output together, so that writers rarely
   * wait.
   */
  outputFilledShareMax: 7 / 8,
  /** The bytes of one page of `readOutput`, whose first piece may be larger. */
  outputPageBytes: 256 * 2 ** 10,
  /** Output without another commit is written at most once in this time: a hundred fsyncs a second. */
  outputEveryMs: 10,
} as const;

/**
 * Of the tasks that were handed out before and may be handed out again, a claim looks at this many to find
 * the oldest.
 */
export const HANDED_OUT_MAX = 100;
/** One in this many taken due entries is from the latest. */
const LATEST_DUE_PART = 5;

/**
 * How many of `limit` taken due entries come from the latest; the others are the earliest. For example, with
 * 5,000 entries due and a limit of 50, the 40 earliest and the 10 latest are taken.
 */
export function countLatestDue(limit: number): number {
  return Math.floor(limit / LATEST_DUE_PART);
}

/**
 * The time budgets of one call, from the innermost outwards. Each budget must end before the next, so that a
 * caller gets its 503 within five seconds, and no commit is applied after that:
 *
 *   commitWithinMs < callWithinMs + callCheckMs <= storeWithinMs < responseWithinMs
 */
export const TIME_BUDGETS = {
  /** A commit that reaches the store later than this after the beginning of its call is not applied. */
  commitWithinMs: 4_000,
  /** All store calls and retries of one call together may take this long; then the caller gets a 503. */
  callWithinMs: 4_250,
  /** An overdue call is noticed after at most this long. */
  callCheckMs: 250,
  /** A store that has not replied for this long is out. */
  storeWithinMs: 4_500,
  /** A caller has its response or a 503 within this time. */
  responseWithinMs: 5_000,
} as const;

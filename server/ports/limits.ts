/**
 * The numbers that the gateway and every engine share: one table, so that no two places can disagree. The
 * scripts that run in Redis get those that they need from here too.
 */

/** The numbers of the store port. */
export const STORE_LIMITS = {
  /** When a dispatcher takes a due entry, every other one does not see it for this long. */
  leaseMs: 1_500,
  /** The holder of a lease renews it this often. */
  renewLeaseEveryMs: 400,
  /** A task that settled without its agent's report is listed for that agent for this long. */
  unreportedMs: 600_000,
  /** After a longer pause without a sweep, the pause does not count as an agent's silence. */
  sweepGapMs: 5_000,
  /** Removed agents that `readAgentChanges` remembers; a reader further behind reads all agents again. */
  removedAgentsMax: 10_000,
  /** Ended tasks that `readEnded` returns. */
  endedMax: 500,
  /** Bytes of text and data in one task's output; a piece counts its JSON and `outputPieceBytes`. */
  outputBytesMax: 7 * 2 ** 19,
  outputPieceBytes: 64,
  /** Bytes that questions, and the resets of new writers, may take beyond it: 4 MiB with them. */
  outputReserveBytes: 2 ** 19,
  /** Writers of one output that were replaced and do not begin again. */
  outputReplacedMax: 10,
  /** All output together is trimmed from this share of its limit on, so that writers rarely wait. */
  outputFilledShareMax: 7 / 8,
  /** Bytes of one page of `readOutput`; its first piece may have more. */
  outputPageBytes: 256 * 2 ** 10,
  /** Output alone is written at most once in this time: a hundred fsyncs a second. */
  outputEveryMs: 10,
} as const;

/** How many tasks a claim takes the oldest from, if they were handed out before and may be again. */
export const HANDED_OUT_MAX = 100;
/** One in this many of the taken due entries is one of the latest. */
const LATEST_DUE_PART = 5;

/**
 * How many of `limit` due entries are the latest; the others have been due for longest. For example, with
 * 5,000 entries due and a limit of 50, 40 are the earliest and 10 the latest.
 */
export function countLatestDue(limit: number): number {
  return Math.floor(limit / LATEST_DUE_PART);
}

/**
 * The time budgets of one call, from the innermost outwards. Each must be over before the next, so that a
 * caller has its 503 within five seconds and no commit is applied after its caller was answered:
 *
 *   commitWithinMs < callWithinMs + callCheckMs <= storeWithinMs < responseWithinMs
 */
export const TIME_BUDGETS = {
  /** A commit that reaches the store later than this after its call began is not applied. */
  commitWithinMs: 4_000,
  /** All store calls and retries of one call together; then the caller gets a 503. */
  callWithinMs: 4_250,
  /** An overdue call is noticed after at most this long. */
  callCheckMs: 250,
  /** If the store has not replied for this long, it is out. */
  storeWithinMs: 4_500,
  /** A caller has a response, or a 503, within this time. */
  responseWithinMs: 5_000,
} as const;

/**
 * Fair shares of the event loop for streams that have much to write. A long replay to a fast reader never
 * waits for anything by itself: its rows are in memory and its socket takes all of them. So a stream that has
 * used up its quota queues up; one stream of the queue continues in each turn of the event loop, and
 * everything else runs in between.
 */

/**
 * Events a stream writes before it queues up: about as much work as one call, so that a call waits only
 * briefly.
 */
const EVENTS_PER_TURN = 4;

/** What a stream has written lately. */
export type Quota = {
  /** The turn of the event loop in which it wrote last. */
  turn: number;
  /** Events it wrote in that turn. */
  events: number;
};

export type FairScheduler = {
  /**
   * Counts an event and returns whether the quota is used up. Each turn of the event loop brings a fresh
   * quota.
   */
  countEvent(quota: Quota): boolean;
  /** Resolves when the stream may continue, with a fresh quota; first come, first served. */
  waitForTurn(quota: Quota): Promise<void>;
};

/** Creates the scheduler with an empty queue. */
export function createFairScheduler(): FairScheduler {
  const queue: (() => void)[] = [];
  let turn = 0;
  let isCounting = false;

  function continueNext(): void {
    queue.shift()?.();
    if (queue.length > 0) setImmediate(continueNext);
  }

  /** Turns are counted only while a stream writes. */
  function countTurn(): void {
    if (isCounting) return;
    isCounting = true;
    setImmediate(() => {
      isCounting = false;
      turn += 1;
    });
  }

  return {
    countEvent(quota) {
      countTurn();
      quota.events = quota.turn === turn ? quota.events + 1 : 1;
      quota.turn = turn;
      return quota.events >= EVENTS_PER_TURN;
    },
    async waitForTurn(quota) {
      await new Promise<void>((resolve) => {
        queue.push(resolve);
        if (queue.length === 1) setImmediate(continueNext);
      });
      quota.events = 0;
    },
  };
}

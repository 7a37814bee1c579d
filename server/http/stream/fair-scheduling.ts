/**
 * Fair shares of the event loop for streams that have much to write. A long replay to a quick reader never waits for
 * anything by itself: its rows are there and its socket takes all of them. So whoever has written its share queues up,
 * one goes on at a time, and in between everybody else has a turn, whoever calls the gateway meanwhile.
 */

/** So many events a stream writes before it queues up: about as much work as a call, so that a call waits for little. */
const EVENTS_PER_TURN = 4;

/** What a stream has written lately. */
export type Quota = {
  /** The turn of the event loop it was in. */
  turn: number;
  events: number;
};

export type FairScheduler = {
  /** Counts an event; says whether the share is used up. Who waited for something since has a fresh one. */
  use(share: Quota): boolean;
  /** Resolves when it is one's turn again, with a fresh share; first come, first served. */
  next(share: Quota): Promise<void>;
};

/** Creates it with nobody waiting. */
export function createFairScheduler(): FairScheduler {
  const waiting: (() => void)[] = [];
  let turn = 0;
  let isCounting = false;

  function letOn(): void {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(letOn);
  }

  /** Turns are counted only while somebody writes. */
  function countTurn(): void {
    if (isCounting) return;
    isCounting = true;
    setImmediate(() => {
      isCounting = false;
      turn += 1;
    });
  }

  return {
    use(share) {
      countTurn();
      share.events = share.turn === turn ? share.events + 1 : 1;
      share.turn = turn;
      return share.events >= EVENTS_PER_TURN;
    },
    async next(share) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 1) setImmediate(letOn);
      });
      share.events = 0;
    },
  };
}

/**
 * Turns for work on large values, such as parsing, reading or rendering one of 4 MiB: it holds the event loop
 * for milliseconds, parsing for tens of them. Only one piece of such work runs at a time, and after each
 * everything else gets as much time as it took, so that any number of large calls takes no more than half of
 * the process. A call that has read its value keeps its turn for what ends it. Which caller is next:
 * `turns.ts`.
 *
 * Cost: one entry for each call that waits.
 */
import type { Caller } from '../ports/caller.ts';
import type { Clock } from '../ports/clock.ts';
import { GatewayError } from '../ports/gateway.ts';
import { createTurns } from './turns.ts';
import { yieldToEventLoop } from './waiting.ts';

/** Work that waits long for a store has not held the event loop as long. */
const PAUSE_MAX_MS = 100;
/** A longer piece counts as much; small work may have taken so much more time than large work. */
const SHORT_MS = 5;
/** Large work may have taken so much more time than small work, while none of that waited. */
const LARGE_AHEAD_MAX_MS = 100;
/** So many of the last long pieces are remembered by their callers. */
const LATELY_MAX = 8;
/** A read that has not begun by then is refused. */
const READ_WAITS_MAX_MS = 10_000;

/**
 * What comes before what: `end` is work that ends a call which holds a value already, `small` is work that
 * may turn out small, `large` is work that is known to be large.
 */
type Order = 'end' | 'small' | 'large';

export type LargeWork = {
  /**
   * Does the work when its turn has come, and settles as it does. Work must not wait for other work here.
   * Rejects with `busy` when the caller has left, and when a `read` has waited too long.
   */
  run<T>(turn: Turn, work: () => T | Promise<T>): Promise<T>;
};

/** Whom the work is for. `isRead`: it holds nothing yet, so it may be refused instead of waiting long. */
type Turn = { readonly caller: Caller; readonly order: Order; readonly isRead?: boolean };

/** A piece of work that waits. */
type Piece = Turn & { readonly sinceMs: number; run(): Promise<void>; refuse(error: Error): void };

/** Creates the turns, with nothing waiting. */
export function createLargeWork(clock: Clock): LargeWork {
  const end: Piece[] = [];
  /** The callers of the last long pieces: one that asks again and again is not taken for a new one. */
  const tookLately: Caller['key'][] = [];
  const small = createTurns<Piece>((key) => tookLately.includes(key));
  const large = createTurns<Piece>((key) => tookLately.includes(key));
  /**
   * By how much more time small work has taken. Both get the same time where both wait, so many of the one
   * kind hold up none of the other: what is small indeed waits for one large piece, not for one each.
   */
  let smallAheadMs = 0;
  let isRunning = false;

  function takeInTurn(): Piece | undefined {
    const [first, second] = smallAheadMs > 0 ? [large, small] : [small, large];
    return first.take() ?? second.take();
  }

  function countTime(order: Order, tookMs: number): void {
    if (order === 'small') smallAheadMs = Math.min(smallAheadMs + tookMs, SHORT_MS);
    if (order === 'large') smallAheadMs = Math.max(smallAheadMs - tookMs, -LARGE_AHEAD_MAX_MS);
  }

  /** The next piece that may begin; those that may not are refused. */
  function takeNext(): Piece | undefined {
    for (;;) {
      const piece = end.shift() ?? takeInTurn();
      const refusal = piece && findRefusal(piece, clock.monotonicMs());
      if (!refusal) return piece;
      piece.refuse(new GatewayError('busy', refusal));
    }
  }

  /** What ends the call whose piece has just run: it comes within a turn of the event loop. */
  function takeEndOf(caller: Caller): Piece | undefined {
    const index = end.findIndex((piece) => piece.caller.key === caller.key);
    return index < 0 ? undefined : end.splice(index, 1)[0];
  }

  async function runAll(): Promise<void> {
    isRunning = true;
    for (let piece = takeNext(); piece; piece = takeNext()) {
      const startedMs = clock.monotonicMs();
      await piece.run();
      await yieldToEventLoop();
      if (piece.order !== 'end') await takeEndOf(piece.caller)?.run();
      const tookMs = clock.monotonicMs() - startedMs;
      countTime(piece.order, tookMs);
      if (tookMs > SHORT_MS) tookLately.unshift(piece.caller.key);
      tookLately.length = Math.min(tookLately.length, LATELY_MAX);
      if (tookMs > 1) await clock.sleep(Math.min(tookMs, PAUSE_MAX_MS));
    }
    isRunning = false;
  }

  return {
    run: (turn, work) =>
      new Promise((resolve, reject) => {
        const piece: Piece = {
          ...turn,
          sinceMs: clock.monotonicMs(),
          async run() {
            try {
              resolve(await work());
            } catch (error) {
              reject(error);
            }
          },
          refuse: reject,
        };
        if (turn.order === 'end') end.push(piece);
        else (turn.order === 'small' ? small : large).add(turn.caller, piece);
        if (!isRunning) void runAll();
      }),
  };
}

function findRefusal({ caller, sinceMs, isRead }: Piece, nowMs: number): string | undefined {
  if (caller.isGone()) return 'The caller has left.';
  if (!isRead || nowMs - sinceMs < READ_WAITS_MAX_MS) return undefined;
  return 'Too many large values are being read right now. Send the request again after `Retry-After`.';
}

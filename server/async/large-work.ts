/**
 * A rotation for work on large values, such as parsing, reading or rendering one of 1 MiB: it holds the event
 * loop for milliseconds, parsing for tens of them. Each pass over a value is a piece of such work. Only one
 * piece runs at a time, and after each everything else gets as much time as it took, so that any number of
 * large calls takes no more than half of the process. A call that holds its value goes before those that do
 * not. Which caller is next: `rotation.ts`.
 *
 * Cost: one entry for each call that waits.
 */
import { isLargeValue } from '../domain/value-size.ts';
import type { Caller } from '../ports/caller.ts';
import type { Clock } from '../ports/clock.ts';
import { GatewayError } from '../ports/gateway.ts';
import { createRotation } from './rotation.ts';
import { yieldToEventLoop } from './waiting.ts';

/** Work that waits long for a store has not held the event loop as long. */
const PAUSE_MAX_MS = 100;
/** A piece that takes longer is long: its caller is remembered. */
const SHORT_MS = 5;
/**
 * Small and large work get the same time while both wait; these bound what is counted of a time when only one
 * of them did. For example, after a minute of large work alone, small work may take 100 ms before the next
 * large piece, and not a minute.
 */
const SMALL_AHEAD_MAX_MS = 5;
const LARGE_AHEAD_MAX_MS = 100;
/** This many of the last long pieces are remembered by their callers. */
const LATELY_MAX = 8;
/** When a read has not begun by then, it is refused. */
const READ_WAITS_MAX_MS = 10_000;

/**
 * The order of work. First `holding`: its call holds a value already. Then `small`, which may turn out small,
 * and `large`, which is known to be large: whichever of the two has taken less time.
 */
type Order = 'holding' | 'small' | 'large';

export type LargeWork = {
  /**
   * Does the work when its caller is next, and settles as it does. Work must not wait for other work here.
   * Rejects with `busy` when the caller has left, and when a `read` has waited too long.
   */
  run<T>(position: Position, work: () => T | Promise<T>): Promise<T>;
};

/** Whom the work is for. `isRead`: it holds nothing yet, so it may be refused instead of waiting long. */
type Position = { readonly caller: Caller; readonly order: Order; readonly isRead?: boolean };

/** A piece of work that waits. */
type Piece = Position & { readonly sinceMs: number; run(): Promise<void>; refuse(error: Error): void };

/** Creates the rotation, with nothing waiting. */
export function createLargeWork(clock: Clock): LargeWork {
  /** The callers of the last long pieces: one that asks again and again is not taken for a new one. */
  const tookLately: Caller['key'][] = [];
  const holding = createRotation<Piece>((key) => tookLately.includes(key));
  const small = createRotation<Piece>((key) => tookLately.includes(key));
  const large = createRotation<Piece>((key) => tookLately.includes(key));
  /**
   * By how much more time small work has taken. When both wait, both get the same time, so many of the one
   * kind hold up none of the other. For example, when 20 short pieces wait beside large ones, they wait for
   * one large piece together, not for one each.
   */
  let smallAheadMs = 0;
  let isRunning = false;

  function takeInRotation(): Piece | undefined {
    const [first, second] = smallAheadMs > 0 ? [large, small] : [small, large];
    return first.take() ?? second.take();
  }

  function countTime(order: Order, tookMs: number): void {
    if (order === 'small') smallAheadMs = Math.min(smallAheadMs + tookMs, SMALL_AHEAD_MAX_MS);
    if (order === 'large') smallAheadMs = Math.max(smallAheadMs - tookMs, -LARGE_AHEAD_MAX_MS);
  }

  /** The next piece that may begin; those that may not are refused. */
  function takeNext(): Piece | undefined {
    for (;;) {
      const piece = holding.take() ?? takeInRotation();
      const refusal = piece && findRefusal(piece, clock.monotonicMs());
      if (!refusal) return piece;
      piece.refuse(new GatewayError('busy', refusal));
    }
  }

  async function runAll(): Promise<void> {
    isRunning = true;
    for (let piece = takeNext(); piece; piece = takeNext()) {
      const startedMs = clock.monotonicMs();
      await piece.run();
      await yieldToEventLoop();
      // The call whose piece has just run goes on with it within a tick of the event loop.
      if (piece.order !== 'holding') await holding.takeOf(piece.caller.key)?.run();
      const tookMs = clock.monotonicMs() - startedMs;
      countTime(piece.order, tookMs);
      if (tookMs > SHORT_MS) tookLately.unshift(piece.caller.key);
      tookLately.length = Math.min(tookLately.length, LATELY_MAX);
      if (tookMs > 1) await clock.sleep(Math.min(tookMs, PAUSE_MAX_MS));
    }
    isRunning = false;
  }

  const queues = { holding, small, large };
  const run: LargeWork['run'] = (position, work) =>
    new Promise((resolve, reject) => {
      queues[position.order].add(position.caller, {
        ...position,
        sinceMs: clock.monotonicMs(),
        async run() {
          try {
            resolve(await work());
          } catch (error) {
            reject(error);
          }
        },
        refuse: reject,
      });
      if (!isRunning) void runAll();
    });

  return { run };
}

/**
 * Does a pass over a value that its caller holds: as a piece of the work if it is large. If not, it runs at
 * once and returns the value itself, so that a caller awaits only when it must.
 */
export function passOver<T>(
  work: LargeWork,
  caller: Caller,
  value: unknown,
  pass: (isLarge: boolean) => T,
): T | Promise<T> {
  return isLargeValue(value) ? work.run({ caller, order: 'holding' }, () => pass(true)) : pass(false);
}

function findRefusal({ caller, sinceMs, isRead }: Piece, nowMs: number): string | undefined {
  if (caller.isGone()) return 'The caller has left.';
  if (!isRead || nowMs - sinceMs < READ_WAITS_MAX_MS) return undefined;
  return 'Too many large values are being read right now. Send the request again after `Retry-After`.';
}

/**
 * Pieces of work that wait, by the caller they are done for, and which is next. The choice alternates between
 * the longest waiting caller and the one that came last, if it took nothing lately: so a single call behind
 * many others waits for about two pieces, and none waits for ever.
 *
 *   waited longest ──► c1  c2  c3  c4 ◄── came last     next: c1, c4, c2, c3; what has more waits behind c4
 *
 * Cost: one entry for each piece; choosing grows with the callers that wait.
 */
import type { Caller } from '../ports/caller.ts';

/** The pieces of one caller, in their order. */
type Waiting<P> = { readonly pieces: P[]; wasNext: boolean };

export type Rotation<P> = {
  add(caller: Caller, piece: P): void;
  /** Removes and returns the next piece; undefined when none waits. */
  take(): P | undefined;
  /** Removes and returns the first piece of this caller. */
  takeOf(key: Caller['key']): P | undefined;
};

/** Creates the rotation; nothing waits yet. `tookLately` says which callers took much lately. */
export function createRotation<P>(tookLately: (key: Caller['key']) => boolean = () => false): Rotation<P> {
  // In the order in which they began to wait.
  const callers = new Map<Caller['key'], Waiting<P>>();
  let isLastNext = false;

  function choose(): Caller['key'] | undefined {
    let chosen: Caller['key'] | undefined;
    for (const [key, { wasNext }] of callers) {
      if (chosen === undefined || (isLastNext && !wasNext && !tookLately(key))) chosen = key;
      if (!isLastNext) break;
    }
    isLastNext = !isLastNext;
    return chosen;
  }

  function takeOf(key: Caller['key']): P | undefined {
    const pieces = callers.get(key)?.pieces ?? [];
    const piece = pieces.shift();
    callers.delete(key);
    if (pieces.length > 0) callers.set(key, { pieces, wasNext: true });
    return piece;
  }

  return {
    add({ key }, piece) {
      const waiting = callers.get(key);
      if (waiting) waiting.pieces.push(piece);
      else callers.set(key, { pieces: [piece], wasNext: false });
    },
    take() {
      const key = choose();
      return key === undefined ? undefined : takeOf(key);
    },
    takeOf,
  };
}

/**
 * The random numbers and ids of a world. They follow from its seed alone: the same seed gives the same
 * numbers in the same order.
 */
import type { Ids } from '../ports/clock.ts';
import { createIds } from '../system/ids.ts';

export type SeededRandom = {
  /** A number in [0, 1). */
  random(): number;
  readonly ids: Ids;
  /** Creates a W3C trace context for a task that was submitted without one. */
  createTraceparent(): string;
};

export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;

  /** Mulberry32: 32 bits a step, with its full period from any seed. */
  function draw(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  function drawBytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => draw() & 0xff));
  }

  return {
    random: () => draw() / 2 ** 32,
    ids: createIds({
      bytes: drawBytes,
      next: (below) => ((draw() & 0xffff) * 2 ** 32 + draw()) % below,
    }),
    createTraceparent: () => `00-${drawBytes(16).toString('hex')}-${drawBytes(8).toString('hex')}-01`,
  };
}

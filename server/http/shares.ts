/**
 * How much of a pool each remote address holds: at most half, so that one address never takes all of it. An
 * address that says nothing about its caller (null) has no share of its own: only the pool bounds it.
 *
 * Costs one entry for each address that holds something.
 */
import { createAmounts } from '../async/amounts.ts';

export type Shares = {
  /** Whether the address may hold this much more. */
  fits(address: string | null, more: number): boolean;
  /** Adds to what the address holds; a negative amount returns it. */
  add(address: string | null, amount: number): void;
};

/** Creates the shares of a pool of this size, with nothing held. */
export function createShares(poolSize: number): Shares {
  const shareMax = Math.ceil(poolSize / 2);
  const held = createAmounts<string>();
  return {
    fits: (address, more) => address === null || held.of(address) + more <= shareMax,
    add(address, amount) {
      if (address !== null) held.add(address, amount);
    },
  };
}

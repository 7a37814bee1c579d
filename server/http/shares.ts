/**
 * How much of a pool each remote address holds: at most half, so that one address never takes all of it. An
 * address that says nothing about its caller (null) has no share of its own: only the pool bounds it.
 *
 * Costs one entry for each address that holds something.
 */

export type Shares = {
  /** Whether the address may hold this much more. */
  fits(address: string | null, more: number): boolean;
  /** Adds to what the address holds; a negative amount returns it. */
  add(address: string | null, amount: number): void;
};

/** Creates the shares of a pool of this size, with nothing held. */
export function createShares(poolSize: number): Shares {
  const shareMax = Math.ceil(poolSize / 2);
  const heldByAddress = new Map<string, number>();
  return {
    fits: (address, more) => address === null || (heldByAddress.get(address) ?? 0) + more <= shareMax,
    add(address, amount) {
      if (address === null || amount === 0) return;
      const held = (heldByAddress.get(address) ?? 0) + amount;
      if (held > 0) heldByAddress.set(address, held);
      else heldByAddress.delete(address);
    },
  };
}

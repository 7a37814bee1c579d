/** Amounts by key, such as the bytes that wait for each caller. A key at zero takes no memory. */
export function createAmounts<K>() {
  const amounts = new Map<K, number>();
  const of = (key: K): number => amounts.get(key) ?? 0;
  return {
    of,
    /** Adds the change to the amount of the key. A negative change reduces the amount. */
    add(key: K, change: number): void {
      const amount = of(key) + change;
      if (amount > 0) amounts.set(key, amount);
      else amounts.delete(key);
    },
  };
}

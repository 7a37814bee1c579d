/**
 * As much of `node:net` as a gateway in memory uses, for the simulator's bundle. Its secret is never the
 * public one, so that no name is compared.
 */

/** The family of an address. */
export function isIP(text: string): 0 | 4 | 6 {
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return 4;
  return /^[\da-f:]*:[\da-f:.]*$/i.test(text) ? 6 : 0;
}

/** An empty list. */
export class BlockList {
  addSubnet(): void {}
  addAddress(): void {}
  check(): boolean {
    return false;
  }
}

/** Times on the wire are seconds; the gateway counts in milliseconds. Pure. */

/** For example, 1,500 ms are 1.5 s. Null, which stands for no time, stays null. */
export function toSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000;
}

/** Times on the wire: seconds, of the milliseconds that the gateway counts in. Pure. */

/** For example, 1,500 ms are 1.5 s. Null, for a time that there is not, stays null. */
export function toSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000;
}

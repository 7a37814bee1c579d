/**
 * Ids of tasks: UUIDs of version 7, whose last 8 characters say when the task was submitted, to 16 s. People
 * copy the end of an id. A task with this end is found without an index, because it must have been submitted
 * in one of a few short windows.
 *
 *   bits 1-48           milliseconds since the epoch, never less than those of the previous id
 *   bits 53-64, 67-96   the order within a millisecond: 42 random bits, which grow by a random step of 1 to
 *                       2^32 for each next id
 *   bits 97-128         the window of the submission and 16 random bits, scrambled so that ends differ at a
 *                       glance
 *
 * The first id of a millisecond has 58 random bits, and each next id has 48 bits of chance: ids cannot be
 * guessed. The same window comes again after 12.4 days.
 */

/** Every `order` is below this number. */
export const ORDER_END = 2 ** 42;
/** For each next id of a millisecond, `order` grows by 1 and a random number below this. */
export const ORDER_STEP_END = 2 ** 32;
/** Every `tail` is below this number. */
export const TAIL_END = 2 ** 16;

const WINDOW_MS = 2 ** 14;
const WINDOWS = 2 ** 16;
const LOW_ORDER = 2 ** 30;
const SUFFIX_DIGITS = 8;
/**
 * A task of another replica may have been submitted later than the present time here, by at most this much.
 */
const AHEAD_MS = 2_000;

/** Times from `fromMs` (included) to `toMs` (excluded). */
export type TimeWindow = { readonly fromMs: number; readonly toMs: number };

type TaskIdParts = {
  /**
   * When the task is submitted, in whole milliseconds. The end of the id has the window of this time, because
   * listings have the task under it.
   */
  readonly submittedMs: number;
  /**
   * The time that the id begins with: `submittedMs`, or the later time of the previous id if the clock went
   * back.
   */
  readonly frontMs: number;
  /** Random for the first id of a millisecond; below `ORDER_END`. */
  readonly order: number;
  /** Random, below `TAIL_END`. */
  readonly tail: number;
};

export function mintTaskId({ submittedMs, frontMs, order, tail }: TaskIdParts): string {
  const time = toHex(frontMs, 12);
  const low = order % LOW_ORDER;
  const window = Math.floor(submittedMs / WINDOW_MS) % WINDOWS;
  const version = `7${toHex(Math.floor(order / LOW_ORDER), 3)}`;
  const variant = toHex(0x8000 + Math.floor(low / 2 ** 16), 4);
  const end = `${toHex(low % 2 ** 16, 4)}${toHex(scramble(((window << 16) | tail) >>> 0), SUFFIX_DIGITS)}`;
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}-${variant}-${end}`;
}

/**
 * The windows of time in which a task with such an end of its id may have been submitted, the latest first,
 * back to `keepMs` before now. Empty unless the text ends with 8 hexadecimal digits.
 */
export function windowsOf(suffix: string, nowMs: number, keepMs: number): readonly TimeWindow[] {
  const end = suffix.slice(-SUFFIX_DIGITS).toLowerCase();
  if (!/^[0-9a-f]{8}$/.test(end)) return [];
  const window = unscramble(Number.parseInt(end, 16)) >>> 16;
  const present = Math.floor((nowMs + AHEAD_MS) / WINDOW_MS);
  const found: TimeWindow[] = [];
  for (let number = present - ((present - window) & (WINDOWS - 1)); number >= 0; number -= WINDOWS) {
    const toMs = (number + 1) * WINDOW_MS;
    if (toMs <= nowMs - keepMs) break;
    found.push({ fromMs: number * WINDOW_MS, toMs });
  }
  return found;
}

function toHex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}

// `unscramble()` undoes each step of `scramble()`: the second factor of a pair is the inverse of the first.
const FACTORS = [
  [0x7feb352d, 0x1d69e2a5],
  [0x846ca68b, 0x43021123],
] as const;

function scramble(bits: number): number {
  let mixed = bits ^ (bits >>> 16);
  mixed = Math.imul(mixed, FACTORS[0][0]);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, FACTORS[1][0]);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function unscramble(mixed: number): number {
  let bits = mixed ^ (mixed >>> 16);
  bits = Math.imul(bits, FACTORS[1][1]);
  bits ^= (bits >>> 15) ^ (bits >>> 30);
  bits = Math.imul(bits, FACTORS[0][1]);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/**
 * Looks through the bytes of a large body before it is parsed: how deep it nests, how many keys it has, and
 * how many texts, arrays and objects. Parsing costs time and memory in those, up to 28 times the bytes; the
 * scan costs at most 7 ms for each MB, a tenth of that in long texts, and lets others run in between.
 *
 * It accepts any bytes: that a body is not JSON at all is found by the parser. It also finds whether a number
 * may be beyond the finite ones; only then must the parsed value be looked through, which for 100,000 keys
 * takes longer than parsing them.
 */
import { yieldToEventLoop } from '../../async/waiting.ts';
import type { FieldError } from '../problems.ts';
import { describeExcess, type JsonLimits, toPointer } from './json-limits.ts';

/** Bytes that are looked at in one turn: less than a millisecond. */
const SLICE_BYTES = 65_536;

/** What a byte outside of a text means; 0 for all others. */
const OPENS_TEXT = 1;
const OPENS_OBJECT = 2;
const OPENS_ARRAY = 3;
const CLOSES = 4;
const COMMA = 5;
const COLON = 6;
const EXPONENT = 7;
const BACKSLASH = 0x5c;
const QUOTE = 0x22;
const KINDS = new Uint8Array(256);
for (const [character, kind] of [
  ['"', OPENS_TEXT],
  ['{', OPENS_OBJECT],
  ['[', OPENS_ARRAY],
  ['}', CLOSES],
  [']', CLOSES],
  [',', COMMA],
  [':', COLON],
  ['e', EXPONENT],
  ['E', EXPONENT],
] as const) {
  KINDS[character.charCodeAt(0)] = kind;
}

/** So many bytes of a text are looked at one by one; then it is taken for a long one … */
const SHORT_TEXT_BYTES = 48;
/** … of which so many are searched at once for its end. */
const SEARCHED_BYTES = 4_096;
const NEAR_BYTES = 256;

/** Numbers with fewer digits and without an exponent are finite. */
const FINITE_DIGITS = 300;
const NINE = 0x39;

/** What a scan found. */
export type JsonScan = {
  /** The first limit that the body exceeds, if any. */
  readonly excess: FieldError | undefined;
  /** Whether a number has an exponent or so many digits that it may not be finite. */
  readonly mayBeInfinite: boolean;
};

/** Scans the bytes, slice by slice. */
export async function scanJson(bytes: Uint8Array, limits: JsonLimits): Promise<JsonScan> {
  const scan = new Scan(bytes, limits);
  for (let from = 0; from < bytes.length; from += SLICE_BYTES) {
    const excess = scan.read(Math.min(from + SLICE_BYTES, bytes.length));
    if (excess) return { excess, mayBeInfinite: scan.mayBeInfinite };
    await yieldToEventLoop();
  }
  return { excess: undefined, mayBeInfinite: scan.mayBeInfinite };
}

/**
 * The scan of a body, slice by slice. Of each level it remembers where the value being read stands: the
 * item's index in an array, or where its key begins and ends in an object, for the error's pointer.
 */
class Scan {
  readonly #bytes: Buffer;
  readonly #limits: JsonLimits;
  readonly #isArray: Uint8Array;
  readonly #index: Uint32Array;
  readonly #keyStart: Uint32Array;
  readonly #keyEnd: Uint32Array;
  #depth = 0;
  #keys = 0;
  #parts = 0;
  #next = 0;
  #isInText = false;
  #textStart = 0;
  #textEnd = 0;
  /** Behind the last byte that means something: a number lies between two of them. */
  #markEnd = 0;
  mayBeInfinite = false;

  constructor(bytes: Uint8Array, limits: JsonLimits) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#limits = limits;
    const levels = limits.depthMax + 1;
    this.#isArray = new Uint8Array(levels);
    this.#index = new Uint32Array(levels);
    this.#keyStart = new Uint32Array(levels);
    this.#keyEnd = new Uint32Array(levels);
  }

  /** Reads on up to this byte. */
  read(to: number): FieldError | undefined {
    const bytes = this.#bytes;
    let at = this.#next;
    let isInText = this.#isInText;
    let isLongFrom = at + SHORT_TEXT_BYTES;
    for (; at < to; at += 1) {
      const byte = bytes[at] ?? 0;
      if (isInText) {
        if (byte === BACKSLASH) at += 1;
        else if (byte === QUOTE) {
          isInText = false;
          this.#textEnd = at + 1;
          this.#markEnd = at + 1;
        } else if (at >= isLongFrom) {
          const next = this.#skipText(at, to);
          // A search that finds something near costs more than it saves: the next one waits.
          isLongFrom = next + (next - at < NEAR_BYTES ? SEARCHED_BYTES : 0);
          at = next - 1;
        }
        continue;
      }
      const kind = KINDS[byte] ?? 0;
      if (kind === 0) continue;
      isInText = kind === OPENS_TEXT;
      isLongFrom = at + SHORT_TEXT_BYTES;
      if (at - this.#markEnd > FINITE_DIGITS) this.mayBeInfinite = true;
      this.#markEnd = at + 1;
      const excess = this.#readMark(kind, at);
      if (excess) return excess;
    }
    // Behind a backslash at the end this is one byte into the next slice.
    this.#next = at;
    this.#isInText = isInText;
    return undefined;
  }

  /** Where the text goes on with a quote, a backslash, or bytes that were not searched. */
  #skipText(at: number, to: number): number {
    const searched = this.#bytes.subarray(at, Math.min(at + SEARCHED_BYTES, to));
    const quote = searched.indexOf(QUOTE);
    const plain = quote < 0 ? searched : searched.subarray(0, quote);
    const backslash = plain.indexOf(BACKSLASH);
    return at + (backslash < 0 ? plain.length : backslash);
  }

  #readMark(kind: number, at: number): FieldError | undefined {
    switch (kind) {
      case OPENS_TEXT:
        this.#textStart = at;
        return this.#countPart();
      case CLOSES:
        this.#depth = Math.max(0, this.#depth - 1);
        return undefined;
      case COMMA:
        this.#index[this.#depth] = (this.#index[this.#depth] ?? 0) + 1;
        return undefined;
      case COLON:
        return this.#countKey();
      case EXPONENT:
        // Behind a letter it belongs to `true` or `false`.
        if ((this.#bytes[at - 1] ?? 0) <= NINE) this.mayBeInfinite = true;
        return undefined;
      default:
        return this.#open(kind);
    }
  }

  #open(kind: number): FieldError | undefined {
    const { depthMax } = this.#limits;
    if (this.#depth === depthMax) {
      return { pointer: this.#locate(depthMax), detail: describeExcess.depth(depthMax) };
    }
    this.#depth += 1;
    this.#isArray[this.#depth] = kind === OPENS_ARRAY ? 1 : 0;
    this.#index[this.#depth] = 0;
    this.#keyStart[this.#depth] = 0;
    this.#keyEnd[this.#depth] = 0;
    return this.#countPart();
  }

  #countPart(): FieldError | undefined {
    const { partsMax } = this.#limits;
    this.#parts += 1;
    return this.#parts > partsMax ? { pointer: '', detail: describeExcess.parts(partsMax) } : undefined;
  }

  /** The text before a colon is a key; it was counted as a part. */
  #countKey(): FieldError | undefined {
    const { keysMax } = this.#limits;
    this.#parts -= 1;
    this.#keys += 1;
    this.#keyStart[this.#depth] = this.#textStart;
    this.#keyEnd[this.#depth] = this.#textEnd;
    if (this.#keys <= keysMax) return undefined;
    return { pointer: this.#locate(this.#depth - 1), detail: describeExcess.keys(keysMax) };
  }

  /** The pointer of the value that is being read at this level. */
  #locate(levels: number): string {
    return toPointer(
      Array.from({ length: Math.max(0, levels) }, (_, above) => {
        const level = above + 1;
        if (this.#isArray[level] === 1) return String(this.#index[level]);
        return readKey(this.#bytes.subarray(this.#keyStart[level], this.#keyEnd[level]));
      }),
    );
  }
}

/** The text of a key with its quotes; a broken one is returned as it stands. */
function readKey(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes);
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

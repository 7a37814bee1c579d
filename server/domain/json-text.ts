/**
 * Payloads and results are parsed when they arrive. If one is not short, it is kept as its text from then on:
 * stored, read, pushed and returned by copying the text, never parsed or rendered again. So it costs the
 * event loop as much as its bytes, whatever is in it. If the text is short, copying it costs more than
 * rendering it again: measured, both cost the same at 1,000 to 1,500 characters.
 */

/** From this length on a value is kept as its text. */
const TEXT_CHARS_MIN = 2_048;

/** Whether a value with this text is kept as the text. */
export function isKeptAsText(text: string): boolean {
  return text.length >= TEXT_CHARS_MIN;
}

/** A JSON object as its text. It renders as this text also where `JSON.stringify` does not know it. */
export class JsonText {
  /** Its keys are in the text alone. */
  readonly [key: string]: unknown;
  readonly text: string;
  #byteLength = -1;
  constructor(text: string) {
    this.text = text;
  }
  /** Its bytes in UTF-8; a long text is looked through once. */
  get byteLength(): number {
    if (this.#byteLength < 0) this.#byteLength = Buffer.byteLength(this.text);
    return this.#byteLength;
  }
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/**
 * As `JSON.stringify`. When a field is a `JsonText`, its text is copied: once, together with the texts before
 * and after the value.
 */
export function writeJson(value: object, before = '', after = ''): string {
  if (!hasTextField(value)) return `${before}${JSON.stringify(value)}${after}`;
  return [before, ...writeParts(value).map(textOf), after].join('');
}

/** The same in UTF-8. No large text is joined with another, and its bytes are written once. */
export function renderJson(value: object): Buffer {
  if (!hasTextField(value)) return Buffer.from(JSON.stringify(value));
  const parts = writeParts(value);
  const bytes = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + countBytes(part), 0));
  let at = 0;
  for (const part of parts) at += bytes.write(textOf(part), at);
  return bytes;
}

/** Whether one of the value's own fields is a `JsonText`. */
export function hasTextField(value: object): boolean {
  return Object.values(value).some((field) => field instanceof JsonText);
}

type Part = string | JsonText;

function textOf(part: Part): string {
  return typeof part === 'string' ? part : part.text;
}

function countBytes(part: Part): number {
  return typeof part === 'string' ? Buffer.byteLength(part) : part.byteLength;
}

/** The texts of which the JSON of a value consists when one of its fields is a `JsonText`. */
function writeParts(value: object): readonly Part[] {
  const parts: Part[] = [];
  let between: [string, unknown][] = [];
  const writeBetween = (): void => {
    const fields = JSON.stringify(Object.fromEntries(between)).slice(1, -1);
    if (fields !== '') parts.push(parts.length > 0 ? ',' : '{', fields);
    between = [];
  };
  for (const [key, field] of Object.entries(value)) {
    if (!(field instanceof JsonText)) {
      between.push([key, field]);
      continue;
    }
    writeBetween();
    parts.push(`${parts.length > 0 ? ',' : '{'}${JSON.stringify(key)}:`, field);
  }
  writeBetween();
  return [...parts, '}'];
}

/**
 * The fields of stored values that may be kept as text, each with the field behind it (in a submission, for
 * example, `payload`).
 */
const TEXT_FIELDS = [
  ['payload', 'cli_session_id'],
  ['result', 'error_info'],
] as const;

/** Parses what the gateway has stored; the field that makes a text long stays a `JsonText`. */
export function parseStored(text: string): unknown {
  if (!isKeptAsText(text)) return JSON.parse(text);
  for (const [key, next] of TEXT_FIELDS) {
    const parsed = parseAround(text, key, next);
    if (parsed !== undefined) return parsed;
  }
  return JSON.parse(text);
}

/**
 * Parses the text without the value of this key; undefined unless it is a field of the stored value itself,
 * or of the `v` of its envelope. A quote within a JSON string is escaped, so a text that looks like a key is
 * one. Before the key only the brackets of these two are open, and behind its value the rest must close just
 * these: so neither can be inside another field, such as the answer of a client.
 */
function parseAround(text: string, key: string, next: string): unknown {
  const start = `,"${key}":`;
  const from = text.indexOf(start) + start.length;
  const to = text.lastIndexOf(`,"${next}":`);
  if (from < start.length || text[from] !== '{' || to <= from) return undefined;
  const before = `${text.slice(0, from)}null`;
  const isInEnvelope = parseOrUndefined(`${before}}}`) !== undefined;
  if (!isInEnvelope && parseOrUndefined(`${before}}`) === undefined) return undefined;
  const parsed = parseOrUndefined(before + text.slice(to)) as { v?: unknown } | undefined;
  const holder = isInEnvelope ? parsed?.v : parsed;
  if (typeof holder !== 'object' || holder === null) return undefined;
  Object.assign(holder, { [key]: new JsonText(text.slice(from, to)) });
  return parsed;
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

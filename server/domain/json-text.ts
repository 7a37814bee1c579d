/**
 * JSON values that are kept as their text. Payloads and results are parsed when they arrive. From then on a
 * value that is not short is stored, read, pushed and returned by copying its text, and never parsed or
 * rendered again. So the cost depends on its bytes alone. A short value is rendered again, which is then
 * cheaper: measured, both ways cost the same at 1,000 to 1,500 characters.
 */

/** A value whose JSON has at least this length is kept as its text. */
const TEXT_CHARS_MIN = 2_048;

export function isKeptAsText(text: string): boolean {
  return text.length >= TEXT_CHARS_MIN;
}

/** A JSON object kept as its text. `JSON.stringify` renders it correctly too, by parsing the text. */
export class JsonText {
  /** The keys of the object are in the text alone. */
  readonly [key: string]: unknown;
  readonly text: string;
  #byteLength = -1;
  constructor(text: string) {
    this.text = text;
  }
  /** The bytes of the text in UTF-8, counted once. */
  get byteLength(): number {
    if (this.#byteLength < 0) this.#byteLength = Buffer.byteLength(this.text);
    return this.#byteLength;
  }
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/**
 * Renders as `JSON.stringify` does, between two texts. The text of a `JsonText` field is copied only once.
 */
export function writeJson(value: object, before = '', after = ''): string {
  if (!hasTextField(value)) return `${before}${JSON.stringify(value)}${after}`;
  return [before, ...writeParts(value).map(textOf), after].join('');
}

/**
 * Renders a value in UTF-8. The bytes of a large text are written once, without joining it to other texts
 * before.
 */
export function renderJson(value: object): Buffer {
  if (!hasTextField(value)) return Buffer.from(JSON.stringify(value));
  const parts = writeParts(value);
  const bytes = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + countBytes(part), 0));
  let at = 0;
  for (const part of parts) at += bytes.write(textOf(part), at);
  return bytes;
}

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

/** The parts of a value's JSON, in order; each `JsonText` field is a part of its own. */
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
 * The fields of stored values that may be kept as text, each with the next field in the stored JSON: for
 * example, `payload` of a submission.
 */
const TEXT_FIELDS = [
  ['payload', 'cli_session_id'],
  ['result', 'error_info'],
] as const;

/**
 * Parses what the gateway has stored. In a long text, a field of `TEXT_FIELDS` becomes a `JsonText` unparsed.
 */
export function parseStored(text: string): unknown {
  if (!isKeptAsText(text)) return JSON.parse(text);
  for (const [key, next] of TEXT_FIELDS) {
    const parsed = parseAround(text, key, next);
    if (parsed !== undefined) return parsed;
  }
  return JSON.parse(text);
}

/**
 * Parses the text without the value of this key. Returns undefined unless the key is a field of the stored
 * value itself, or of `v` in its envelope. A quote within a JSON string is escaped, so what looks like a key
 * is a key. Only the brackets of the stored value and its envelope are open before the key, and the text
 * after the value must close just these. So the key cannot be inside another field, such as the answer of a
 * client.
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

/**
 * How a check ends, unless it passes. A finding is the subject's fault. `NotScored` says why the kit can say
 * nothing. Any other error is a fault of the kit itself, which counts neither for nor against the subject.
 */

/**
 * The subject does not do what the requirement asks for; the message says what it did instead. Its `cause` is
 * `wait` if something did not come in time, or the call that was refused.
 */
export class Finding extends Error {
  override readonly name = 'Finding';
}

/** The check cannot be made in this run; the message says what it would need. */
export class NotScored extends Error {
  override readonly name = 'NotScored';
}

/** Throws a finding unless the condition holds. */
export function requireThat(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Finding(message);
}

/** Throws a finding unless both are the same JSON, whatever the order of their keys. */
export function requireEqual(seen: unknown, expected: unknown, what: string): void {
  requireThat(
    isEqual(seen, expected),
    `${what} is ${printValue(seen)}, and must be ${printValue(expected)}.`,
  );
}

/** Prints a value for a message, and cuts it if it is long. */
export function printValue(value: unknown): string {
  const text = value === undefined ? 'absent' : JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

export type Fields = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the objects of a list. */
export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/** Whether both are the same JSON, whatever the order of their keys. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
  if (!isFields(a) || !isFields(b)) return Object.is(a, b);
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && isEqual(a[key], b[key]));
}

/** Whether bytes are a JSON object, with or without a byte-order mark. */
export function isJsonObject(bytes: Uint8Array): boolean {
  return succeeds(() => isFields(JSON.parse(new TextDecoder().decode(bytes))));
}

/** Whether bytes are UTF-8. */
export function isUtf8(bytes: Uint8Array): boolean {
  return succeeds(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes) !== undefined);
}

function succeeds(holds: () => boolean): boolean {
  try {
    return holds();
  } catch {
    return false;
  }
}

/**
 * Texts of whatever was thrown: for `error_info`, and with its stack for the person who runs the agent. None
 * of these functions throws, although a value without a prototype, a proxy or a getter may throw when it is
 * looked at.
 */

const CAUSES_MAX = 4;
const STACK_CHARS_MAX = 8_000;
/** Control characters except the line break and the tab, and characters that set the direction of text. */
const OBEYED = /(?![\n\t])\p{Control}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Returns the message of a plain error, otherwise what `String` makes of it. */
export function readText(thrown: unknown): string {
  const text = attempt(() =>
    thrown instanceof Error && thrown.name === 'Error' ? thrown.message : String(thrown),
  );
  return typeof text === 'string' ? text : 'something was thrown that has no text';
}

/** Returns the stacks of an error and its causes; of anything else its text. */
export function readStack(thrown: unknown): string {
  const parts: string[] = [];
  let one = thrown;
  for (let count = 0; count <= CAUSES_MAX && one !== undefined; count += 1) {
    const current = one;
    const text = attempt(() => (current instanceof Error ? current.stack : undefined));
    parts.push(`${count === 0 ? '' : 'caused by '}${typeof text === 'string' ? text : readText(current)}`);
    one = attempt(() => (current instanceof Error ? current.cause : undefined));
  }
  return parts.join('\n').slice(0, STACK_CHARS_MAX);
}

/** Escapes what a terminal obeys (`\u001b`), and keeps line breaks and tabs. */
export function escapeControls(text: string): string {
  return text.replaceAll(OBEYED, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

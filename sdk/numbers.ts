/** Finds numbers of a JSON text that JavaScript would change, because it keeps each as a double. */

const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[-+.eE\d]*/g;

/**
 * Returns the first number of a JSON text that JavaScript would change: an integer that loses digits, such as
 * `653247040368672768`, or a number that is too large. Undefined if there is none. A fraction may be rounded,
 * as everywhere, and `1.0` may become `1`. Tell people to send such a number as a text.
 */
export function findChangedNumber(json: string): string | undefined {
  for (const [token] of json.matchAll(STRING_OR_NUMBER)) if (!isKept(token)) return token;
  return undefined;
}

function isKept(token: string): boolean {
  if (/[".eE]/.test(token)) return token[0] === '"' || Number.isFinite(Number(token));
  const digits = token.replace(/^-?0*(?=\d)/, '');
  return String(Number(digits)) === digits;
}

/** Reads JSON without changing it: a number that JavaScript can't hold is refused rather than rounded. */

const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** The value of a JSON text. Throws an error whose message says what is wrong, on one line. */
export function parseJson(text: string): unknown {
  const value = readValue(text);
  for (const [token] of text.matchAll(TEXT_OR_NUMBER)) {
    if (!token.startsWith('"') && !isExact(token)) {
      throw new Error(`the number ${token.slice(0, 40)} would be changed: give it as a text, in quotes`);
    }
  }
  return value;
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error((error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, ' '));
  }
}

/** Whole numbers keep all their digits; fractions are rounded everywhere, and must only not overflow. */
function isExact(token: string): boolean {
  const number = Number(token);
  if (!Number.isFinite(number)) return false;
  return !/^-?\d+$/.test(token) || BigInt(token) === BigInt(number);
}

/**
 * Takes secrets out of whatever is about to be told. It finds a secret as it is, percent-encoded (any of its
 * characters, any number of times) and escaped as in JSON inside of JSON.
 */

/** What stands where a secret stood. */
export const REDACTED = '[secret]';

/** What else is done to a text; `key` is the name it stands under, empty for a name itself. */
export type Clean = (text: string, key: string) => string;

export type Redactor = {
  /** The text without secrets. */
  redactText(text: string): string;
  /**
   * A copy of plain data without secrets: in strings and keys, and a number that is a secret. Texts go through `clean`
   * as well.
   */
  redactData(value: unknown, clean?: Clean): unknown;
  /** Whether a text holds a secret in any of these forms. */
  holdsSecret(text: string): boolean;
};

/** Creates the redactor. Empty secrets are passed over. */
export function createRedactor(secrets: readonly string[]): Redactor {
  const longestFirst = [...new Set(secrets)].filter((one) => one !== '').sort((a, b) => b.length - a.length);
  const source = longestFirst.map((secret) => [...secret].map(matchChar).join('')).join('|');
  const first = source === '' ? null : new RegExp(source, 'u');
  const all = source === '' ? null : new RegExp(source, 'gu');

  const redactText = (text: string): string => (all ? text.replace(all, REDACTED) : text);

  function redactData(value: unknown, clean: Clean, key: string): unknown {
    if (typeof value === 'string') return clean(redactText(value), key);
    if (typeof value === 'number') return longestFirst.includes(String(value)) ? REDACTED : value;
    if (Array.isArray(value)) return value.map((one) => redactData(one, clean, ''));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [clean(redactText(name), ''), redactData(one, clean, name)]),
    );
  }

  return {
    redactText,
    redactData: (value, clean = keep) => redactData(value, clean, ''),
    holdsSecret: (text) => first?.test(text) ?? false,
  };
}

const keep: Clean = (text) => text;

/** One character in all its forms. */
function matchChar(char: string): string {
  const encoded = [...Buffer.from(char, 'utf8')]
    .map((byte) => `%(?:25)*${[...byte.toString(16).padStart(2, '0')].map(matchHexDigit).join('')}`)
    .join('');
  return `(?:${matchLiteral(char)}|${encoded})`;
}

function matchLiteral(char: string): string {
  if (char === '\\') return '\\\\+';
  // Letters and digits are never escaped; anything else may stand behind backslashes.
  return /[\p{L}\p{N}]/u.test(char) ? char : `\\\\*${/[\^$.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char}`;
}

function matchHexDigit(digit: string): string {
  return /[a-f]/.test(digit) ? `[${digit}${digit.toUpperCase()}]` : digit;
}

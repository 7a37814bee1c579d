/**
 * Takes secrets out of whatever is about to be told. It finds a secret as it is, percent-encoded (any of its
 * characters, any number of times) and escaped as in JSON inside of JSON. To find the latter two it folds the text:
 * what is encoded is decoded, backslashes are left out, and each character remembers where it stood. That takes a few
 * passes, whatever the text; a pattern that allows for all spellings could take for ever.
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

/** Creates the redactor. Secrets are ASCII (others are found as they are); empty ones are passed over. */
export function createRedactor(secrets: readonly string[]): Redactor {
  const plain = [...new Set(secrets)].filter((one) => one !== '');
  const folded = [...new Set(plain.map((secret) => fold(secret).text))].filter((one) => one !== '');

  /** Where secrets stand, in no order, overlapping where they do. */
  function findSecrets(text: string): readonly Span[] {
    const found = plain.flatMap((secret) => findAll(text, secret));
    if (!/[%\\]/.test(text)) return found;
    const folding = fold(text);
    const spelled = folded.flatMap((secret) => findAll(folding.text, secret));
    return [...found, ...spelled.map((span) => unfold(folding, span))];
  }

  function redactText(text: string): string {
    const spans = findSecrets(text).toSorted((a, b) => a.start - b.start);
    let told = '';
    let end = 0;
    for (const span of spans) {
      if (span.start >= end) told += text.slice(end, span.start) + REDACTED;
      end = Math.max(end, span.end);
    }
    return told + text.slice(end);
  }

  function redactData(value: unknown, clean: Clean, key: string): unknown {
    if (typeof value === 'string') return clean(redactText(value), key);
    if (typeof value === 'number') return plain.includes(String(value)) ? REDACTED : value;
    if (Array.isArray(value)) return value.map((one) => redactData(one, clean, ''));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [clean(redactText(name), ''), redactData(one, clean, name)]),
    );
  }

  return {
    redactText,
    redactData: (value, clean = keep) => redactData(value, clean, ''),
    holdsSecret: (text) => findSecrets(text).length > 0,
  };
}

const keep: Clean = (text) => text;

/** From the first character to behind the last. */
type Span = { readonly start: number; readonly end: number };

/** A text without its encodings; for each character where it stood. */
type Folding = { readonly text: string; readonly spans: readonly Span[] };

function findAll(text: string, wanted: string): readonly Span[] {
  const found: Span[] = [];
  for (let start = text.indexOf(wanted); start >= 0; start = text.indexOf(wanted, start + wanted.length)) {
    found.push({ start, end: start + wanted.length });
  }
  return found;
}

/** What is encoded more often than this inside of what is encoded stays so. */
const FOLDS_MAX = 8;

/** Folds until nothing is left to decode: a secret may itself look encoded. */
function fold(text: string): Folding {
  let folding: Folding = {
    text,
    spans: Array.from({ length: text.length }, (_, start) => ({ start, end: start + 1 })),
  };
  for (let count = 0; count < FOLDS_MAX && /%[0-9a-f]{2}|\\/i.test(folding.text); count += 1) {
    folding = foldOnce(folding);
  }
  return folding;
}

function foldOnce({ text, spans }: Folding): Folding {
  const chars: string[] = [];
  const kept: Span[] = [];
  let first = 0;
  let place = 0;
  /** A backslash goes with the character it stands before. */
  const take = (char: string, length: number): void => {
    place += length;
    if (char === '\\') return;
    chars.push(char);
    kept.push({ start: spans[first]?.start ?? 0, end: spans[place - 1]?.end ?? 0 });
    first = place;
  };
  for (const { index, 0: spelling, 1: hex = '' } of text.matchAll(/%(?:25)*([0-9a-f]{2})/gi)) {
    while (place < index) take(text.charAt(place), 1);
    take(String.fromCharCode(Number.parseInt(hex, 16)), spelling.length);
  }
  while (place < text.length) take(text.charAt(place), 1);
  return { text: chars.join(''), spans: kept };
}

/** Where a span of the folded text stands in the text. */
function unfold({ spans }: Folding, { start, end }: Span): Span {
  return { start: spans[start]?.start ?? 0, end: spans[end - 1]?.end ?? 0 };
}

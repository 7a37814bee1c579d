/**
 * Removes secrets from texts and data before they are written. It finds a secret as it is, percent-encoded
 * (any of its characters, any number of times), and escaped in JSON inside JSON. A short secret is found only
 * where it stands alone. To find encoded secrets it decodes the text: it decodes percent-encoded characters
 * and drops backslashes, and each character keeps its span in the original text. That takes a few passes over
 * any text; one regular expression for all encodings could take exponential time.
 */

export const REDACTED = '[secret]';

/**
 * Shorter secrets are removed only where they stand alone. Words contain them by coincidence, so no line
 * would stay readable.
 */
export const INSIDE_WORDS_CHARS_MIN = 8;

/** A further change to every text. `key` is the key of the text; it is empty for keys and array items. */
type TextFilter = (text: string, key: string) => string;

export type Redactor = {
  /** Returns the text without secrets. */
  redactText(text: string): string;
  /**
   * Copies plain data without secrets, in strings, keys and numbers: if a secret is `12345678`, the number is
   * removed too. Every text goes through `filter` as well.
   */
  redactData(value: unknown, filter?: TextFilter): unknown;
  /** Whether a text contains a secret in any of these forms. */
  containsSecret(text: string): boolean;
};

/** Creates the redactor. A secret that is not ASCII is found only as it is. Empty secrets are ignored. */
export function createRedactor(secrets: readonly string[]): Redactor {
  const plain = [...new Set(secrets)].filter((secret) => secret !== '');
  const isShort = (secret: string): boolean => secret.length < INSIDE_WORDS_CHARS_MIN;
  const wanted = plain.map((secret) => ({ text: secret, isShort: isShort(secret) }));
  const decoded = plain
    .map((secret) => ({ text: decode(secret).text, isShort: isShort(secret) }))
    .filter(({ text }) => text !== '');

  /** The spans of all secrets in the text, unsorted. They may overlap. */
  function findSecrets(text: string): readonly Span[] {
    const found = wanted.flatMap((secret) => findSecret(text, secret));
    if (!/[%\\]/.test(text)) return found;
    const decodedText = decode(text);
    const encoded = decoded.flatMap((secret) => findSecret(decodedText.text, secret));
    return [...found, ...encoded.map((span) => mapToOriginal(decodedText, span))];
  }

  function redactText(text: string): string {
    const spans = findSecrets(text).toSorted((a, b) => a.start - b.start);
    let redacted = '';
    let end = 0;
    for (const span of spans) {
      if (span.start >= end) redacted += text.slice(end, span.start) + REDACTED;
      end = Math.max(end, span.end);
    }
    return redacted + text.slice(end);
  }

  function redactData(value: unknown, filter: TextFilter, key: string): unknown {
    if (typeof value === 'string') return filter(redactText(value), key);
    if (typeof value === 'number') return plain.includes(String(value)) ? REDACTED : value;
    if (Array.isArray(value)) return value.map((item) => redactData(item, filter, ''));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        filter(redactText(name), ''),
        redactData(item, filter, name),
      ]),
    );
  }

  return {
    redactText,
    redactData: (value, filter = keepText) => redactData(value, filter, ''),
    containsSecret: (text) => findSecrets(text).length > 0,
  };
}

const keepText: TextFilter = (text) => text;

/** Offsets into a text: of the first character, and behind the last one. */
type Span = { readonly start: number; readonly end: number };

/** A decoded text, and for each of its characters the span in the original text. */
type DecodedText = { readonly text: string; readonly spans: readonly Span[] };

/** A text to look for. If `isShort`, it must stand alone. */
type Wanted = { readonly text: string; readonly isShort: boolean };

function findSecret(text: string, wanted: Wanted): readonly Span[] {
  const found = findAll(text, wanted.text);
  return wanted.isShort ? found.filter((span) => standsAlone(text, span)) : found;
}

const WORD_CHARACTER = /[\p{L}\p{N}_]/u;

/** Whether neither end of the span is inside a word. */
function standsAlone(text: string, { start, end }: Span): boolean {
  const isWithin = (at: number): boolean =>
    WORD_CHARACTER.test(text.charAt(at - 1)) && WORD_CHARACTER.test(text.charAt(at));
  return !isWithin(start) && !isWithin(end);
}

function findAll(text: string, wanted: string): readonly Span[] {
  const found: Span[] = [];
  for (let start = text.indexOf(wanted); start >= 0; start = text.indexOf(wanted, start + wanted.length)) {
    found.push({ start, end: start + wanted.length });
  }
  return found;
}

/** Deeper encodings are not decoded. */
const DECODE_PASSES_MAX = 8;

/** Decodes until nothing is left to decode, because a secret may itself look encoded. */
function decode(text: string): DecodedText {
  let decoded: DecodedText = {
    text,
    spans: Array.from({ length: text.length }, (_, start) => ({ start, end: start + 1 })),
  };
  for (let pass = 0; pass < DECODE_PASSES_MAX && /%[0-9a-f]{2}|\\/i.test(decoded.text); pass += 1) {
    decoded = decodeOnce(decoded);
  }
  return decoded;
}

function decodeOnce({ text, spans }: DecodedText): DecodedText {
  const chars: string[] = [];
  const charSpans: Span[] = [];
  let first = 0;
  let position = 0;
  /** Appends a character that takes `length` characters of the text, with the backslashes before it. */
  const append = (char: string, length: number): void => {
    position += length;
    if (char === '\\') return;
    chars.push(char);
    charSpans.push({ start: spans[first]?.start ?? 0, end: spans[position - 1]?.end ?? 0 });
    first = position;
  };
  for (const { index, 0: encoded, 1: hex = '' } of text.matchAll(/%(?:25)*([0-9a-f]{2})/gi)) {
    while (position < index) append(text.charAt(position), 1);
    append(String.fromCharCode(Number.parseInt(hex, 16)), encoded.length);
  }
  while (position < text.length) append(text.charAt(position), 1);
  return { text: chars.join(''), spans: charSpans };
}

/** Finds the span in the original text for a span of the decoded text. */
function mapToOriginal({ spans }: DecodedText, { start, end }: Span): Span {
  return { start: spans[start]?.start ?? 0, end: spans[end - 1]?.end ?? 0 };
}

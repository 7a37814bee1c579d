/**
 * Where a text breaks the rules of JSON, as a sentence with its line: `Line 7: a comma before the closing
 * brace. JSON allows none there.` Pure. Browsers word their own errors differently, so this reads the text.
 */

type At = { readonly index: number; readonly says: string };

/** The sentence; null for a text that is JSON. */
export function describeJsonFault(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch {
    const fault = findFault(text);
    const { index, says } = fault ?? { index: text.length, says: 'this is not JSON.' };
    return `Line ${text.slice(0, index).split('\n').length}: ${says}`;
  }
}

/** A text; `\p{Cc}` holds the control characters that JSON writes with a backslash, and a few it need not. */
const TEXT = /"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

/** A reader of one text. */
type Reader = { readonly text: string; index: number };
/** Texts that may come next. `first-…` also allows the closing bracket, right behind the opening one. */
type Expected = 'value' | 'first-value' | 'key' | 'first-key' | 'comma';

function findFault(text: string): At | null {
  const reader: Reader = { text, index: 0 };
  const open: ('{' | '[')[] = [];
  let expected: Expected = 'value';
  for (;;) {
    skipBlanks(reader);
    const { index } = reader;
    const character = text[index];
    if (expected === 'comma' && open.length === 0) {
      return character === undefined ? null : { index, says: 'something follows behind the end.' };
    }
    if (character === undefined) return { index, says: describeEnd(open.at(-1)) };
    if (expected === 'comma') {
      const closed = closeOrComma(character, open, index);
      if (typeof closed === 'object') return closed;
      reader.index += 1;
      if (closed === 'comma') expected = open.at(-1) === '{' ? 'key' : 'value';
      else open.pop();
      continue;
    }
    if ((character === '}' || character === ']') && expected !== 'value') {
      const fault = describeClosing(character, open.at(-1), expected, reader);
      if (fault) return fault;
      open.pop();
      reader.index += 1;
      expected = 'comma';
      continue;
    }
    const read = readNext(reader, expected, open);
    if (typeof read === 'object') return read;
    expected = read;
  }
}

/** Reads the key or the value that is expected. */
function readNext(reader: Reader, expected: Expected, open: ('{' | '[')[]): At | Expected {
  return expected === 'key' || expected === 'first-key' ? readKey(reader) : readValue(reader, open);
}

function skipBlanks(reader: Reader): void {
  while (' \t\n\r'.includes(reader.text[reader.index] ?? '?')) reader.index += 1;
}

function describeEnd(open: '{' | '[' | undefined): string {
  if (open === undefined) return 'nothing is here. Write {} for an empty payload.';
  return open === '{' ? 'the closing brace } is missing.' : 'the closing bracket ] is missing.';
}

function closeOrComma(character: string, open: readonly string[], index: number): At | 'comma' | 'closed' {
  if (character === ',') return 'comma';
  const opening = open.at(-1);
  if (character === (opening === '{' ? '}' : ']')) return 'closed';
  if (character === '}' || character === ']') {
    return { index, says: `${character} closes what ${opening} opened.` };
  }
  return { index, says: 'a comma is missing before this.' };
}

function describeClosing(
  character: '}' | ']',
  opening: '{' | '[' | undefined,
  expected: Expected,
  { text, index }: Reader,
): At | null {
  if (character !== (opening === '{' ? '}' : ']')) {
    return {
      index,
      says: opening ? `${character} closes what ${opening} opened.` : `${character} opens nothing.`,
    };
  }
  if (expected === 'first-key' || expected === 'first-value') return null;
  return describeComma(text, index, 'brace');
}

function describeComma(text: string, closingAt: number, what: string): At {
  const says = `a comma before the closing ${what}. JSON allows none there.`;
  return { index: text.lastIndexOf(',', closingAt), says };
}

/** Reads a key and its colon. */
function readKey(reader: Reader): At | Expected {
  const { index } = reader;
  if (reader.text[index] !== '"') return { index, says: 'a key in double quotes is missing here.' };
  const fault = readText(reader);
  if (fault) return fault;
  skipBlanks(reader);
  if (reader.text[reader.index] !== ':') {
    return { index: reader.index, says: 'a colon is missing behind the key.' };
  }
  reader.index += 1;
  return 'value';
}

/** Reads a whole value, or the opening of one. */
function readValue(reader: Reader, open: ('{' | '[')[]): At | Expected {
  const { text, index } = reader;
  const character = text[index];
  if (character === '{' || character === '[') {
    open.push(character);
    reader.index += 1;
    return character === '{' ? 'first-key' : 'first-value';
  }
  if (character === '"') return readText(reader) ?? 'comma';
  if (character === '}' || character === ']') {
    const isBehindComma = /,\s*$/.test(text.slice(0, index));
    const what = character === '}' ? 'brace' : 'bracket';
    if (isBehindComma) return describeComma(text, index, what);
    return { index, says: 'a value is missing before this.' };
  }
  if (character === "'") return { index, says: 'JSON has double quotes only.' };
  for (const pattern of [NUMBER, WORD]) {
    pattern.lastIndex = index;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined && !/[\w.]/.test(text[index + found.length] ?? '')) {
      reader.index += found.length;
      return 'comma';
    }
  }
  return { index, says: 'this is no value. Texts have double quotes around them.' };
}

/** Reads a text; returns what is wrong with it. */
function readText(reader: Reader): At | null {
  const { text, index } = reader;
  TEXT.lastIndex = index;
  const found = TEXT.exec(text)?.[0];
  if (found !== undefined) {
    reader.index += found.length;
    return null;
  }
  const lineEnd = text.indexOf('\n', index);
  const rest = text.slice(index + 1, lineEnd < 0 ? undefined : lineEnd);
  if (/^(?:[^"\\]|\\.)*$/.test(rest))
    return { index, says: 'the text does not end on its line: a " is missing.' };
  return { index, says: 'the text has a character that JSON writes with a backslash.' };
}

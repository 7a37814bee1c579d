/** Values of the contract as samples write them: in JSON, in JavaScript and in Python. */
import { isJson } from './document.ts';

/** Lists and objects longer than this get a line for each part. */
const WIDTH_MAX = 70;

type Style = {
  writeText(text: string): string;
  writeName(name: string): string;
  /** Numbers, truth values and null. */
  writeOther(value: unknown): string;
  readonly lastComma: string;
};

const JSON_STYLE: Style = {
  writeText: JSON.stringify,
  writeName: JSON.stringify,
  writeOther: JSON.stringify,
  lastComma: '',
};

/** Writes a value as JSON, with short lists and objects on one line. */
export function writeJson(value: unknown): string {
  return writeValue(value, JSON_STYLE, '');
}

/** Writes a value as in a JavaScript program: names without quotes, a comma after the last part. */
export function writeProgramValue(value: unknown): string {
  const writeText = (text: string): string => `'${text.replace(/['\\]/g, '\\$&')}'`;
  return writeValue(value, { ...JSON_STYLE, writeText, writeName: (name) => name, lastComma: ',' }, '');
}

/** Writes a value as in Python: like JSON, except for three words. */
export function writePythonValue(value: unknown): string {
  const words: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };
  const writeOther = (other: unknown): string => words[String(other)] ?? JSON.stringify(other);
  return writeValue(value, { ...JSON_STYLE, writeOther, lastComma: ',' }, '');
}

function writeValue(value: unknown, style: Style, indent: string): string {
  if (typeof value === 'string') return style.writeText(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const parts = value.map((item) => writeValue(item, style, inner));
    return joinParts(parts, { open: '[', close: ']', space: '' }, style, indent);
  }
  if (!isJson(value)) return style.writeOther(value);
  const parts = Object.entries(value).map(
    ([name, item]) => `${style.writeName(name)}: ${writeValue(item, style, inner)}`,
  );
  return joinParts(parts, { open: '{', close: '}', space: ' ' }, style, indent);
}

function joinParts(
  parts: readonly string[],
  { open, close, space }: { readonly open: string; readonly close: string; readonly space: string },
  { lastComma }: Style,
  indent: string,
): string {
  if (parts.length === 0) return open + close;
  const short = `${open}${space}${parts.join(', ')}${space}${close}`;
  if (short.length <= WIDTH_MAX && !short.includes('\n')) return short;
  return `${open}\n${parts.map((part) => `${indent}  ${part}`).join(',\n')}${lastComma}\n${indent}${close}`;
}

/**
 * The statements of a document in words: its sentences and the rows of its tables, each with where it
 * stands. It also measures a document's text, and how much of it is said twice.
 */
import { isJson, type Json, listOperations } from './document.ts';

/** One sentence, or one row of a table with its titles left out. */
export type Statement = {
  /** A section of the guide, or a path of keys in the document. */
  readonly where: string;
  readonly text: string;
  readonly isRow: boolean;
};

/**
 * Lists the statements of the description that opens the document. Those before the first heading belong to
 * `Introduction`.
 */
export function listGuideStatements(document: Json): readonly Statement[] {
  return guideOf(document)
    .split(/^# /m)
    .flatMap((section, index) => {
      const [title = '', text = ''] = index === 0 ? ['Introduction', section] : section.split(/\n(.*)/s);
      return [...listRows(text), ...listSentences(text)].map((statement) => ({ where: title, ...statement }));
    });
}

/**
 * Lists the statements about the operations themselves, without those about parameters, bodies and
 * responses.
 */
export function listOperationStatements(document: Json): readonly Statement[] {
  return [...listOperations(document)].flatMap(({ operation }) =>
    listSentences(String(operation.description ?? '')).map((statement) => ({
      where: String(operation.operationId),
      ...statement,
    })),
  );
}

const NOT_READ = ['example', 'examples', 'x-codeSamples'];

/**
 * Lists the sentences about fields, parameters, headers and responses, each with its place. A sentence that
 * stands in several places is listed once for each.
 */
export function listFieldStatements(document: Json): readonly Statement[] {
  const found: Statement[] = [];
  const read = (value: unknown, where: readonly string[]): void => {
    if (Array.isArray(value)) for (const item of value) read(item, where);
    if (!isJson(value)) return;
    const { name, description } = value;
    const here = typeof name === 'string' ? [...where, name] : where;
    if (typeof description === 'string')
      for (const statement of listSentences(description)) found.push({ where: here.join('.'), ...statement });
    for (const [key, item] of Object.entries(value))
      if (key === 'properties' && isJson(item))
        for (const [field, schema] of Object.entries(item)) read(schema, [...here, field]);
      else if (!NOT_READ.includes(key)) read(item, here);
  };
  for (const { operation } of listOperations(document))
    read({ ...operation, description: undefined }, [String(operation.operationId)]);
  for (const parts of Object.values(isJson(document.components) ? document.components : {}))
    for (const [name, part] of Object.entries(isJson(parts) ? parts : {})) read(part, [name]);
  return found;
}

/** How large a document is, in characters, and how much of its text is said more than once. */
export type DocumentFigures = {
  /** The whole document as it is published. */
  readonly characters: number;
  /** The description that opens the document. */
  readonly guide: number;
  /** All other descriptions and summaries. */
  readonly besideGuide: number;
  /** The share of their sentences that repeat an earlier one: 0 to 1. */
  readonly repeatedShare: number;
};

/** Measures a document's text. */
export function measureDocument(document: Json): DocumentFigures {
  const texts = [...listTexts({ ...document, info: {} })];
  const sentences = texts.flatMap((text) => listSentences(text).map((one) => one.text));
  const seen = new Set<string>();
  const repeated = sentences.filter((sentence) => seen.has(sentence) || !seen.add(sentence));
  return {
    characters: JSON.stringify(document, null, 2).length + 1,
    guide: guideOf(document).length,
    besideGuide: countCharacters(texts),
    repeatedShare: countCharacters(repeated) / Math.max(1, countCharacters(sentences)),
  };
}

function guideOf(document: Json): string {
  return isJson(document.info) ? String(document.info.description ?? '') : '';
}

/** Yields descriptions and summaries, but no fields of these names in examples. */
function* listTexts(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* listTexts(item);
  if (!isJson(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (key === 'example' || key === 'value' || key === 'x-codeSamples') continue;
    if ((key === 'description' || key === 'summary') && typeof item === 'string') yield item;
    else yield* listTexts(item);
  }
}

function countCharacters(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

function listRows(text: string): readonly Omit<Statement, 'where'>[] {
  const rows = text.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) => ({ text: row.slice(2, -2), isRow: true }));
}

/**
 * Lists the sentences of paragraphs and lists. A full stop in code or before a small letter ends no
 * sentence.
 */
function listSentences(text: string): readonly Omit<Statement, 'where'>[] {
  const prose = text.split('\n').filter((line) => !line.startsWith('|'));
  const blocks = prose.join('\n').split(/\n\s*\n|\n(?=- |\d+\. )/);
  return blocks.flatMap((block) => {
    const codes: string[] = [];
    const line = block
      .trim()
      .replace(/^(- |\d+\. )/, '')
      .replace(/\s+/g, ' ')
      .replace(/`[^`]*`/g, (code) => `¤${codes.push(code) - 1}¤`);
    const sentences = line.split(/(?<=[.!?])\s+(?=[A-Z¤*("])/).filter((sentence) => sentence !== '');
    return sentences.map((sentence) => ({
      text: sentence.replace(/¤(\d+)¤/g, (_, index) => codes[Number(index)] ?? ''),
      isRow: false,
    }));
  });
}

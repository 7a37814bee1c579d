/**
 * The requirements of the conformance kit, as they are published. Those of the specification (L0), of
 * agents and of clients are written by hand in `requirements/`. In the guide and in the descriptions of
 * operations (L1), each sentence and row is one requirement; in those of fields, parameters, headers and
 * responses, each sentence that promises something. `requirements/` has the reasons why a requirement is
 * not scored.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from './document.ts';
import {
  listFieldStatements,
  listGuideStatements,
  listOperationStatements,
  type Statement,
} from './statements.ts';

const FOLDER = join(import.meta.dirname, 'requirements');
/** An id has at least this many words of its sentence. */
const ID_WORDS = 4;

type Requirement = {
  readonly id: string;
  readonly role: string;
  readonly level: string;
  readonly strength: string;
  readonly text: string;
  readonly document: string;
  readonly where: readonly string[];
  readonly checked_by?: string;
  readonly not_scored?: string;
};
/** The reasons why no check looks at a sentence, by the sentence's id. */
type Unscored = { readonly not_scored: Readonly<Record<string, string>> };
type GuidePart = Unscored & {
  /** The required sections, each with the first word of its sentences' ids. */
  readonly sections: Readonly<Record<string, string>>;
};
type FieldPart = Unscored & {
  /** Sentences that are requirements although they have no word of a promise. */
  readonly also: readonly string[];
  /** The requirement whose check looks at a sentence too, by the sentence's id. */
  readonly checked_by: Readonly<Record<string, string>>;
};
/** The words by which a sentence is a promise. */
const PROMISE = /\b(never|only|at most|must|null if)\b/i;

/**
 * Builds `requirements.json`, and `REQUIREMENTS.md` for readers. Throws an error if two of them have one
 * id.
 */
export function buildRequirements(document: Json): ReadonlyMap<string, string> {
  const byHand = (name: string) => readFile<readonly Requirement[]>(name);
  const all = [
    ...byHand('specification.json'),
    ...readGuide(document),
    ...readOperations(document),
    ...readFields(document),
    ...byHand('agent.json'),
    ...byHand('client.json'),
  ];
  const ids = all.map(({ id }) => id);
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
  if (twice.length > 0) throw new Error(`Two requirements have one id: ${twice.join(', ')}.`);
  return new Map([
    ['requirements.json', `${JSON.stringify(all, null, 2)}\n`],
    ['REQUIREMENTS.md', renderPage(all)],
  ]);
}

function readFile<T>(name: string): T {
  return JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));
}

/** Throws an error if the guide and `guide.json` have other sections, or the guide lacks a sentence of it. */
function readGuide(document: Json): readonly Requirement[] {
  const { sections, not_scored } = readFile<GuidePart>('guide.json');
  const statements = listGuideStatements(document);
  const found = statements.map(({ where }) => where);
  const absent = Object.keys(sections).find((where) => !found.includes(where));
  if (absent !== undefined) throw new Error(`The guide has no section "${absent}".`);
  const added = found.find((where) => !(where in sections));
  if (added !== undefined) throw new Error(`guide.json lacks the guide's section "${added}".`);
  return requireSentences(statements, 'guide', sections, not_scored);
}

/** Throws an error if an operation lacks a sentence of `operations.json`. */
function readOperations(document: Json): readonly Requirement[] {
  const statements = listOperationStatements(document);
  const names = Object.fromEntries(statements.map(({ where }) => [where, where]));
  return requireSentences(statements, 'operations', names, readFile<Unscored>('operations.json').not_scored);
}

/** Throws an error if `fields.json` names a sentence that the document lacks. */
function readFields(document: Json): readonly Requirement[] {
  const { also, checked_by, not_scored } = readFile<FieldPart>('fields.json');
  const statements = listFieldStatements(document).filter(
    ({ text }) => PROMISE.test(text) || also.includes(text),
  );
  const once = [...new Set(statements.map(({ text }) => text))].map((text) => ({
    where: 'fields',
    text,
    isRow: false,
  }));
  const required = requireSentences(once, 'fields', { fields: 'fields' }, not_scored);
  const unknown = [...Object.keys(checked_by)].filter((id) => !required.some((one) => one.id === id));
  const lost = also.filter((text) => !once.some((one) => one.text === text));
  if (unknown.length + lost.length > 0)
    throw new Error(`Of fields there is no sentence ${[...unknown, ...lost].join(', ')}.`);
  return required.map((one) => {
    const places = statements.filter(({ text }) => text === one.text).map(({ where }) => where);
    const other = checked_by[one.id];
    return { ...one, where: places, ...(other === undefined ? {} : { checked_by: other }) };
  });
}

/** Makes each sentence of the named parts of a document a requirement. */
function requireSentences(
  statements: readonly Statement[],
  document: string,
  parts: Readonly<Record<string, string>>,
  reasons: Unscored['not_scored'],
): readonly Requirement[] {
  const found = Object.entries(parts).flatMap(([where, prefix]) => {
    const texts = statements.filter((one) => one.where === where).map(({ text }) => text);
    return texts.map((text): Requirement => {
      const id = `${prefix}.${nameText(text, texts)}`;
      const reason = reasons[id];
      return {
        id,
        role: 'gateway',
        level: 'L1',
        strength: 'must',
        text,
        document,
        where: [where],
        ...(reason === undefined ? {} : { not_scored: reason }),
      };
    });
  });
  const unknown = Object.keys(reasons).filter((id) => !found.some((one) => one.id === id));
  if (unknown.length > 0) throw new Error(`In the ${document} there is no sentence ${unknown.join(', ')}.`);
  return found;
}

/** Names a text by its first words: as many as set it apart from all others of its section. */
function nameText(text: string, others: readonly string[]): string {
  const words = wordsOf(text);
  for (let count = ID_WORDS; count < words.length; count += 1) {
    const name = words.slice(0, count).join('-');
    const same = others.filter((one) => wordsOf(one).slice(0, count).join('-') === name);
    if (same.length === 1) return name;
  }
  return words.join('-');
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
}

/** Writes each sentence with its id as an anchor. */
function renderPage(all: readonly Requirement[]): string {
  const rows = all.map(({ id, role, level, strength, text, not_scored }) => {
    const note = not_scored === undefined ? strength : `not scored: ${not_scored}`;
    return `| <a id="${id}"></a>\`${id}\` | ${role} | ${level} | ${text.replaceAll('|', '\\|')} | ${note} |`;
  });
  return [
    '# Requirements of a Task Gateway',
    '',
    'L0 is the letter of the specification, L1 what the document decides beyond it. An id stays the same while its sentence does.',
    '',
    '| Id | Binds | Level | Sentence | |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/**
 * The words of this repository: one word for one thing. Each rule names a word that is not used, or that is
 * reserved for one meaning, and what to write instead.
 *
 * An identifier is looked at in two forms: as it is written (`names`) and as its words in small letters,
 * separated by blanks (`words`: `createJudge2` is "create judge2"). Comments and strings of more than one
 * word are `texts`.
 */
import { type Pieces, readPieces } from './repository.ts';
import { WORD_RULES, type WordRule } from './word-rules.ts';

/** File names that were given up with their words. */
export const FILE_WORDS =
  /(^|[/.-])(roster|ear|hints|alarm|patience|standing|life|lives|image|facts|rooms|fade|judge|desk|face|screen|exits|pulse|told|crowd|witness|chapter|everything|lived-in|stand|gate|patient|look-alikes|welcome)[.-]/;

/** A use of a word against its rule. */
export type WordUse = { readonly rule: WordRule; readonly line: number; readonly found: string };

/** The uses in a file of words that are not used, or not for this. */
export function findWords(file: string, text: string): readonly WordUse[] {
  const rules = WORD_RULES.filter(
    ({ within, frozenIn }) => (within === undefined || within.test(file)) && !frozenIn?.test(file),
  );
  return findIn(readPieces(file, text), rules);
}

function findIn({ identifiers, comments, strings }: Pieces, rules: readonly WordRule[]): readonly WordUse[] {
  const uses: WordUse[] = [];
  for (const { text, line } of identifiers) {
    const words = splitWords(text);
    for (const rule of rules)
      if (rule.names?.test(text) || rule.words?.test(words)) uses.push({ rule, line, found: text });
  }
  for (const { text, line } of [...comments, ...strings.filter(({ text }) => /\S\s+\S/.test(text))]) {
    for (const rule of rules) {
      const match = rule.texts?.exec(text);
      if (match)
        uses.push({ rule, line: line + countEnds(text.slice(0, match.index)), found: match[0].trim() });
    }
  }
  return uses;
}

/**
 * `createJudge` is "create judge"; what underscores join stays one word, for the wire's names are not ours.
 */
function splitWords(identifier: string): string {
  return identifier
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase();
}

function countEnds(text: string): number {
  return text.split('\n').length - 1;
}

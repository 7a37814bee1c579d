/**
 * The English of comments, in counts: chains of "that is", conditions, examples, and sentences that open with
 * "What". Where a text is abstract, the first and the last are many and the others few. The counts are a
 * measure and no goal: a folder fails only when it is worse than its committed rate, and beyond the bound.
 */
import { readPieces } from './repository.ts';

/** How often each stands in a text. */
type EnglishCounts = {
  readonly words: number;
  readonly chains: number;
  readonly openings: number;
  readonly conditions: number;
  readonly examples: number;
};

/** Committed rates of a folder, for 10,000 words of its comments. */
type EnglishRates = { readonly chains: number; readonly conditions: number };

/** A folder within these may change as it likes: not more chains, not fewer conditions. */
const BOUNDS: EnglishRates = { chains: 50, conditions: 110 };
/** So many uses decide nothing: in a small folder one makes a rate of 40. */
const SLACK = 2;

/** The comments of a file as sentences: without their marks and the ends of their lines. */
export function readComments(file: string, text: string): readonly string[] {
  return readPieces(file, text).comments.map((comment) =>
    comment.text
      .replace(/^(\/\*\*?|\/\/|--)(\s*\* )?\s*|\s*\*\/$/g, '')
      .replace(/\n\s*(\*|\/\/|--)?\s*/g, ' ')
      .trim(),
  );
}

/** Counts in comments of `readComments()`. */
export function countEnglish(comments: readonly string[]): EnglishCounts {
  const count = (pattern: RegExp): number =>
    comments.reduce((sum, comment) => sum + (comment.match(pattern) ?? []).length, 0);
  return {
    words: count(/[A-Za-z][\w'-]*/g),
    chains: count(/\bthat (is|are|was|were|has|have|had|no)\b/gi),
    openings: findOpenings(comments).length,
    conditions: count(/\b(if|when)\b/gi),
    examples: count(/\b(for example|e\.g\.|such as)/gi),
  };
}

/** The sentences of comments that open with "What", each cut short. */
export function findOpenings(comments: readonly string[]): readonly string[] {
  return comments.flatMap((comment) =>
    [...comment.matchAll(/(?:^|[.:!?]\s+)(What\b.{0,50})/g)].map(([, opening = '']) => opening),
  );
}

/** How often a count stands in 10,000 words. */
export function rateOf(count: number, words: number): number {
  return Math.round((count / Math.max(words, 1)) * 10_000);
}

/** What has become worse in a folder; a folder without committed rates keeps the bounds. */
export function findWorse(
  { words, chains, conditions }: EnglishCounts,
  committed: EnglishRates = BOUNDS,
): readonly string[] {
  const most = Math.max(committed.chains, BOUNDS.chains);
  const least = Math.min(committed.conditions, BOUNDS.conditions);
  return [
    ...(chains > (most * words) / 10_000 + SLACK
      ? [`${rateOf(chains, words)} chains of "that is" in 10,000 words, not ${most}: say who does what`]
      : []),
    ...(conditions < (least * words) / 10_000 - SLACK
      ? [`${rateOf(conditions, words)} of "if" and "when" in 10,000 words, not ${least}: say when`]
      : []),
  ];
}

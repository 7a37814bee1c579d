/**
 * Why the gateway is not ready, as everybody may read it: a sentence of a fixed set. What the store itself says
 * may name addresses, paths and users; it is in the log alone.
 */
const REASONS: readonly (readonly [words: RegExp, sentence: string])[] = [
  [/^draining$/, 'draining'],
  [/emptied or replaced/, 'The store was emptied or replaced: it does not hold what was accepted before.'],
  [/\b(full|OOM|ENOSPC|EFBIG|EDQUOT)\b/, 'The store is full.'],
  [/\bI\/O error|\bEIO\b/, 'The disk of the store fails.'],
  [/\bread-?only\b|\bEROFS\b/i, 'The store takes no writes.'],
  [/\b(damaged|malformed|corrupt)/, 'The store is damaged.'],
  [/\b(settings|credentials)\b/, 'The store and the settings of the gateway do not fit together.'],
  [/\b(starting|loading)\b/i, 'The store is starting.'],
  [/\bclosed\b/, 'The store is closed.'],
];

const ANY_OTHER = 'The store does not reply.';

/** The sentence of the set that fits best; it repeats nothing of the reason. */
export function describeReason(reason: string): string {
  return REASONS.find(([words]) => words.test(reason))?.[1] ?? ANY_OTHER;
}

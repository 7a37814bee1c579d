/** The result of a run: its headline, and which failures were expected. */
import { isComplaint, type Outcome, type Verdict } from './run-checks.ts';

/** The requirements that are expected to fail or to warn, each with the reason. */
export type Baseline = Readonly<Record<string, string>>;

export type Summary = {
  /** How many of the scored MUSTs passed. */
  readonly passed: number;
  readonly applicable: number;
  readonly counts: Readonly<Record<Outcome, number>>;
  /** Entries of the baseline that name no failure of this run. Each of them fails the run. */
  readonly stale: readonly string[];
  /** The failures that the baseline does not name. */
  readonly unexpected: readonly Verdict[];
};

/** Counts verdicts. A harness error counts only among its own kind. */
export function summarize(verdicts: readonly Verdict[], baseline: Baseline = {}): Summary {
  const count = (outcome: Outcome): number => verdicts.filter((one) => one.outcome === outcome).length;
  const musts = verdicts.filter(({ requirement }) => requirement.strength === 'must');
  const failed = verdicts.filter(({ outcome }) => outcome === 'fail');
  // What was not run may still fail.
  const complained = new Set(
    verdicts
      .filter((one) => isComplaint(one) || one.outcome === 'not_run')
      .map(({ requirement }) => requirement.id),
  );
  return {
    passed: musts.filter(({ outcome }) => outcome === 'pass').length,
    applicable: musts.filter(({ outcome }) => outcome === 'pass' || outcome === 'fail').length,
    counts: {
      pass: count('pass'),
      fail: count('fail'),
      warn: count('warn'),
      not_scored: count('not_scored'),
      error: count('error'),
      not_run: count('not_run'),
    },
    stale: Object.keys(baseline).filter((id) => !complained.has(id)),
    unexpected: failed.filter(({ requirement }) => !(requirement.id in baseline)),
  };
}

/**
 * Returns 0 if the subject conforms as expected; 1 if it does not, a part was not run, or the baseline is
 * stale; 2 if the kit itself failed.
 */
export function exitCodeOf({ counts, stale, unexpected }: Summary): number {
  if (counts.error > 0) return 2;
  return stale.length > 0 || unexpected.length > 0 || counts.not_run > 0 ? 1 : 0;
}

/** Reads a baseline. Throws an error that says what is wrong with it. */
export function parseBaseline(text: string): Baseline {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('it must be an object with the ids of requirements as its keys');
  for (const [id, reason] of Object.entries(value))
    if (typeof reason !== 'string' || reason.trim() === '')
      throw new Error(`"${id}" must have its reason as a text`);
  return value as Baseline;
}

/** How many problems and warnings there are, in the same words everywhere. Notes do not count. Pure. */
import { formatCount } from './format.ts';

type Severities = readonly { readonly severity: string }[];

export function countProblems(problems: Severities): {
  readonly problems: number;
  readonly warnings: number;
} {
  const count = (isCounted: (severity: string) => boolean): number =>
    problems.filter(({ severity }) => isCounted(severity)).length;
  return {
    problems: count((severity) => severity === 'problem'),
    // A severity of a later version counts as a warning.
    warnings: count((severity) => severity !== 'problem' && severity !== 'note'),
  };
}

/** Writes `2 problems, 1 warning`; empty if there are none. */
export function describeProblems(all: Severities): string {
  const { problems, warnings } = countProblems(all);
  return [
    ...(problems > 0 ? [formatCount(problems, 'problem')] : []),
    ...(warnings > 0 ? [formatCount(warnings, 'warning')] : []),
  ].join(', ');
}

/** How many problems and warnings there are, in words, the same everywhere. Pure. */
import { formatCount } from './format.ts';

type Severities = readonly { readonly severity: string }[];

/** How many are problems; all others are warnings. */
export function countProblems(problems: Severities): {
  readonly problems: number;
  readonly warnings: number;
} {
  const serious = problems.filter(({ severity }) => severity === 'problem').length;
  return { problems: serious, warnings: problems.length - serious };
}

/** `2 problems, 1 warning`; empty if there are none. */
export function describeProblems(all: Severities): string {
  const { problems, warnings } = countProblems(all);
  return [
    ...(problems > 0 ? [formatCount(problems, 'problem')] : []),
    ...(warnings > 0 ? [formatCount(warnings, 'warning')] : []),
  ].join(', ');
}

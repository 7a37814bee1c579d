/** How many tasks there are, in words. Pure. */
import { formatCount } from '../../parts/format.ts';

/** `60 tasks match`, `1 task matches`, `at least 1,000 tasks match`; of all of them `60 tasks are kept`. */
export function describeTotal(
  { total, complete }: { readonly total: number; readonly complete: boolean },
  hasFilter: boolean,
): string {
  const verb = hasFilter ? (total === 1 ? 'matches' : 'match') : total === 1 ? 'is kept' : 'are kept';
  if (total === 0 && complete) return hasFilter ? 'No task matches' : 'No task is kept';
  return `${complete ? '' : 'at least '}${formatCount(total, 'task')} ${verb}`;
}

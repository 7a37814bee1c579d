/** How many tasks there are, in words. Pure. */
import { formatLeast } from '../../parts/format.ts';

/**
 * Writes `60 tasks match`, `1 task matches`, `1,000+ tasks match`; without a filter `60 tasks are kept`.
 */
export function describeTotal(
  { total, complete }: { readonly total: number; readonly complete: boolean },
  hasFilter: boolean,
): string {
  const verb = hasFilter ? (total === 1 ? 'matches' : 'match') : total === 1 ? 'is kept' : 'are kept';
  if (total === 0 && complete) return hasFilter ? 'No task matches' : 'No task is kept';
  return `${formatLeast(total, { complete })} ${total === 1 ? 'task' : 'tasks'} ${verb}`;
}

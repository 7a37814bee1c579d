/** Finds out from the overview's failures whether all of an agent's last tasks failed. Pure. */
import type { FailureGroup } from '../../gateway/shapes.ts';

/** The overview calls this many failures in a row a problem. */
const FAILED_MIN = 5;

/** How many tasks of one type failed. */
export type FailedTasks = { readonly task_type: string; readonly failed: number };

/** Finds a type of which all last tasks at this agent failed, five or more; undefined if there is none. */
export function findFailedTasks(
  groups: readonly FailureGroup[] = [],
  agent_id: string,
): FailedTasks | undefined {
  const types = Map.groupBy(
    groups.filter((group) => group.agent_id === agent_id),
    ({ task_type }) => task_type,
  );
  return [...types]
    .map(([task_type, ofType]) => {
      const failed = ofType.reduce((sum, { count }) => sum + count, 0);
      return { task_type, failed, isAll: failed === ofType[0]?.ended };
    })
    .filter(({ failed, isAll }) => isAll && failed >= FAILED_MIN)
    .sort((a, b) => b.failed - a.failed)[0];
}

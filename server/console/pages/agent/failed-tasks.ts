/** Whether all of an agent's last tasks failed, from the failures of the overview. Pure. */
import type { FailureGroup } from '../../gateway/shapes.ts';

/** So many in a row are a problem of the overview. */
const FAILED_MIN = 5;

/** The tasks of one type. */
export type FailedTasks = { readonly task_type: string; readonly failed: number };

/** The type of which all tasks that ended here of late failed, five or more; undefined without one. */
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

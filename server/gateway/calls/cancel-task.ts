/** `cancelTask`: the client takes back a task that has not ended. */
import { type Gateway, GatewayError } from '../../ports/gateway.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import { taskNotFound } from '../tasks/read-task.ts';

export function createCancelTask({
  commits,
}: {
  readonly commits: TaskCommits;
}): Pick<Gateway, 'cancelTask'> {
  return {
    async cancelTask(request_id) {
      const result = await commits.advanceTask(request_id, { type: 'cancel' });
      if (result.kind === 'absent') throw taskNotFound();
      if (result.kind === 'refused') {
        throw new GatewayError(
          'task_terminal',
          `The task has already ended as ${result.state.status}; only a pending or running task can be cancelled.`,
        );
      }
      return { ok: true, request_id };
    },
  };
}

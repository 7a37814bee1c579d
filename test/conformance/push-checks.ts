/** The checks of how agents take pushes: signatures, and tasks that come again. */
import { NotScored, requireEqual, requireThat } from './findings.ts';
import type { AgentCheck } from './trials-of-agents.ts';

export const PUSH_CHECKS: Readonly<Record<string, AgentCheck>> = {
  'as-agent.repeated-push'(_stage, look) {
    const { statuses, isPull } = look('repeated');
    if (isPull) throw new NotScored('The agent claims its tasks: nothing is pushed to it.');
    for (const status of statuses)
      requireThat(
        status === 409 || (status >= 200 && status < 300),
        `A push of a task that the agent has or had got ${status}, and must get 2xx or 409.`,
      );
  },
  'as-agent.signature'(_stage, look) {
    const { wrongStatus, started } = look('signed');
    requireEqual(wrongStatus, 401, 'The response to a push with a wrong signature');
    requireThat(!started[0], 'The agent worked on a task whose signature was wrong.');
  },
  'as-agent.timestamp'(_stage, look) {
    const { oldStatus, started } = look('signed');
    requireThat(
      oldStatus >= 400 && oldStatus < 500,
      `The response to a push signed ten minutes ago is ${oldStatus}, and must refuse it.`,
    );
    requireThat(!started[1], 'The agent worked on a task that was signed ten minutes ago.');
  },
  'as-agent.one-matches'(_stage, look) {
    const { bothStatus, report } = look('signed');
    requireThat(
      report !== undefined,
      `A push with two signatures, of which the second is right, got ${bothStatus} and was not reported.`,
    );
  },
};

/** How a problem of the overview is built, and how its texts count things and name times. */
import { describeDuration } from '../../../domain/duration-text.ts';
import type { OverviewProblem } from '../../../ports/admin.ts';

/** Creates a problem. Fields that are not given are null. */
export function createProblem(
  code: OverviewProblem['code'],
  severity: OverviewProblem['severity'],
  more: Pick<OverviewProblem, 'text'> & Partial<OverviewProblem>,
): OverviewProblem {
  return {
    code,
    severity,
    since: null,
    help: null,
    tag: null,
    agent_id: null,
    task_type: null,
    request_id: null,
    count: null,
    ...more,
  };
}

/** For example, `1 task` or `3 tasks`. */
export function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** Describes how long ago something was, at least one second. */
export function describeSince(nowMs: number, sinceMs: number): string {
  return describeDuration(Math.max(1_000, nowMs - sinceMs));
}

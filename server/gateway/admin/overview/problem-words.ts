/** The words that all problems of the overview share: how one is put together, how things are counted. */
import { describeDuration } from '../../../domain/duration-text.ts';
import type { OverviewProblem } from '../../../ports/admin.ts';

/** A problem; what is not given is null. */
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

/** `1 task`, `3 tasks` */
export function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** How long it is since then. Less than a second is shown as one. */
export function describeSince(nowMs: number, sinceMs: number): string {
  return describeDuration(Math.max(1_000, nowMs - sinceMs));
}

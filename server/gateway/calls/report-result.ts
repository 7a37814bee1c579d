/** `reportResult`: an agent reports the progress or the result of a task. */
import { type LargeWork, passOver } from '../../async/large-work.ts';
import { JsonText } from '../../domain/json-text.ts';
import type { JsonObject } from '../../domain/task.ts';
import type { Trigger } from '../../domain/triggers.ts';
import type { Gateway, Report } from '../../ports/gateway.ts';
import type { Store } from '../../ports/store.ts';
import type { Tracing } from '../../ports/tracing.ts';
import { type RegisteredAgents, refuseStranger } from '../agents/registered-agents.ts';
import type { AdvanceResult, TaskCommits } from '../tasks/commit-step.ts';
import { taskNotFound } from '../tasks/read-task.ts';
import { runTaskHop } from '../tasks/task-traces.ts';

type Deps = {
  readonly store: Store;
  readonly commits: TaskCommits;
  readonly agents: RegisteredAgents;
  readonly tracing: Tracing;
  readonly largeWork: LargeWork;
};

/** Creates the operation. Late and repeated reports return `accepted: false`. */
export function createReportResult(deps: Deps): Pick<Gateway, 'reportResult'> {
  return {
    reportResult: (report, trace) =>
      runTaskHop(deps, {
        hop: 'report',
        request_id: report.request_id,
        parent: trace,
        work: () => applyReport(deps, report),
        describe: ({ status }) => ({ agent_id: report.agent_id, status }),
      }),
  };
}

async function applyReport(deps: Deps, report: Report): ReturnType<Gateway['reportResult']> {
  const { request_id } = report;
  // The contact is noted beside the commit. If the report is refused, the refusal itself checks the
  // registration.
  const [, result] = await Promise.all([
    deps.agents.noteContactIfRegistered(report.agent_id, { by: 'call', mayBeLate: true }),
    commitReport(deps, report),
  ]);
  switch (result.kind) {
    case 'absent':
      throw taskNotFound();
    case 'committed':
      return { ok: true, request_id, status: result.written.value.status, accepted: true };
    case 'unchanged':
      return { ok: true, request_id, status: result.state.status, accepted: true };
    case 'refused':
      if (result.refusal === 'task_terminal')
        return { ok: true, request_id, status: result.state.status, accepted: false };
      return await refuseStranger(deps, report.agent_id);
  }
}

async function commitReport({ commits, largeWork }: Deps, report: Report): Promise<AdvanceResult> {
  const passed = passOver(largeWork, report.result, (isLarge) => toTrigger(report, isLarge));
  const trigger = passed instanceof Promise ? await passed : passed;
  return await commits.advanceTask(report.request_id, trigger);
}

/** Turns the report into a trigger. A large result is rendered here for the last time. */
function toTrigger(report: Report, isLarge: boolean): Trigger {
  const { agent_id, progress = null, result = null } = report;
  switch (report.status) {
    case 'success':
      if (!isLarge) return { type: 'succeed', agent_id, result };
      return {
        type: 'succeed',
        agent_id,
        result: new JsonText(JSON.stringify(result)),
        hasReply: Object.hasOwn(Object(result), 'reply'),
      };
    case 'failed':
      return { type: 'fail', agent_id, error_info: report.error_info ?? null, progress };
    case 'running':
      return {
        type: 'progress',
        agent_id,
        progress,
        reply: replyOf(result),
      };
  }
}

function replyOf(result: JsonObject | null): string | null {
  const reply = result && Object.hasOwn(result, 'reply') ? result.reply : null;
  return typeof reply === 'string' ? reply : null;
}

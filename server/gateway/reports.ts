/** The agent's result call (§4.7). */
import type { Trigger } from '../domain/step.ts';
import type { JsonObject } from '../domain/task.ts';
import { type Gateway, GatewayError, type Report } from '../ports/gateway.ts';
import type { Store } from '../ports/store.ts';
import type { Transitions } from './commit-step.ts';
import { agentNotFound, type RegisteredAgents } from './registered-agents.ts';
import { taskNotFound } from './tasks.ts';

type Deps = { readonly store: Store; readonly transitions: Transitions; readonly contacts: RegisteredAgents };

/** Creates the report operation. Late and repeated reports are answered 200 with `accepted: false`. */
export function createReports(deps: Deps): Pick<Gateway, 'reportResult'> {
  return {
    async reportResult(report) {
      const { request_id, agent_id } = report;
      const [agentStatus, known] = await Promise.all([
        deps.contacts.noteContactIfRegistered(agent_id, { by: 'call' }),
        deps.store.get('task', request_id),
      ]);
      const done = await deps.transitions.advance(request_id, () => toTrigger(report), {}, known);
      if (done.kind === 'absent') throw taskNotFound();
      if (done.kind !== 'refused') return { ok: true, request_id, status: done.state.status, accepted: true };
      if (done.refusal === 'task_terminal') {
        return { ok: true, request_id, status: done.state.status, accepted: false };
      }
      if (!agentStatus) throw agentNotFound();
      throw new GatewayError(
        'agent_mismatch',
        'The task is not assigned to this agent. Report only tasks that were delivered to it, under its own agent_id.',
      );
    },
  };
}

/** Properties of the body are taken one by one; `result` passes through untouched. */
function toTrigger(report: Report): Trigger {
  const { agent_id } = report;
  switch (report.status) {
    case 'success':
      return { type: 'succeed', agent_id, result: report.result ?? null };
    case 'failed':
      return { type: 'fail', agent_id, error_info: report.error_info ?? null };
    case 'running':
      return {
        type: 'progress',
        agent_id,
        progress: report.progress ?? null,
        reply: replyOf(report.result ?? null),
      };
  }
}

function replyOf(result: JsonObject | null): string | null {
  const reply = result && Object.hasOwn(result, 'reply') ? result.reply : null;
  return typeof reply === 'string' ? reply : null;
}

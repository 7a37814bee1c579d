/** The agent's operations: register, heartbeat, claim, report, unregister. */
import { parseTraceContext, type TraceContext } from '../../domain/trace-context.ts';
import type { Gateway } from '../../ports/gateway.ts';
import { type Handlers, limitWait } from './handlers.ts';

export type AgentHandlerSettings = {
  /** Whether other machines may call for agents without the secret: then such calls learn of no task. */
  readonly areStrangersServed?: boolean;
};

/**
 * Creates the handlers. Of a heartbeat without a right secret only the `agent_id` is passed on; where anyone
 * may send it, its response names no task either.
 */
export function createAgentHandlers(
  gateway: Gateway,
  { areStrangersServed = false }: AgentHandlerSettings,
): Pick<Handlers, 'registerAgent' | 'heartbeatAgent' | 'claimTask' | 'reportResult' | 'unregisterAgent'> {
  return {
    async registerAgent({ body }) {
      const reply = await gateway.registerAgent({
        agent_id: body.agent_id,
        endpoint: body.endpoint,
        agent_tags: body.agent_tags,
        max_concurrent: body.max_concurrent ?? 1,
        current_load: body.current_load ?? 0,
        ...(body.request_ids !== undefined && { request_ids: body.request_ids }),
        ...(body.lost_after !== undefined && { lost_after: body.lost_after }),
      });
      return { status: 200, body: reply };
    },

    async heartbeatAgent({ body, isTrusted }) {
      const reply = await gateway.heartbeatAgent({
        agent_id: body.agent_id,
        ...(isTrusted && body.current_load !== undefined && { current_load: body.current_load }),
        ...(isTrusted && body.request_ids !== undefined && { request_ids: body.request_ids }),
        ...(isTrusted && body.registration !== undefined && { registration: body.registration }),
        ...(isTrusted && body.draining !== undefined && { draining: body.draining }),
      });
      const isHidden = areStrangersServed && !isTrusted;
      return { status: 200, body: isHidden ? { ...reply, cancelled_request_ids: [] } : reply };
    },

    async claimTask({ body, signal }) {
      const claim = {
        agent_id: body.agent_id,
        wait: limitWait(body.wait),
        ...(body.request_ids !== undefined && { request_ids: body.request_ids }),
      };
      let trace: TraceContext | undefined;
      const task = await gateway.claimTask(claim, signal(), (found) => {
        trace = found;
      });
      if (!task) return { status: 204 };
      return trace ? { status: 200, body: task, headers: trace } : { status: 200, body: task };
    },

    async reportResult({ body, header, caller }) {
      const report = {
        request_id: body.request_id,
        agent_id: body.agent_id,
        status: body.status,
        ...(body.progress !== undefined && { progress: body.progress }),
        ...(body.result !== undefined && { result: body.result }),
        ...(body.error_info !== undefined && { error_info: body.error_info }),
      };
      const trace = parseTraceContext(header('traceparent'), header('tracestate'));
      return { status: 200, body: await gateway.reportResult(report, caller, trace) };
    },

    async unregisterAgent({ body }) {
      return { status: 200, body: await gateway.unregisterAgent(body.agent_id, body.registration) };
    },
  };
}

/** The client's operations on tasks: submit, get, explain, cancel; and the preview of a match. */
import { parseTraceContext } from '../../domain/trace-context.ts';
import type { Gateway } from '../../ports/gateway.ts';
import { type Handlers, limitWait } from './handlers.ts';

/** The signal of a read that does not wait. */
const NEVER = new AbortController().signal;

/** Creates the handlers. */
export function createTaskHandlers(
  gateway: Gateway,
): Pick<Handlers, 'submitTask' | 'getTask' | 'explainTask' | 'previewMatch' | 'cancelTask'> {
  return {
    async submitTask({ body, header, caller }) {
      const submission = {
        task_type: body.task_type,
        task_tags: body.task_tags,
        payload: body.payload,
        cli_session_id: body.cli_session_id ?? '',
        timeout: body.timeout ?? 600,
        ...(body.queue_timeout !== undefined && { queue_timeout: body.queue_timeout }),
      };
      const trace = parseTraceContext(header('traceparent'), header('tracestate'));
      const task = await gateway.submitTask(submission, header('Idempotency-Key'), caller, trace);
      return { status: 200, body: task };
    },

    async getTask({ path, query, signal, caller }) {
      const waitMs = limitWait(query.wait) * 1_000;
      const left = waitMs > 0 ? signal() : NEVER;
      return { status: 200, body: await gateway.getTask(path.request_id, waitMs, left, caller) };
    },

    async explainTask({ path, caller }) {
      return { status: 200, body: await gateway.explainTask(path.request_id, caller) };
    },

    async previewMatch({ body }) {
      return { status: 200, body: await gateway.previewMatch(body.task_tags) };
    },

    async cancelTask({ path }) {
      return { status: 200, body: await gateway.cancelTask(path.request_id) };
    },
  };
}

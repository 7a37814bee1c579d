/** The client's operations: on its tasks, on the events of a session, and the preview of a match. */
import { parseTraceContext } from '../../domain/trace-context.ts';
import type { Gateway } from '../../ports/gateway.ts';
import { renderItem } from '../stream/event-frames.ts';
import { type Handlers, limitWait, NEVER } from './handlers.ts';

/** Creates the handlers. */
export function createClientHandlers(
  gateway: Gateway,
): Pick<
  Handlers,
  'submitTask' | 'getTask' | 'explainTask' | 'previewMatch' | 'cancelTask' | 'answerTask' | 'subscribeEvents'
> {
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
      const { task, outcome } = await gateway.getTask(path.request_id, waitMs, left, caller);
      return outcome === null
        ? { status: 200, body: task }
        : { status: 200, body: task, headers: { 'Task-Outcome': outcome } };
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

    async answerTask({ path: { request_id }, body: { key, answer = null }, caller }) {
      return { status: 200, body: await gateway.answerTask({ request_id, key, answer }, caller) };
    },

    // The header `Last-Event-ID` wins over the query; an empty one counts as absent.
    subscribeEvents({ query, header }) {
      // Once a stream has begun its status can't be changed: an outage must be reported before.
      const health = gateway.health();
      if (!health.ok && !health.isReadable) throw health.outage;
      const session = query.cli_session_id;
      const after = header('Last-Event-ID') || query.last_event_id || null;
      return {
        status: 200,
        events: {
          of: { kind: 'session', id: session },
          open: (signal) => gateway.subscribeEvents(session, after, renderItem, signal),
        },
      };
    },
  };
}

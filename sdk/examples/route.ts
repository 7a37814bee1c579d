/**
 * A route handler with the web's own Request and Response, for Next.js, Hono, Deno and Bun. It runs a task
 * for its caller, and cancels the task when the caller goes away.
 *
 * Next.js: save it as app/api/shout/route.ts. Hono: app.post('/api/shout', ({ req }) => POST(req.raw)).
 */
import {
  AbortError,
  createClient,
  NoAgentAvailableError,
  TaskFailedError,
  TaskGatewayError,
} from '@task-gateway/sdk';

/** One client for all requests, so that their runs share one event stream. */
const client = createClient({ logLevel: 'warn' });

export async function POST(request: Request): Promise<Response> {
  const body: unknown = await request.json().catch(() => undefined);
  const text = typeof body === 'object' && body !== null && 'text' in body ? body.text : undefined;
  if (typeof text !== 'string') return refuse(400, 'invalid', 'Send {"text": "…"}.');
  try {
    const { result } = await client.runTask(
      { task_type: 'example', task_tags: ['shout'], payload: { text }, timeout: 60, queue_timeout: 10 },
      { signal: request.signal, cancelOnAbort: true },
    );
    return Response.json(result);
  } catch (error) {
    return describe(error);
  }
}

/** Tells the caller nothing about this server's own errors. */
function describe(error: unknown): Response {
  // The caller has gone, and reads no response.
  if (error instanceof AbortError) return new Response(null, { status: 499 });
  if (error instanceof NoAgentAvailableError)
    return refuse(503, error.code, 'No agent is free. Try again.', 10);
  if (error instanceof TaskFailedError) return refuse(502, error.code, error.task.error_info);
  console.error(error);
  return refuse(500, error instanceof TaskGatewayError ? error.code : 'internal', 'Try again later.');
}

function refuse(status: number, code: string, message: string, retryAfter?: number): Response {
  const headers = new Headers(retryAfter === undefined ? {} : { 'retry-after': `${retryAfter}` });
  return Response.json({ code, message }, { status, headers });
}

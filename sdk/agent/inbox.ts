/**
 * How an agent receives pushes: as a web-standard `Request`, on a server of the caller's, or on one that the
 * agent opens itself. It responds at once, and works on the task afterwards. The status of the response:
 *
 *   202  taken                              405  not a POST
 *   401  signature wrong, or too old        409  the agent has or had this task
 *   404  another agent's task               413  body too large
 *   422  not a task                         429  too many large bodies at once
 *   503  no free slot, draining, or         500  the body could not be read, or the agent is at fault
 *        not started
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, readMonotonicMs } from '../clock.ts';
import type { AgentId, RunningTask } from '../contract.ts';
import { findRefusal } from './signature.ts';
import { readTimeLeft } from './task-run.ts';
import { readTraceHeaders } from './trace-headers.ts';
import type { Work } from './work.ts';

export type Inbox = {
  /** Receives a push as a web-standard request. */
  fetch(request: Request): Promise<Response>;
  /** Receives a push on a server of `node:http`. Nothing may have read the request's body yet. */
  listener(request: IncomingMessage, response: ServerResponse): void;
};

export type InboxDeps = {
  readonly agent_id: AgentId;
  /** A push must be signed with one of these secrets. Without any, signatures are not checked. */
  readonly pushSecrets: readonly string[];
  /** The largest body that is read. */
  readonly maxPushBytes: number;
  readonly work: Pick<Work, 'take'>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
};

/** A push, however it was received. */
type Push = {
  readonly method: string;
  header(name: string): string | undefined;
  /** The chunks of its body. */
  readonly body: AsyncIterable<Uint8Array>;
};

/** How many bytes of unfinished bodies are held, of all senders together; two of the largest always fit. */
const READING_BYTES_MAX = 67_108_864;
const BUSY_SECONDS = 1;
/** How often a refused push is logged at most, because any sender can cause one. */
const REFUSAL_EVERY_MS = 60_000;

export function createInbox(deps: InboxDeps): Inbox {
  const reading = { bytes: 0 };
  const sayRefusal = createRefusals(deps);

  /** Returns the status of the response: 500 if the push can't be read or the agent is at fault. */
  async function receive(push: Push): Promise<number> {
    try {
      return await receivePush(deps, push, reading, sayRefusal);
    } catch (error) {
      deps.onError(error);
      return 500;
    }
  }

  return {
    async fetch({ method, headers, body }) {
      const chunks = body ? readChunks(body) : noChunks();
      const status = await receive({
        method,
        header: (name) => headers.get(name) ?? undefined,
        body: chunks,
      });
      return new Response(null, { status, headers: createHeaders(status) });
    },
    listener(request, response) {
      const { method = '', headers } = request;
      const header = (name: string) => [headers[name] ?? []].flat()[0];
      const body = request.iterator({ destroyOnReturn: false });
      receive({ method, header, body })
        .then((status) => {
          if (response.headersSent) return;
          response.writeHead(status, { ...createHeaders(status), 'Content-Length': 0 }).end();
        })
        .catch(deps.onError);
    },
  };
}

function createHeaders(status: number): Record<string, string> {
  switch (status) {
    case 503:
      return { 'Retry-After': String(BUSY_SECONDS) };
    case 429:
      return { 'Retry-After': String(BUSY_SECONDS), Connection: 'close' };
    case 405:
      return { Allow: 'POST' };
    case 413:
      // Without it the sender would go on with the rest of the body.
      return { Connection: 'close' };
    default:
      return {};
  }
}

/** Creates the function that logs why a push was refused, at most once a minute. */
function createRefusals({ clock, onError }: InboxDeps): (reason: string) => void {
  let saidMs = Number.NEGATIVE_INFINITY;
  return (reason) => {
    const nowMs = readMonotonicMs(clock);
    if (nowMs - saidMs < REFUSAL_EVERY_MS) return;
    saidMs = nowMs;
    onError(new Error(`a push was refused with 401: ${reason}`));
  };
}

/** Checks a push and takes its task. Returns the status of the response. */
async function receivePush(
  deps: InboxDeps,
  push: Push,
  reading: { bytes: number },
  sayRefusal: (reason: string) => void,
): Promise<number> {
  const { agent_id, pushSecrets, work, clock } = deps;
  if (push.method !== 'POST') return 405;
  const body = await readBody(push.body, deps.maxPushBytes, reading);
  if (typeof body === 'number') return body;
  const signed = {
    id: push.header('webhook-id'),
    timestamp: push.header('webhook-timestamp'),
    signature: push.header('webhook-signature'),
    body,
  };
  const refusal = pushSecrets.length > 0 ? findRefusal(signed, pushSecrets, clock.nowMs()) : null;
  if (refusal !== null) {
    sayRefusal(refusal);
    return 401;
  }
  const task = readTask(body);
  if (!task) return 422;
  if (task.agent_id !== agent_id) return 404;
  const trace = readTraceHeaders(push.header('traceparent'), push.header('tracestate'));
  const arrival = { kind: 'push' as const, trace, ...readSentSeconds(signed.timestamp) };
  switch (work.take(task, readTimeLeft(task, push.header('task-remaining')), arrival)) {
    case 'taken':
      return 202;
    case 'duplicate':
      return 409;
    case 'full':
    case 'closed':
      return 503;
  }
}

function readSentSeconds(timestamp: string | undefined): { sentSeconds?: number } {
  return timestamp && /^\d{1,12}$/.test(timestamp) ? { sentSeconds: Number(timestamp) } : {};
}

/**
 * Returns the whole body, or the status of the response: 413 if the body is too large, 429 if too much is
 * being read at once. `reading` counts the bytes of all unfinished bodies.
 */
async function readBody(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
  reading: { bytes: number },
): Promise<Uint8Array | 413 | 429> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      reading.bytes += chunk.length;
      if (bytes > bytesMax) return 413;
      if (reading.bytes > Math.max(READING_BYTES_MAX, 2 * bytesMax)) return 429;
      parts.push(chunk);
    }
    return Buffer.concat(parts);
  } finally {
    reading.bytes -= bytes;
  }
}

/** Yields the chunks of a web stream, and cancels the stream when the reader leaves its loop. */
async function* readChunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Nobody uses the result, and it may never come.
    reader.cancel().catch(() => undefined);
  }
}

async function* noChunks(): AsyncGenerator<Uint8Array, void, undefined> {}

/**
 * Returns the task in a body, or undefined if it is not JSON in UTF-8 with the fields that the SDK relies on.
 */
function readTask(body: Uint8Array): RunningTask | undefined {
  try {
    const task = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    const isTask =
      typeof task?.request_id === 'string' &&
      task.request_id !== '' &&
      typeof task.task_type === 'string' &&
      Array.isArray(task.task_tags) &&
      typeof task.payload === 'object' &&
      task.payload !== null &&
      typeof task.agent_id === 'string' &&
      typeof task.timeout === 'number';
    return isTask ? task : undefined;
  } catch {
    return undefined;
  }
}

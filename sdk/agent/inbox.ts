/**
 * How an agent receives pushes, whether as a web-standard `Request`, on a server of the caller's, or on one
 * that the agent opens itself. It responds at once, and works on the task afterwards. The status of the
 * response:
 *
 *   202  taken                              405  not a POST
 *   401  signature wrong, or too old        409  the agent has or had this task
 *   404  another agent's task               413  body too large
 *   422  not a task                         503  no free slot, or draining
 *                                           500  the body could not be read, or the agent is at fault
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { RunningTask } from '../contract.ts';
import { isAuthentic } from './signature.ts';
import { readTimeLeft } from './task-run.ts';
import type { Work } from './work.ts';

export type Inbox = {
  /** Receives a push as a web-standard request. */
  fetch(request: Request): Promise<Response>;
  /** Receives a push on a server of `node:http`. The request's body must not have been read yet. */
  listener(request: IncomingMessage, response: ServerResponse): void;
};

export type InboxDeps = {
  readonly agent_id: string;
  /** A push must be signed with one of these. If there are none, signatures are not checked. */
  readonly pushSecrets: readonly string[];
  readonly work: Pick<Work, 'take'>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
};

/** A push, independent of how it was received. */
type Push = {
  readonly method: string;
  header(name: string): string | undefined;
  /** The chunks of its body. */
  readonly body: AsyncIterable<Uint8Array>;
};

/** Twice the limit of a submission: a task is little larger than its submission. */
const BODY_BYTES_MAX = 8_388_608;
const BUSY_SECONDS = 1;

/** Creates the inbox of one agent. */
export function createInbox(deps: InboxDeps): Inbox {
  /** Returns the status of the response. It is 500 when reading the push fails or the agent is at fault. */
  async function receive(push: Push): Promise<number> {
    try {
      return await receivePush(deps, push);
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
      void receive({ method, header, body }).then((status) => {
        if (response.headersSent) return;
        response.writeHead(status, { ...createHeaders(status), 'Content-Length': 0 }).end();
      });
    },
  };
}

function createHeaders(status: number): Record<string, string> {
  switch (status) {
    case 503:
      return { 'Retry-After': String(BUSY_SECONDS) };
    case 405:
      return { Allow: 'POST' };
    case 413:
      // Otherwise the sender would keep sending the rest of the body.
      return { Connection: 'close' };
    default:
      return {};
  }
}

/** Checks a push and takes its task. Returns the status of the response. */
async function receivePush(deps: InboxDeps, push: Push): Promise<number> {
  const { agent_id, pushSecrets, work, clock } = deps;
  if (push.method !== 'POST') return 405;
  const body = await readBody(push.body);
  if (!body) return 413;
  const signed = {
    id: push.header('webhook-id'),
    timestamp: push.header('webhook-timestamp'),
    signature: push.header('webhook-signature'),
    body,
  };
  if (pushSecrets.length > 0 && !isAuthentic(signed, pushSecrets, clock.nowMs())) return 401;
  const task = readTask(body);
  if (!task) return 422;
  if (task.agent_id !== agent_id) return 404;
  switch (work.take(task, readTimeLeft(task, push.header('task-remaining')))) {
    case 'taken':
      return 202;
    case 'duplicate':
      return 409;
    case 'full':
    case 'closed':
      return 503;
  }
}

/** Returns the whole body, or undefined if it is too large. */
async function readBody(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    parts.push(chunk);
  }
  return Buffer.concat(parts);
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
    await reader.cancel();
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

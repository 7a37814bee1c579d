/**
 * How an agent takes pushes: judged the same way whether they come as a web-standard `Request`, to a server of the
 * caller's, or to one that the agent opens itself. Answered at once: 202 taken, 409 "I have it", 503 busy or leaving,
 * 401 not signed by the gateway or not of now, 404 not this agent's, 405 no POST, 413 too large, 422 no task. Nothing
 * but a taken task reaches the handler. The work goes on after the answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { RunningTask } from '../contract.ts';
import { isAuthentic } from './signature.ts';
import { remainingMs } from './time-left.ts';
import type { Work } from './work.ts';

export type Inbox = {
  /** Answers a push that came as a web-standard request. */
  fetch(request: Request): Promise<Response>;
  /** Answers a push that came to a server of `node:http`. Its body must not have been read yet. */
  listener(request: IncomingMessage, response: ServerResponse): void;
};

export type InboxDeps = {
  readonly agent_id: string;
  /** A push signed with none of these is refused; without any, signatures are not looked at. */
  readonly pushSecrets: readonly string[];
  readonly work: Pick<Work, 'take'>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
};

/** A push, however it came. */
type Push = {
  readonly method: string;
  header(name: string): string | undefined;
  /** The chunks of its body. */
  readonly body: AsyncIterable<Uint8Array>;
};

/** Twice what a gateway takes as a submission: a task is little more than that. */
const BODY_BYTES_MAX = 8_388_608;
const BUSY_SECONDS = 1;

/** Creates the inbox of one agent. */
export function createInbox(deps: InboxDeps): Inbox {
  /** The status of the answer; a push that breaks off or a fault of ours is told and answered 500. */
  async function judge(push: Push): Promise<number> {
    try {
      return await judgePush(deps, push);
    } catch (error) {
      deps.onError(error);
      return 500;
    }
  }

  return {
    async fetch({ method, headers, body }) {
      const chunks = body ? readChunks(body) : noChunks();
      const status = await judge({ method, header: (name) => headers.get(name) ?? undefined, body: chunks });
      return new Response(null, { status, headers: headersOf(status) });
    },
    listener(request, response) {
      const { method = '', headers } = request;
      const header = (name: string) => [headers[name] ?? []].flat()[0];
      const body = request.iterator({ destroyOnReturn: false });
      void judge({ method, header, body }).then((status) => {
        if (response.headersSent) return;
        response.writeHead(status, { ...headersOf(status), 'Content-Length': 0 }).end();
      });
    },
  };
}

function headersOf(status: number): Record<string, string> {
  switch (status) {
    case 503:
      return { 'Retry-After': String(BUSY_SECONDS) };
    case 405:
      return { Allow: 'POST' };
    case 413:
      // Whoever sends more than is read would otherwise go on sending.
      return { Connection: 'close' };
    default:
      return {};
  }
}

async function judgePush(deps: InboxDeps, push: Push): Promise<number> {
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
  switch (work.take(task, remainingMs(task, push.header('task-remaining')))) {
    case 'taken':
      return 202;
    case 'held':
      return 409;
    case 'full':
    case 'closed':
      return 503;
  }
}

/** The whole body, or nothing if it is too large. */
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

/** A web stream as chunks; left early, the rest is given up. */
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

/** The task in a body: JSON in UTF-8 with the fields of §2.1 that the kit leans on. */
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

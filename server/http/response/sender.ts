/**
 * The one place where responses are written: short, large, in parts or as a stream, each only as fast as its
 * reader takes it. When an answer arrives here, its status and headers are decided. The sender decides only
 * when the connection is closed.
 *
 *   answer ──► a stream ───────────────────────► stream/
 *          ──► parts ──────────────────────────► part by part
 *          ──► its request is still arriving ──► whole, then the connection is closed
 *          ──► long ───────────────────────────► slice by slice
 *          ──► short ──────────────────────────► in one write
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Answer, EventSource, HeaderList, Parts } from '../answers.ts';
import { createResponseWriter, SLICE_BYTES, type WriterDeps } from './response-writer.ts';

type Deps = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  readonly limits: { readonly bodyBytesMax: number };
  /** Fires when the server drains. */
  readonly draining: AbortSignal;
  readonly writers: WriterDeps;
  readonly streams: {
    /** Begins a stream; rejects, with nothing written, where it can't begin. */
    serve(events: EventSource, response: ServerResponse, headers: HeaderList): Promise<void>;
  };
};

/**
 * Writes an answer, its headers behind those that are set already. Returns the answer that was sent when a
 * short one is written and any other has begun; instead of a stream it may be a problem. Never rejects.
 */
export type SendAnswer = (
  req: IncomingMessage,
  res: ServerResponse,
  answer: Answer,
) => Answer | Promise<Answer>;

/** How long a response waits for a caller that is still sending, so that it isn't lost in a reset. */
const LINGER_MS = 2_000;

/** Creates the sender. */
export function createSender(deps: Deps): SendAnswer {
  const { draining, limits, streams } = deps;

  async function sendStream(
    req: IncomingMessage,
    res: ServerResponse,
    answer: Extract<Answer, { kind: 'stream' }>,
  ): Promise<Answer> {
    try {
      await streams.serve(answer.events, res, answer.headers);
      return answer;
    } catch (error) {
      return await send(req, res, answer.refuse(error));
    }
  }

  const send: SendAnswer = (req, res, answer) => {
    if (answer.kind === 'none') {
      res.destroy();
      return answer;
    }
    if (res.destroyed || res.writableEnded) {
      if (answer.kind === 'reply' && isInParts(answer.body)) answer.body.end();
      return answer;
    }
    if (answer.kind === 'stream') return sendStream(req, res, answer);
    const { body, status, code, headers } = answer;
    if (isInParts(body)) {
      res.writeHead(status, headers);
      void sendParts(deps, res, body, answer.operation);
      return answer;
    }
    // If the body is late already, it is not waited for.
    const isReadOn = code !== 'request_timeout' && isBodyBounded(req, limits.bodyBytesMax);
    // A read is refused as busy after a wait; requests behind it on its connection would wait as long.
    if (code === 'busy' && req.method === 'GET') {
      headers.splice(headers.indexOf('Content-Length'), 0, 'Connection', 'close');
    } else if (draining.aborted || !isReadOn) headers.push('Connection', 'close');
    if (!isReadOn && body === null && req.method !== 'HEAD') headers.push('Content-Length', '0');
    res.writeHead(status, headers);
    if (!isReadOn) return sendBeforeBody(deps, req, res, body).then(() => answer);
    if (Buffer.isBuffer(body) && body.length > SLICE_BYTES) void sendSlices(deps, res, body);
    else if (body === null) res.end();
    else res.end(body);
    return answer;
  };
  return send;
}

function isInParts(body: string | Buffer | Parts | null): body is Parts {
  return typeof body === 'object' && body !== null && 'next' in body;
}

/** Whether the rest of the body is small enough to be discarded, so that the connection can be kept. */
function isBodyBounded({ complete, headers }: IncomingMessage, bodyBytesMax: number): boolean {
  if (complete) return true;
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= bodyBytesMax;
}

/** Writes the whole body as fast as its reader takes it. Never rejects. */
async function sendSlices({ writers }: Deps, res: ServerResponse, body: Buffer): Promise<void> {
  await createResponseWriter(res, writers).write(body);
  res.end();
}

/** Sends the response, discards what still arrives for a moment, then closes the connection. */
async function sendBeforeBody(
  { clock, writers }: Deps,
  req: IncomingMessage,
  res: ServerResponse,
  body: string | Buffer | null,
): Promise<void> {
  res.flushHeaders();
  if (body !== null && body.length > 0) await createResponseWriter(res, writers).write(Buffer.from(body));
  const ended = new AbortController();
  for (const event of ['end', 'close', 'error']) req.once(event, () => ended.abort('ended'));
  res.once('close', () => ended.abort('ended'));
  req.resume();
  await clock.sleep(LINGER_MS, ended.signal);
  res.end();
}

/**
 * Writes parts until there are no more or the reader is gone. An error behind the first part is logged and
 * ends the connection: half a body must not look like a whole one. Never rejects.
 */
async function sendParts(
  { writers, log }: Deps,
  res: ServerResponse,
  parts: Parts,
  operation: string | undefined,
): Promise<void> {
  const writer = createResponseWriter(res, writers);
  try {
    await writer.write(Buffer.from(parts.first));
    while (!writer.signal.aborted) {
      const part = await parts.next();
      if (part.done) break;
      await writer.write(Buffer.from(part.value));
    }
    res.end();
  } catch (error) {
    log.error({ err: error, operation }, 'a response was cut off behind its first part');
    res.destroy();
  } finally {
    parts.end();
  }
}

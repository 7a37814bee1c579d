/**
 * A gateway without a network: it answers a `Request` of the platform with a `Response`. `http/serve.ts`
 * decides everything that a caller sees; this file carries it: bodies, streams, callers that leave.
 */

import { SMALL_LENGTH_MAX } from '../domain/value-size.ts';
import { type Answer, type ApiRequest, isInParts, type Parts } from '../http/answers.ts';
import { CallerGone } from '../http/problems.ts';
import type { Serve } from '../http/serve.ts';
import type { StreamLimits } from '../http/stream/admission.ts';
import type { Clock } from '../ports/clock.ts';
import { createEventStreams } from './event-streams.ts';
import { NoResponse } from './faults.ts';
import { describeHeaders, type Transcript } from './transcript.ts';
import type { Activity } from './virtual-clock.ts';

type Deps = {
  readonly clock: Clock;
  readonly serve: Serve;
  readonly limits: StreamLimits;
  readonly transcript: Transcript;
  readonly activity: Activity;
};

/**
 * Responds to a request under this path. Rejects as `fetch` does: if the caller has left, with the signal's
 * reason; if a fault takes the response away, with a `NoResponse`.
 */
export type AnswerRequest = (request: Request, path: string, signal: AbortSignal) => Promise<Response>;

/** Creates it. */
export function createAnswerRequest(deps: Deps): {
  readonly answer: AnswerRequest;
  /** How many streams are open. */
  readonly streamCount: () => number;
} {
  const { serve, transcript, activity } = deps;
  let calls = 0;

  function note(call: number, kind: string, fields: object): void {
    activity.noteDue();
    transcript.note(Object.assign({ kind, call }, fields));
  }
  const streams = createEventStreams({ clock: deps.clock, limits: deps.limits, note });

  async function respond(call: number, answer: Answer, signal: AbortSignal): Promise<Response> {
    const { status, headers, body, refuse } = answer;
    if (status === null) throw signal.reason;
    const init = { status, headers: pairUp(headers) };
    const noteHead = (more: object): void =>
      note(call, 'response', Object.assign({ status, headers: describeHeaders(init.headers) }, more));
    if (typeof body === 'object' && body !== null && 'open' in body) {
      try {
        return new Response(await streams.open(call, body, signal, () => noteHead({})), init);
      } catch (error) {
        if (!refuse || error instanceof NoResponse) throw error;
        return await respond(call, refuse(error), signal);
      }
    }
    noteHead(body === null ? {} : { body: describeBody(body) });
    return new Response(isInParts(body) ? streamParts(body) : (body as BodyInit | null), init);
  }

  const answer: AnswerRequest = async (request, path, signal) => {
    signal.throwIfAborted();
    calls += 1;
    const call = calls;
    const { promise: left, reject } = Promise.withResolvers<never>();
    const leave = (): void => reject(signal.reason);
    signal.addEventListener('abort', leave);
    left.catch(() => undefined);
    try {
      const reading = request.body === null ? null : activity.track(request.arrayBuffer());
      const bytes = reading && Buffer.from(await Promise.race([reading, left]));
      const { search } = new URL(request.url);
      const headers = describeHeaders(request.headers);
      const text = bytes === null ? {} : { body: bytes.toString('utf8') };
      note(
        call,
        'request',
        Object.assign({ method: request.method, path: `${path}${search}`, headers }, text),
      );
      const answer = await Promise.race([serve(describeRequest(request, path, search, bytes, signal)), left]);
      return await respond(call, answer, signal);
    } catch (error) {
      note(call, signal.aborted ? 'left' : 'no_response', {});
      throw error;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  };
  return { answer, streamCount: streams.count };
}

const encoder = new TextEncoder();

/**
 * A request as `serve` reads it, with the header that its connection would have added. There is no `Host`: in
 * a variable no name is foreign.
 */
function describeRequest(
  request: Request,
  path: string,
  search: string,
  bytes: Buffer | null,
  signal: AbortSignal,
): ApiRequest {
  const { host: _, ...headers }: Record<string, string> = Object.fromEntries(request.headers);
  if (bytes !== null) headers['content-length'] = String(bytes.length);
  return {
    method: request.method,
    path,
    query: search.slice(1),
    headers,
    readBody() {
      if (signal.aborted) return Promise.reject(new CallerGone());
      const collected = bytes ?? Buffer.alloc(0);
      return Promise.resolve({
        bytes: collected,
        isLarge: collected.length > SMALL_LENGTH_MAX,
        release: () => undefined,
      });
    },
    left: () => signal,
  };
}

function pairUp(list: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let index = 0; index < list.length; index += 2) pairs.push([list[index] ?? '', list[index + 1] ?? '']);
  return pairs;
}

function describeBody(body: string | Buffer | Parts): string {
  return typeof body === 'string' ? body : isInParts(body) ? body.first : body.toString('utf8');
}

/** A body in parts, as fast as it is read. If a part can't be rendered, it ends with an error. */
function streamParts(parts: Parts): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(parts.first)),
    async pull(controller) {
      const next = await parts.next();
      if (next.done) controller.close();
      else controller.enqueue(encoder.encode(next.value));
    },
    cancel: () => parts.end(),
  });
}

/**
 * A gateway without a network: it answers a `Request` of the platform with a `Response`. The gateway's own
 * application decides everything that a caller sees; light-my-request calls it in process. This file carries
 * bodies and streams, and tells the application when callers leave.
 */
import type { RequestListener, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import inject from 'light-my-request';
import { describeHeaders, type Transcript } from './transcript.ts';
import type { Activity } from './virtual-clock.ts';

type Deps = {
  readonly listener: RequestListener;
  readonly transcript: Transcript;
  readonly activity: Activity;
};

/**
 * Responds to a request under this path. Rejects as `fetch` does: with the signal's reason if the caller has
 * left, with a `NoResponse` if a fault takes the response away.
 */
export type AnswerRequest = (request: Request, path: string, signal: AbortSignal) => Promise<Response>;

/** Statuses whose responses have no body, not even an empty one. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

export function createAnswerRequest({ listener, transcript, activity }: Deps): AnswerRequest {
  let calls = 0;

  return async (request, path, signal) => {
    signal.throwIfAborted();
    calls += 1;
    const call = calls;
    const note = (kind: string, fields: object): void => {
      activity.noteDue();
      transcript.note(Object.assign({ kind, call }, fields));
    };
    const { promise: left, reject } = Promise.withResolvers<never>();
    let response: ServerResponse | undefined;
    const leave = (): void => {
      reject(signal.reason);
      response?.destroy();
    };
    signal.addEventListener('abort', leave);
    left.catch(() => undefined);
    const serve: RequestListener = (req, res) => {
      response = res;
      res.once('close', () => signal.removeEventListener('abort', leave));
      if (signal.aborted) res.destroy();
      else listener(req, res);
    };
    try {
      const reading = request.body === null ? null : activity.track(request.arrayBuffer());
      const bytes = reading && Buffer.from(await Promise.race([reading, left]));
      const { search } = new URL(request.url);
      const headers = describeHeaders(request.headers);
      const { method } = request;
      const text = bytes === null ? {} : { body: bytes.toString('utf8') };
      note('request', Object.assign({ method, path: `${path}${search}`, headers }, text));
      // `Host` is left out: nobody can reach a gateway in a variable by a foreign name.
      const { host: _, ...sent } = Object.fromEntries(request.headers);
      const {
        statusCode,
        headers: received,
        stream,
      } = await Promise.race([
        inject(serve, {
          method: method as 'GET',
          url: `${path}${search}`,
          headers: sent,
          payloadAsStream: true,
          validate: false,
          ...(bytes && { payload: bytes }),
        }),
        left,
      ]);
      signal.throwIfAborted();
      const kept = Object.entries(received).filter(([name]) => !OF_CONNECTION.test(name));
      const init = {
        status: statusCode,
        headers: kept.map(([name, value]) => [name, String(value)] as [string, string]),
      };
      const head = { status: statusCode, headers: describeHeaders(init.headers) };
      const body = stream();
      if (method !== 'HEAD' && received['content-type'] === 'text/event-stream') {
        note('response', head);
        const hangUp = (): void => void response?.destroy();
        return new Response(followPieces(body, { signal, note, hangUp }), init);
      }
      const whole = await activity.track(readWhole(body));
      signal.throwIfAborted();
      const isEmpty = method === 'HEAD' || BODILESS.has(statusCode);
      note('response', isEmpty ? head : Object.assign(head, { body: whole.toString('utf8') }));
      return new Response(isEmpty ? null : new Uint8Array(whole), init);
    } catch (error) {
      note(signal.aborted ? 'left' : 'no_response', {});
      throw signal.aborted ? signal.reason : error;
    }
  };
}

/** Headers of a connection, which does not exist here. */
const OF_CONNECTION = /^(connection|date|keep-alive|transfer-encoding)$/;

async function readWhole(body: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}

type Reading = {
  readonly signal: AbortSignal;
  readonly note: (kind: string, fields: object) => void;
  /** Ends the call, like a caller that closes its connection. */
  readonly hangUp: () => void;
};

/**
 * Passes on the pieces of a stream as they are read. The result fails if the stream is cut or the caller
 * leaves.
 */
function followPieces(body: Readable, { signal, note, hangUp }: Reading): ReadableStream<Uint8Array> {
  const decoder = new TextDecoder();
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const leave = (): void => void body.destroy(new Error('The caller has left.'));
      signal.addEventListener('abort', leave);
      body.once('close', () => signal.removeEventListener('abort', leave));
      body.on('data', (piece: Buffer) => {
        note('piece', { text: decoder.decode(piece) });
        controller.enqueue(piece);
        if ((controller.desiredSize ?? 0) <= 0) body.pause();
      });
      body.once('end', () => {
        note('end', {});
        controller.close();
      });
      body.on('error', (error) => {
        if (!signal.aborted) note('cut', {});
        const cause = signal.aborted ? signal.reason : new TypeError('The stream was cut.', { cause: error });
        controller.error(cause);
      });
    },
    pull: () => void body.resume(),
    cancel() {
      for (const event of ['data', 'end', 'error']) body.removeAllListeners(event);
      body.on('error', () => undefined).destroy();
      hangUp();
    },
  });
}

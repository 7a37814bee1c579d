/**
 * Follows the events of one session. Each connection is opened with one attempt; the feed that reads it makes
 * the next one.
 */
import type { SessionId } from '../contract.ts';
import { createForeignError, requireNumber } from '../errors.ts';
import { type SecretSource, withSecret } from '../secrets.ts';
import {
  type CallOptions,
  type CallSettings,
  createResponseError,
  type FetchResult,
  type Network,
  openOnce,
  requireResult,
} from '../transport.ts';
import { type FeedDeps, type FeedItem, followFeed, IDLE_MS, type OpenStream } from './follow.ts';

/**
 * Sends the request for the stream with the `fetch` it is given. The body of a success is returned unread.
 */
export type RequestStream = (request: {
  readonly params: { readonly query: { readonly cli_session_id: string } };
  readonly headers: Record<string, string>;
  readonly fetch: (request: Request) => Promise<Response>;
}) => Promise<FetchResult & { readonly data?: ReadableStream<Uint8Array> | null }>;

/** How a client opens streams, with the same settings as its calls. */
export type StreamDeps = Network &
  Pick<CallSettings, 'timeoutMs'> & { readonly auth: SecretSource; readonly requestStream: RequestStream };

/** The request of one feed. */
type Following = Pick<FeedDeps, 'cursor' | 'signal'> &
  Pick<CallOptions, 'timeoutMs' | 'headers'> & { readonly idleMs?: number | undefined };

/** Follows a session as `followFeed` does, and throws also what the calls throw and `not_an_event_stream`. */
export function followSession(
  deps: StreamDeps,
  session: SessionId,
  { cursor, signal, headers, ...options }: Following,
): AsyncGenerator<FeedItem, void, undefined> {
  const { clock, log, maxResponseBytes } = deps;
  const idleMs = requireNumber({ name: 'idleMs', value: options.idleMs }, IDLE_MS, 1);
  const timeoutMs = requireNumber({ name: 'timeoutMs', value: options.timeoutMs }, deps.timeoutMs, 1);
  const openStream = createOpenStream(deps, session, { timeoutMs, headers });
  return followFeed({ openStream, clock, log, maxResponseBytes, cursor, idleMs, signal });
}

function createOpenStream(
  deps: StreamDeps,
  session: SessionId,
  { timeoutMs, headers }: Pick<Following, 'headers'> & { readonly timeoutMs: number },
): OpenStream {
  return (lastEventId, signal) =>
    withSecret(deps.auth, { clock: deps.clock, signal, timeoutMs }, async (auth) => {
      const result = await requireResult(() =>
        deps.requestStream({
          params: { query: { cli_session_id: session } },
          headers: { ...headers },
          fetch(request) {
            // Set last, they replace headers of the caller's in any spelling.
            request.headers.set('accept', 'text/event-stream');
            request.headers.set('authorization', `Bearer ${auth}`);
            // An id that fits in no header is not from a gateway. Without one the stream starts from the
            // first stored event.
            if (lastEventId && /^[\x20-\x7e]+$/.test(lastEventId)) {
              request.headers.set('last-event-id', lastEventId);
            }
            return openOnce(deps, { signal, timeoutMs }, request);
          },
        }),
      );
      const { data, response } = result;
      if (!response.ok) throw createResponseError(deps, result, 1);
      if (data && isEventStream(response.headers.get('content-type'))) return data;
      data?.cancel().catch(() => undefined);
      throw createForeignError('not_an_event_stream', 'sends no event stream');
    });
}

/** Whether a content type is that of event streams: in any case, with or without parameters. */
function isEventStream(type: string | null): boolean {
  return /^\s*text\/event-stream\s*(;|$)/i.test(type ?? '');
}

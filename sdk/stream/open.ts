/**
 * Opens the stream of a session's events, with one attempt. Retries are made by the feed that reads the
 * stream.
 */
import type { SessionId } from '../contract.ts';
import { createForeignError } from '../errors.ts';
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

/** Opens a session's stream once. The signal must belong to this connection alone. */
export type OpenSession = (
  session: SessionId,
  lastEventId: string | undefined,
  options: { readonly signal: AbortSignal } & Pick<CallOptions, 'timeoutMs' | 'headers'>,
) => Promise<ReadableStream<Uint8Array>>;

/**
 * Sends the request for the stream with the `fetch` it is given. The body of a success is returned unread.
 */
type RequestStream = (request: {
  readonly params: { readonly query: { readonly cli_session_id: string } };
  readonly headers: Record<string, string>;
  readonly fetch: (request: Request) => Promise<Response>;
}) => Promise<FetchResult & { readonly data?: ReadableStream<Uint8Array> | null }>;

type OpenSessionDeps = Network &
  Pick<CallSettings, 'timeoutMs'> & {
    readonly auth: SecretSource;
  };

/** Creates the function that opens streams. It throws what the calls throw, and `not_an_event_stream`. */
export function createOpenSession(deps: OpenSessionDeps, requestStream: RequestStream): OpenSession {
  return (session, lastEventId, { signal, timeoutMs = deps.timeoutMs, headers }) =>
    withSecret(deps.auth, { clock: deps.clock, signal, timeoutMs }, async (auth) => {
      const result = await requireResult(() =>
        requestStream({
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

/** Opens the stream of a session's events, with one attempt. Retries are made by the feed that reads the stream. */
import type { SessionId } from '../contract.ts';
import { ConnectionError } from '../errors.ts';
import { createBearerHeaders, withSecret } from '../secrets.ts';
import {
  type CallOptions,
  type CallSettings,
  createResponseError,
  type FetchResult,
  type Network,
  openOnce,
} from '../transport.ts';

/** Opens a session's stream once. The signal must belong to this connection alone. */
export type OpenSession = (
  session: SessionId,
  lastEventId: string | undefined,
  options: { readonly signal: AbortSignal } & Pick<CallOptions, 'timeoutMs' | 'headers'>,
) => Promise<ReadableStream<Uint8Array>>;

/** Sends the request for the stream with the `fetch` it is given. The body of a success is returned unread. */
export type RequestStream = (request: {
  readonly params: {
    readonly query: { readonly cli_session_id: string };
    readonly header: { readonly 'Last-Event-ID'?: string };
  };
  readonly headers: Record<string, string>;
  readonly fetch: (request: Request) => Promise<Response>;
}) => Promise<FetchResult<ReadableStream<Uint8Array> | null>>;

export type OpenSessionDeps = Network &
  Pick<CallSettings, 'timeoutMs'> & {
    /** Resolves to the current secret. */
    readonly auth: () => Promise<string>;
  };

/** Creates the function that opens streams. It throws what the calls throw, and `not_an_event_stream`. */
export function createOpenSession(deps: OpenSessionDeps, requestStream: RequestStream): OpenSession {
  return (session, lastEventId, { signal, timeoutMs = deps.timeoutMs, headers }) => {
    // An id that fits in no header is not from a gateway. Without one the stream starts from the first stored event.
    const header = lastEventId && /^[\x20-\x7e]+$/.test(lastEventId) ? { 'Last-Event-ID': lastEventId } : {};
    return withSecret(deps.auth, async (auth) => {
      const result = await requestStream({
        params: { query: { cli_session_id: session }, header },
        headers: { ...createBearerHeaders({ headers }, auth), accept: 'text/event-stream' },
        fetch: (request) => openOnce(deps, { signal, timeoutMs }, request),
      });
      if (!result.response.ok) throw createResponseError(deps, result, 1);
      const isStream = result.response.headers.get('content-type')?.startsWith('text/event-stream');
      if (result.data && isStream) return result.data;
      await result.data?.cancel();
      throw new ConnectionError(
        'not_an_event_stream',
        'The response at this address is not an event stream. Check baseUrl.',
      );
    });
  };
}

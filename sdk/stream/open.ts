/**
 * Opens the stream of a session's events, with one attempt. Retries are made by the feed that reads the
 * stream.
 */
import type { SessionId } from '../contract.ts';
import { ConnectionError } from '../errors.ts';
import { createRequestBuilder } from '../requests.ts';
import { withSecret } from '../secrets.ts';
import { type CallOptions, type CallSettings, type Network, openOnce } from '../transport.ts';

/** Opens a session's stream once. The signal must belong to this connection alone. */
export type OpenSession = (
  session: SessionId,
  lastEventId: string | undefined,
  options: { readonly signal: AbortSignal } & Pick<CallOptions, 'timeoutMs' | 'headers'>,
) => Promise<ReadableStream<Uint8Array>>;

export type OpenSessionDeps = Network &
  Pick<CallSettings, 'timeoutMs'> & {
    readonly baseUrl: string;
    readonly headers: Readonly<Record<string, string>>;
    /** Resolves to the current secret. */
    readonly auth: () => Promise<string>;
  };

/** Creates the function that opens streams. It throws what the calls throw, and `not_an_event_stream`. */
export function createOpenSession(deps: OpenSessionDeps): OpenSession {
  return (session, lastEventId, { signal, timeoutMs = deps.timeoutMs, headers }) => {
    // An id that fits in no header is not from a gateway. Without one the stream starts from the first stored
    // event.
    const resume = lastEventId && /^[\x20-\x7e]+$/.test(lastEventId) ? { 'last-event-id': lastEventId } : {};
    return withSecret(deps.auth, async (auth) => {
      const own = { accept: 'text/event-stream', authorization: `Bearer ${auth}`, ...resume };
      const createRequest = createRequestBuilder(deps.baseUrl, {
        path: '/api/cli/events',
        query: { cli_session_id: session },
        headers: [deps.headers, headers, own],
      });
      const { body, headers: received } = await openOnce(deps, { signal, timeoutMs }, createRequest());
      if (body && isEventStream(received.get('content-type'))) return body;
      body?.cancel().catch(() => undefined);
      throw new ConnectionError(
        'not_an_event_stream',
        'The response at this address is not an event stream. Check baseUrl.',
      );
    });
  };
}

/** Whether a content type is that of event streams: in any case, with or without parameters. */
function isEventStream(type: string | null): boolean {
  return /^\s*text\/event-stream\s*(;|$)/i.test(type ?? '');
}

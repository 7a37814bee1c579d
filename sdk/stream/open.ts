/** Opens the stream of a session's events (§4.2): one attempt; whoever follows the feed makes the next. */
import type { CallsDeps } from '../calls.ts';
import type { SessionId } from '../contract.ts';
import { ConnectionError } from '../errors.ts';
import { bearer, withSecret } from '../secrets.ts';
import { type Answer, type CallOptions, openOnce, refuse } from '../transport.ts';

/** Opens a session's stream once; the signal is this connection's own. */
export type OpenSession = (
  session: SessionId,
  lastEventId: string | undefined,
  options: { readonly signal: AbortSignal } & Pick<CallOptions, 'timeoutMs' | 'headers'>,
) => Promise<ReadableStream<Uint8Array>>;

/** Sends the request that subscribes, with the `fetch` it is given; a success is answered as it streams. */
export type Subscribe = (request: {
  readonly params: {
    readonly query: { readonly cli_session_id: string };
    readonly header: { readonly 'Last-Event-ID'?: string };
  };
  readonly headers: Record<string, string>;
  readonly fetch: (request: Request) => Promise<Response>;
}) => Promise<Answer<ReadableStream<Uint8Array> | null>>;

/** Creates the way to open sessions. Throws as the calls do, and `not_an_event_stream`. */
export function createOpenSession(deps: CallsDeps, subscribe: Subscribe): OpenSession {
  return (session, lastEventId, { signal, timeoutMs = deps.timeoutMs, headers }) => {
    // An id that no header can carry is none of the gateway's; without one everything is sent again.
    const header = lastEventId && /^[\x20-\x7e]+$/.test(lastEventId) ? { 'Last-Event-ID': lastEventId } : {};
    return withSecret(deps.auth, async (auth) => {
      const answer = await subscribe({
        params: { query: { cli_session_id: session }, header },
        headers: { ...bearer({ headers }, auth), accept: 'text/event-stream' },
        fetch: (request) => openOnce(deps, { signal, timeoutMs }, request),
      });
      if (!answer.response.ok) throw refuse(deps, answer, 1);
      const isStream = answer.response.headers.get('content-type')?.startsWith('text/event-stream');
      if (answer.data && isStream) return answer.data;
      await answer.data?.cancel();
      throw new ConnectionError(
        'not_an_event_stream',
        'What answers at this address is not an event stream. Check baseUrl.',
      );
    });
  };
}

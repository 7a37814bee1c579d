/** Opens the stream of a session's events (§4.2): one attempt; whoever follows the feed makes the next. */
import type { CallsDeps } from './calls.ts';
import type { SessionId } from './contract.ts';
import { ConnectionError } from './errors.ts';
import { bearer, withSecret } from './secrets.ts';
import { type CallOptions, openOnce, refuse } from './transport.ts';

/** Opens a session's stream once; the signal is this connection's own. */
export type OpenSession = (
  session: SessionId,
  lastEventId: string | undefined,
  options: { readonly signal: AbortSignal } & Pick<CallOptions, 'timeoutMs' | 'headers'>,
) => Promise<ReadableStream<Uint8Array>>;

/** Sends the request with the `fetch` it is given. */
type AskForStream = (request: {
  readonly session: SessionId;
  readonly lastEventId: string | undefined;
  readonly headers: Record<string, string>;
  fetch(request: Request): Promise<Response>;
}) => Promise<{
  readonly data?: ReadableStream<Uint8Array> | null | undefined;
  readonly error?: unknown;
  readonly response: Response;
}>;

/** Creates the way to open sessions. Throws as the calls do, and `not_an_event_stream`. */
export function createOpenSession(deps: CallsDeps, ask: AskForStream): OpenSession {
  return (session, lastEventId, { signal, timeoutMs = deps.timeoutMs, headers }) => {
    return withSecret(deps.auth, async (auth) => {
      const answer = await ask({
        ...{ session, lastEventId },
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

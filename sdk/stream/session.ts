/**
 * Opens the gateway's streams, and reads the events of one session. It opens a connection with one attempt;
 * the feed that reads it makes the next one.
 */
import type { Ask } from '../admin-calls.ts';
import type { SessionId, TaskDone } from '../contract.ts';
import { createForeignError, requireNumber } from '../errors.ts';
import { runCallback } from '../log.ts';
import { checkTaskDone, readEnd } from '../responses.ts';
import { withSecret } from '../secrets.ts';
import type { CallsDeps, createSend } from '../sending.ts';
import { type CallOptions, createResponseError, openOnce, requireResult } from '../transport.ts';
import { type FeedDeps, type FeedItem, followFeed, IDLE_MS, type OpenStream } from './follow.ts';
import type { Reading, SubscribeOptions } from './subscription.ts';

/** The settings with which a client opens streams and reads pages; its calls have the same. */
export type StreamDeps = CallsDeps & { readonly ask: Ask; readonly send: ReturnType<typeof createSend> };

/** The cursor, the signal and the call options of one feed. */
export type Following = Pick<FeedDeps<unknown>, 'cursor' | 'signal'> &
  Pick<CallOptions, 'timeoutMs' | 'headers'> & { readonly idleMs?: number | undefined };

/** What a feed requests, which secret it sends, and how its events are read. */
type StreamTarget<Event> = Pick<FeedDeps<Event>, 'readEvent'> & {
  readonly path: Parameters<Ask>[1];
  readonly params: NonNullable<Parameters<Ask>[2]['params']>;
  readonly readsBy: CallsDeps['readsBy'];
};

/** Among this many of the last events duplicates are recognised. */
const SEEN_MAX = 10_000;

/** Reads a session as `followSession` does, and skips events that were read before. */
export async function* readSession(
  deps: StreamDeps,
  session: SessionId,
  { onNotice, ...following }: Omit<SubscribeOptions, 'signal'> & Reading,
): AsyncGenerator<TaskDone, void, undefined> {
  const isNew = createDuplicateFilter();
  for await (const item of followSession(deps, session, following)) {
    if (item.kind !== 'event') runCallback('onNotice', () => onNotice?.(item));
    else if (isNew(item.event.request_id)) yield item.event;
  }
}

/** Follows a session as `followFeed` does. Throws what the calls throw, and `not_an_event_stream`. */
export function followSession(
  deps: StreamDeps,
  session: SessionId,
  following: Following,
): AsyncGenerator<FeedItem<TaskDone>, void, undefined> {
  const params = { query: { cli_session_id: session } };
  return followStream(
    deps,
    {
      path: '/api/cli/events',
      params,
      readsBy: 'authorization',
      readEvent: (value) => (checkTaskDone(value) ? readEnd(value) : undefined),
    },
    following,
  );
}

/** Follows any stream of the gateway, not only a session's. */
export function followStream<Event>(
  deps: StreamDeps,
  { readEvent, ...target }: StreamTarget<Event>,
  { cursor, signal, headers, ...options }: Following,
): AsyncGenerator<FeedItem<Event>, void, undefined> {
  const { clock, log, maxResponseBytes } = deps;
  const idleMs = requireNumber({ name: 'idleMs', value: options.idleMs }, IDLE_MS, 1);
  const timeoutMs = requireNumber({ name: 'timeoutMs', value: options.timeoutMs }, deps.timeoutMs, 1);
  const openStream = createOpenStream(deps, target, { timeoutMs, headers });
  return followFeed({ openStream, readEvent, clock, log, maxResponseBytes, cursor, idleMs, signal });
}

function createOpenStream(
  deps: StreamDeps,
  { path, params, readsBy }: Omit<StreamTarget<unknown>, 'readEvent'>,
  { timeoutMs, headers }: Pick<Following, 'headers'> & { readonly timeoutMs: number },
): OpenStream {
  const isAdmin = readsBy === 'x-admin-auth';
  const source = isAdmin ? deps.adminAuth : deps.auth;
  return (lastEventId, signal) =>
    withSecret(source, { clock: deps.clock, signal, timeoutMs }, async (secret) => {
      const result = await requireResult(() =>
        deps.ask('get', path, {
          params,
          headers: { ...headers },
          parseAs: 'stream',
          fetch(request) {
            // Set last, so that they replace headers of the caller's in any spelling.
            request.headers.set('accept', 'text/event-stream');
            request.headers.set(readsBy, isAdmin ? secret : `Bearer ${secret}`);
            // An id that no header can carry is not from a gateway. Without an id the stream starts from the
            // first stored event.
            if (lastEventId && /^[\x20-\x7e]+$/.test(lastEventId)) {
              request.headers.set('last-event-id', lastEventId);
            }
            return openOnce(deps, { signal, timeoutMs }, request);
          },
        }),
      );
      const { response } = result;
      const data = result.data as ReadableStream<Uint8Array> | null | undefined;
      if (!response.ok) throw createResponseError(deps, result, 1);
      if (response.status === 204) return null;
      if (data && isEventStream(response.headers.get('content-type'))) return data;
      data?.cancel().catch(() => undefined);
      throw createForeignError('not_an_event_stream', 'sends no event stream');
    });
}

/** Whether a content type is that of event streams, in any case and with or without parameters. */
function isEventStream(type: string | null): boolean {
  return /^\s*text\/event-stream\s*(;|$)/i.test(type ?? '');
}

/** Creates a check for whether an id is new. It remembers the last `SEEN_MAX` ids. */
function createDuplicateFilter(): (id: string) => boolean {
  const seen = new Set<string>();
  return (id) => {
    if (seen.has(id)) return false;
    seen.add(id);
    if (seen.size > SEEN_MAX) seen.delete(seen.keys().next().value ?? id);
    return true;
  };
}

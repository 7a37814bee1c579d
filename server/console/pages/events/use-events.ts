/** Follows the events of a session while the page shows them. */
import { batch, type Signal, useSignal } from '@preact/signals';
import type { FeedNotice } from '@task-gateway/sdk';
import { useEffect, useRef } from 'preact/hooks';
import { useConsole } from '../../gateway/console.ts';
import { describeError } from '../../parts/describe-error.ts';
import {
  addEvents,
  type EventList,
  NO_EVENTS,
  readCursorTime,
  readOutcome,
  type ShownEvent,
  showWaiting,
  writePreview,
} from './event-list.ts';

/** The state of the connection. */
type FeedState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  | { readonly kind: 'down'; readonly text: string }
  /** The stream is not opened again. */
  | { readonly kind: 'ended'; readonly text: string };
export type SessionEvents = {
  readonly list: Signal<EventList>;
  readonly state: Signal<FeedState>;
  /** Whether events were deleted before they could be read. */
  readonly hasGap: Signal<boolean>;
  /** While true, new events wait. */
  readonly isHeld: Signal<boolean>;
  showNew(): void;
};

/** Events that arrive within this time are drawn together. */
const BATCH_MS = 100;

/**
 * Follows a session from behind the event `after`; if that is null, from the first stored event. Without a
 * session it follows nothing.
 */
export function useSessionEvents(
  session: string | null,
  after: string | null,
  isPaused: boolean,
): SessionEvents {
  const { client, time } = useConsole();
  const list = useSignal<EventList>(NO_EVENTS);
  const state = useSignal<FeedState>({ kind: 'connecting' });
  const hasGap = useSignal(false);
  const isHeld = useSignal(false);
  useEffect(() => {
    batch(() => {
      list.value = NO_EVENTS;
      state.value = { kind: 'connecting' };
      hasGap.value = false;
    });
    if (session === null || !client.hasGatewaySecret) return;
    const leaving = new AbortController();
    const received: ShownEvent[] = [];
    const flush = (): void => {
      list.value = addEvents(list.peek(), received.splice(0), isHeld.peek() || paused.current);
    };
    const timer = setInterval(flush, BATCH_MS);
    const onNotice = (notice: FeedNotice): void => {
      if (notice.kind === 'gap') hasGap.value = true;
      else if (notice.kind === 'open') state.value = { kind: 'open' };
      else state.value = { kind: 'down', text: describeError(notice.error) };
    };
    const options = { signal: leaving.signal, onNotice, ...(after === null ? {} : { lastEventId: after }) };
    const events = client.sdk.subscribeEvents(session, options);
    const read = async (): Promise<void> => {
      for await (const event of events) {
        const cursor = events.lastEventId ?? '';
        received.push({
          request_id: event.request_id,
          cursor,
          outcome: readOutcome(event),
          time: readCursorTime(cursor) ?? time.now.peek(),
          error_info: event.error_info,
          preview: writePreview(event.result),
        });
      }
    };
    read().catch((error: unknown) => {
      if (!leaving.signal.aborted) state.value = { kind: 'ended', text: describeError(error) };
    });
    return () => {
      clearInterval(timer);
      leaving.abort();
    };
  }, [session, after, client]);
  const paused = usePaused(isPaused);
  return {
    list,
    state,
    hasGap,
    isHeld,
    showNew() {
      list.value = showWaiting(list.peek());
    },
  };
}

/** Gives older callbacks the present value. */
function usePaused(isPaused: boolean): { readonly current: boolean } {
  const paused = useSignal(isPaused);
  paused.value = isPaused;
  return {
    get current() {
      return paused.peek();
    },
  };
}

/**
 * Holds the list while the pointer or the focus is in its rows, so that rows stay in place. `isThere` says
 * whether the element is drawn; `isPinned` holds the list in any case.
 */
export function useHeld(
  element: { readonly current: HTMLElement | null },
  isThere: boolean,
  isHeld: Signal<boolean>,
  isPinned: boolean,
): void {
  const pinned = useRef(isPinned);
  const isAtRows = useRef(false);
  useEffect(() => {
    pinned.current = isPinned;
    isHeld.value = isPinned || isAtRows.current;
  }, [isPinned, isHeld]);
  useEffect(() => {
    const rows = element.current;
    if (!rows || !isThere) return;
    const leaving = new AbortController();
    const listen = (name: string, isNow: boolean): void =>
      rows.addEventListener(
        name,
        () => {
          isAtRows.current = isNow;
          isHeld.value = isNow || pinned.current;
        },
        { signal: leaving.signal },
      );
    for (const name of ['mouseenter', 'focusin']) listen(name, true);
    for (const name of ['mouseleave', 'focusout']) listen(name, false);
    return () => {
      leaving.abort();
      isHeld.value = false;
    };
  }, [isThere, isHeld]);
}

/**
 * The events of a session as they are shown: newest first, at most 500. New events wait while a person points
 * at the rows or has the focus in them. Pure.
 */

/** An event, with its place in the stream. */
export type ShownEvent = {
  readonly request_id: string;
  readonly cursor: string;
  readonly outcome: string;
  /** When it was stored, in epoch seconds. If the cursor does not say that, when it was received. */
  readonly time: number;
  readonly error_info: string | null;
  /** The beginning of the result as JSON; null if there is none. */
  readonly preview: string | null;
};
export type EventList = {
  readonly shown: readonly ShownEvent[];
  /** The events that wait to be shown, also newest first. */
  readonly waiting: readonly ShownEvent[];
  /** How many older events are no longer shown. */
  readonly dropped: number;
};

export const NO_EVENTS: EventList = { shown: [], waiting: [], dropped: 0 };
const EVENTS_MAX = 500;

/** Adds events, given oldest first. They are shown at once unless the list is held. */
export function addEvents(list: EventList, events: readonly ShownEvent[], isHeld: boolean): EventList {
  if (events.length === 0) return list;
  const waiting = [...events.toReversed(), ...list.waiting];
  const added = { ...list, waiting };
  return isHeld ? cut(added) : showWaiting(added);
}

export function showWaiting({ shown, waiting, dropped }: EventList): EventList {
  return cut({ shown: [...waiting, ...shown], waiting: [], dropped });
}

function cut({ shown, waiting, dropped }: EventList): EventList {
  const excess = Math.max(shown.length - EVENTS_MAX, 0);
  const excessWaiting = Math.max(waiting.length - EVENTS_MAX, 0);
  return {
    shown: excess > 0 ? shown.slice(0, EVENTS_MAX) : shown,
    waiting: excessWaiting > 0 ? waiting.slice(0, EVENTS_MAX) : waiting,
    dropped: dropped + excess + excessWaiting,
  };
}

/** Reads how a task ended. Its event says this only in the error. */
export function readOutcome(event: { readonly status: string; readonly error_info: string | null }): string {
  if (event.status !== 'failed') return event.status;
  const error = event.error_info ?? '';
  if (error === 'cancelled by user') return 'cancelled';
  if (error === 'timeout') return 'timeout';
  if (error === '无可用 Agent') return 'no_agent';
  return /^agent lost: no contact for \d+ s$/.test(error) ? 'agent_lost' : 'failed';
}

/**
 * Reads when an event was stored, in epoch seconds, from a cursor of this gateway; null for other cursors.
 */
export function readCursorTime(cursor: string): number | null {
  const [, ms] = /^(\d{12,14})-\d+$/.exec(cursor) ?? [];
  return ms === undefined ? null : Number(ms) / 1_000;
}

const PREVIEW_MAX = 240;

/** Writes the beginning of a result as JSON. */
export function writePreview(result: object | null): string | null {
  return result === null ? null : JSON.stringify(result).slice(0, PREVIEW_MAX);
}

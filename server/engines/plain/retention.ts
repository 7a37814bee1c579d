/** Retention in the plain store: removes what is past its time, and what exceeds a limit. */
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { Retention } from '../../ports/store.ts';
import { putOutput } from './output.ts';
import type { PlainState } from './state.ts';

export function trim(state: PlainState, retention: Retention, limit: number): number {
  state.outputBytesMax = retention.outputBytesMax;
  let removed = 0;
  for (const remove of listRemovals(state, retention)) {
    if (removed === limit) break;
    remove();
    removed += 1;
  }
  return removed;
}

/**
 * Yields a function for each thing to remove. The caller must call the function before it asks for the next.
 */
function* listRemovals(state: PlainState, retention: Retention): Generator<() => void> {
  const { settledMs, keyUntilMs, unreported, feeds, outputs } = state;
  const { keepTasksMs, sessionEventsMax, outputBytesMax } = retention;
  const nowMs = state.nowMs();
  for (const [id, atMs] of settledMs) {
    if (atMs > nowMs - keepTasksMs) break;
    yield () => removeTask(state, id, nowMs + keepTasksMs);
  }
  for (const [id, untilMs] of keyUntilMs)
    if (untilMs <= nowMs) yield () => void (keyUntilMs.delete(id) && state.values.key.delete(id));
  for (const one of unreported) if (one.untilMs <= nowMs) yield () => void unreported.delete(one);
  const isTooMuch = (): boolean => state.outputBytes > outputBytesMax * STORE_LIMITS.outputFilledShareMax;
  const settled = isTooMuch() ? [...settledMs].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1)) : [];
  for (const [id] of settled) {
    const output = outputs.get(id);
    if (!isTooMuch() || !output || output.isRemoved) continue;
    yield () => void putOutput(state, id, { ...output, pieces: [], bytes: 0, isRemoved: true });
  }
  for (const [session, { events, untilMs }] of feeds) {
    if (events.length === 0 && untilMs <= nowMs) yield () => void feeds.delete(session);
    while (events.length > sessionEventsMax) yield () => removeEvent(state, session, 0, nowMs + keepTasksMs);
  }
}

function removeTask(state: PlainState, id: string, untilMs: number): void {
  const { task, input, details } = state.values;
  const session = task.get(id)?.value.cli_session_id ?? '';
  const events = state.feeds.get(session)?.events ?? [];
  const index = events.findIndex(({ request_id }) => request_id === id);
  if (index >= 0) removeEvent(state, session, index, untilMs);
  state.outputBytes -= state.outputs.get(id)?.bytes ?? 0;
  for (const values of [task, input, details, state.settledMs, state.outputs]) values.delete(id);
}

/** The number of the removed event stays as `trimmed` while a reader may return with an old cursor. */
function removeEvent({ feeds }: PlainState, session: string, index: number, untilMs: number): void {
  const { events = [], trimmed = 0 } = feeds.get(session) ?? {};
  const [event] = events.splice(index, 1);
  feeds.set(session, { events, trimmed: Math.max(trimmed, event?.number ?? 0), untilMs });
}

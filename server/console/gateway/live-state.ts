/**
 * Whether the data on the page is current. This follows from the overview, which every page reads, and from
 * how often in a row that read has failed. Pure.
 */
import { FAILURES_MAX, type Failure } from './polling.ts';
import type { GatewayOverview } from './shapes.ts';

export type LiveState =
  /** Nothing has been read yet. */
  | { readonly kind: 'starting' }
  | { readonly kind: 'live' }
  /** A person has paused the console. */
  | { readonly kind: 'paused' }
  /** The gateway does not respond. Times are of the poll's clock. */
  | {
      readonly kind: 'unreachable';
      readonly sinceMs: number;
      readonly nextMs: number;
      readonly error: unknown;
    }
  /** The gateway responds, but its store does not. `since` is in epoch seconds. */
  | { readonly kind: 'store_down'; readonly since: number; readonly error: string | null };

/** Decides the state. `readAtMs` is when the overview was last read. */
export function decideLiveState(
  overview: GatewayOverview | undefined,
  failure: Failure | undefined,
  readAtMs: number | undefined,
  isPaused: boolean,
): LiveState {
  if (failure && failure.count >= FAILURES_MAX) {
    const { error, nextMs, sinceMs } = failure;
    return { kind: 'unreachable', sinceMs: readAtMs ?? sinceMs, nextMs, error };
  }
  if (!overview) return { kind: 'starting' };
  const { store } = overview;
  if (!store.ok) return { kind: 'store_down', since: store.since, error: store.error };
  return { kind: isPaused ? 'paused' : 'live' };
}

/** Whether data is drawn in colour and actions are possible. */
export function isCurrent({ kind }: LiveState): boolean {
  return kind === 'live' || kind === 'paused' || kind === 'starting';
}

/**
 * The attempts of an agent that stops: it has little time left, and a call without a response must not take
 * all of it.
 */
import { type Clock, linkSignals } from '../clock.ts';
import { ConnectionError } from '../errors.ts';
import { type Backoff, choosePauseMs } from '../waiting.ts';

/** `signal` ends the attempts. `hurry` fires before it, when little time is left. */
export type Signals = { readonly signal: AbortSignal; readonly hurry: AbortSignal };

/** How long an attempt may wait for its response once `hurry` has fired. */
const HURRIED_MS = 2_000;

/**
 * Makes one attempt, which ends when `signal` fires. Once `hurry` fires, the attempt has two seconds left; if
 * `hurry` fired earlier, it has two seconds in all. After them it rejects with a `ConnectionError`.
 */
export async function attemptInTime<T>(
  clock: Clock,
  { signal, hurry }: Signals,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const [linked, hurrying, timer] = [linkSignals(signal), linkSignals(hurry), new AbortController()];
  const late = new ConnectionError(
    'connection_failed',
    `No response from the gateway within ${HURRIED_MS} ms; an agent that stops waits no longer. Is it running?`,
  );
  const limit = (): void =>
    void clock.sleep(HURRIED_MS, timer.signal).then(() => timer.signal.aborted || linked.abort(late));
  if (hurry.aborted) limit();
  else hurrying.signal.addEventListener('abort', limit);
  try {
    return await attempt(linked.signal);
  } catch (error) {
    throw linked.signal.reason === late ? late : error;
  } finally {
    timer.abort();
    hurrying.release();
    linked.release();
  }
}

/**
 * Pauses before another attempt. The pause ends when `hurry` fires; later pauses are the shortest ones,
 * whatever the gateway asks for.
 */
export async function pauseInTime(
  clock: Clock,
  { signal, hurry }: Signals,
  backoff: Backoff,
  failures: number,
  askedMs: number | undefined,
): Promise<void> {
  const isHurried = hurry.aborted;
  const pause = isHurried ? linkSignals(signal) : linkSignals(signal, hurry);
  const ms = choosePauseMs(clock, backoff, isHurried ? 0 : failures, isHurried ? 0 : askedMs);
  await clock.sleep(ms, pause.signal);
  pause.release();
}

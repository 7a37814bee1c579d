/** A timer of any length. The platform's timers end at 24.8 days; a longer one fires at once. */

const TIMER_MAX_MS = 2_147_483_647;

/** Calls `act` after the time. Returns a function that stops the timer. */
export function startTimer(ms: number, act: () => void): () => void {
  let stop: () => void = () => undefined;
  const timer = setTimeout(
    () => {
      if (ms <= TIMER_MAX_MS) act();
      else stop = startTimer(ms - TIMER_MAX_MS, act);
    },
    Math.min(ms, TIMER_MAX_MS),
  );
  stop = () => clearTimeout(timer);
  return () => stop();
}

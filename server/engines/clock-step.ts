/** Warns of a host's clock that has stepped: the store's time does not follow it while the process runs. */
import type { Health } from '../ports/store.ts';

/** The clock may step, or stand still while the host sleeps; less than this is not worth a warning. */
const CLOCK_STEP_MS = 60_000;

/** Adds the warning to a store's health where the host's clock is ahead, or behind, by too much. */
export function noteClockStep(health: Health, aheadMs: number): Health {
  if (!health.ok || health.warning !== undefined || Math.abs(aheadMs) <= CLOCK_STEP_MS) return health;
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  const warning =
    `The clock of this host has stepped ${seconds} s ${aheadMs > 0 ? 'forward' : 'back'} since the gateway ` +
    'started, and the gateway has left that out. Restart it to take the time of the host.';
  return Object.assign({}, health, { warning });
}

/** Warns that the host's clock has stepped. Store time does not follow such a step while the process runs. */
import type { Health } from '../ports/store.ts';

/** A clock may step, or stand still while the host sleeps. A smaller difference is not worth a warning. */
const CLOCK_STEP_MS = 60_000;

/** Adds the warning to a store's health if the host's clock is too far ahead or behind. */
export function noteClockStep(health: Health, aheadMs: number): Health {
  if (!health.ok || health.warning !== undefined || Math.abs(aheadMs) <= CLOCK_STEP_MS) return health;
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  const warning =
    `The clock of this host has stepped ${seconds} s ${aheadMs > 0 ? 'forward' : 'back'} since the gateway ` +
    'started, and the gateway has left that out. Restart it to take the time of the host.';
  return Object.assign({}, health, { warning });
}

/**
 * Logs entries in Redis that another program has damaged. Each entry is logged once, so that no reader fills
 * the log.
 */
import type { Log } from '../../ports/log.ts';

/** Logs a damaged entry by its name. The parser's error is left out, because it quotes the value. */
export type DamageLog = (entry: string) => void;

/** At most this many damaged entries are logged. */
const LOGGED_MAX = 1_000;

export function createDamageLog(log: Log): DamageLog {
  const logged = new Set<string>();
  return (entry) => {
    if (logged.has(entry) || logged.size >= LOGGED_MAX) return;
    logged.add(entry);
    log.error({ entry }, 'what Redis has there cannot be read; it is left out');
  };
}

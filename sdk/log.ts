/**
 * What the client says of its own doing, to a logger of the caller's choice. No secret ever stands in it: headers that
 * carry one are left out and every text is struck through. Bodies are never told, nor the name of a session.
 */
import type { Redactor } from './secrets.ts';

/** Where the client's words go: `console` is one, and so are the loggers people use. */
export type Logger = {
  readonly [Level in 'debug' | 'info' | 'warn' | 'error']: (
    message: string,
    fields: Readonly<Record<string, unknown>>,
  ) => void;
};

/** `debug`: every attempt and answer. `info`: repeats too. `warn`: calls and streams that fail. `off`: nothing. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'off';

/** Says one thing; below the level nothing. */
export type Log = (level: keyof Logger, message: string, fields?: Readonly<Record<string, unknown>>) => void;

export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'off'];

/** Creates the log. A logger that throws stops nothing: its error surfaces as an uncaught one. */
export function createLog(logger: Logger, level: LogLevel, redactor: Redactor): Log {
  const least = LOG_LEVELS.indexOf(level);
  return (at, message, fields = {}) => {
    if (LOG_LEVELS.indexOf(at) < least) return;
    try {
      logger[at](redactor.strike(`task-gateway: ${message}`), redactFields(fields, redactor));
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  };
}

function redactFields(fields: Readonly<Record<string, unknown>>, redactor: Redactor) {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? redactor.strike(value) : value,
    ]),
  );
}

/**
 * The client's log, written to a logger of the caller's choice. It contains no secret: headers that carry one
 * are left out, and every text is redacted. Nor does it contain bodies or names of sessions.
 */
import type { Redactor } from './secrets.ts';

/** Receives log messages. `console` is one, and so are the usual logging libraries. */
export type Logger = {
  readonly [Level in 'debug' | 'info' | 'warn' | 'error']: (
    message: string,
    fields: Readonly<Record<string, unknown>>,
  ) => void;
};

/**
 * The least severe messages that are logged. `debug`: every attempt and response. `info`: retries. `warn`:
 * calls that fail and streams that break. `error`: streams that end for good. `off`: nothing.
 */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'off';

/** Logs one message, if its level is enabled. */
export type Log = (level: keyof Logger, message: string, fields?: Readonly<Record<string, unknown>>) => void;

export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'off'];

/** Creates the log. When a logger throws, that is printed and the call continues. */
export function createLog(logger: Logger, level: LogLevel, redactor: Redactor): Log {
  const least = LOG_LEVELS.indexOf(level);
  return (at, message, fields = {}) => {
    if (LOG_LEVELS.indexOf(at) < least) return;
    runCallback('logger', () =>
      logger[at](redactor.redact(`task-gateway: ${message}`), redactor.redact(fields)),
    );
  };
}

/**
 * Calls a function of the caller's that only listens. Whether it throws or returns a promise that rejects,
 * the failure is printed on the console and the work goes on.
 */
export function runCallback(name: string, call: () => unknown): void {
  const report = (error: unknown): void => {
    try {
      console.error(`task-gateway: ${name} failed:`, error);
    } catch {
      // If the console itself throws, nothing is left to report to.
    }
  };
  try {
    const returned = call();
    if (typeof returned === 'object') Promise.resolve(returned).catch(report);
  } catch (error) {
    report(error);
  }
}

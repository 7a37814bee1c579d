/**
 * The client's log, written to a logger of the caller's choice. It contains no secret: headers that carry one
 * are left out, and every text is redacted. It contains no bodies and no names of sessions either.
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
      logger[at](redactor.redact(`task-gateway: ${message}`), redactFields(fields, redactor)),
    );
  };
}

function redactFields(fields: Readonly<Record<string, unknown>>, redactor: Redactor) {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? redactor.redact(value) : value,
    ]),
  );
}

/**
 * Calls a function of the caller's that only listens. Whether it throws or returns a promise that rejects,
 * the work it listens to goes on, and the failure is printed on the console.
 */
export function runCallback(name: string, call: () => unknown): void {
  const report = (error: unknown): void => {
    try {
      console.error(`task-gateway: ${name} failed: ${describeThrown(error)}`);
    } catch {
      // A console that throws leaves nothing to report to.
    }
  };
  try {
    const returned = call();
    if (typeof returned === 'object') Promise.resolve(returned).catch(report);
  } catch (error) {
    report(error);
  }
}

/**
 * Returns a text for anything that can be thrown: the message of a plain error, otherwise what `String`
 * makes of it. Never throws, though a value without a prototype, a proxy or a getter may throw when it is
 * looked at.
 */
export function describeThrown(thrown: unknown): string {
  try {
    const text = thrown instanceof Error && thrown.name === 'Error' ? thrown.message : String(thrown);
    if (typeof text === 'string') return text;
  } catch {
    // Looking at it threw.
  }
  return 'something was thrown that has no text';
}

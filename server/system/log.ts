/**
 * The real log: one JSON object per line or, on a terminal, readable lines. The redactor processes every line
 * as a whole, so no value, key, error or stack contains a secret. Control characters are escaped, so a text
 * from outside cannot forge a line or control a terminal.
 */
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { destination, pino, stdSerializers, stdTimeFunctions } from 'pino';
import type { prettyFactory } from 'pino-pretty';
import type { Log } from '../ports/log.ts';
import { createRedactor, type Redactor } from './redactor.ts';

export type LogSettings = {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** All secrets of the process, in each form in which they may be written. */
  readonly secrets: readonly string[];
  /** Whether to write readable lines instead of JSON. Default: if the standard output is a terminal. */
  readonly pretty?: boolean;
  /** Writes one line with its newline. Default: to the standard output. */
  readonly write?: (line: string) => void;
};

export type RunningLog = Log & {
  /** Writes a text as it is, secrets included, after all lines logged before it. */
  writeText(text: string): void;
  /** Resolves when all lines are written, when one can't be, or after `FLUSH_MS`. Call it before the exit. */
  flush(): Promise<void>;
};

/** Beyond this, lines are dropped, so that a reader that stalls cannot exhaust the gateway's memory. */
const BUFFERED_BYTES_MAX = 8_388_608;
/** How long the end of the process waits for a reader that stalls. */
export const FLUSH_MS = 3_000;

/** Creates the log. Logging never throws. */
export function createLog(settings: LogSettings): RunningLog {
  const output = settings.write
    ? { write: settings.write, flush: async () => undefined }
    : openStandardOutput();
  const pretty = settings.pretty ?? process.stdout.isTTY === true;
  const redactor = createRedactor(settings.secrets);
  const clean = pretty ? createPrettyCleaner(redactor) : createLineCleaner(redactor);
  const logger = pino(
    {
      level: settings.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: stdSerializers.err, error: stdSerializers.err },
    },
    { write: (line: string) => output.write(cleanOrReplace(clean, line)) },
  );
  return {
    isDebugEnabled: logger.isLevelEnabled('debug'),
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    writeText: output.write,
    flush: output.flush,
  };
}

/**
 * Opens the standard output. Lines that cannot be written are dropped: for example, if the terminal was
 * closed or the disk of a log file is full.
 */
function openStandardOutput(): { write: (line: string) => void; flush: () => Promise<void> } {
  const stream = destination({ dest: 1, sync: false, maxLength: BUFFERED_BYTES_MAX });
  let isBroken = false;
  stream.on('error', () => {
    isBroken = true;
  });
  stream.on('write', () => {
    isBroken = false;
  });
  // pino also calls it at the exit. Where a write fails, it would try for ever and block this thread.
  stream.flushSync = () => undefined;
  return {
    write: (line) => void stream.write(line),
    flush: async () => {
      if (isBroken) return;
      const settled = once(stream, 'drain', { signal: AbortSignal.timeout(FLUSH_MS) });
      // Begins a write where none is under way. So `drain` or `error` follows.
      stream.write('');
      await settled.catch(() => undefined);
    },
  };
}

/** Replaces a line that cannot be cleaned by a fixed line, which reports it. */
function cleanOrReplace(clean: (line: string) => string, line: string): string {
  try {
    return clean(line);
  } catch {
    return '{"level":"error","msg":"secrets could not be removed from a log line, so it was dropped"}\n';
  }
}

/** Cleans a line of JSON, which stays JSON. The line is parsed only if it contains a secret. */
function createLineCleaner(redactor: Redactor): (line: string) => string {
  return (line) => {
    const text = line.trimEnd();
    const containsSecret = redactor.containsSecret(text);
    const clean = containsSecret ? JSON.stringify(redactor.redactData(JSON.parse(text))) : text;
    return `${clean.replace(INVISIBLE, escapeUnits)}\n`;
  };
}

/**
 * Loads the formatter of readable lines only when needed: most processes write JSON, and loading takes time.
 */
function requirePretty(): typeof prettyFactory {
  const pretty: { readonly prettyFactory: typeof prettyFactory } = createRequire(import.meta.url)(
    'pino-pretty',
  );
  return pretty.prettyFactory;
}

/** Formats readable lines: time, level, message, fields, and errors with their indented stack. */
function createPrettyCleaner(redactor: Redactor): (line: string) => string {
  const format = requirePretty()({ singleLine: true, translateTime: 'SYS:HH:MM:ss.l' });
  return (line) => format(redactor.redactData(JSON.parse(line), escapeInvisible));
}

/** Control and format characters. In a line of JSON they occur only inside strings. */
const INVISIBLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Escapes invisible characters, but not the newlines of a stack, whose lines are indented. */
function escapeInvisible(text: string, key: string): string {
  return text.replace(INVISIBLE, (char) => (key === 'stack' && char === '\n' ? char : escapeUnits(char)));
}

function escapeUnits(char: string): string {
  if (char === '\n') return '\\n';
  return char
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

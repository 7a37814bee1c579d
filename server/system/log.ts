/**
 * The real log: one JSON object a line, or, on a terminal, lines for people. Every line goes through the redactor
 * whole, so no value, key, error or stack can carry a secret out. Control characters are shown, never obeyed: a text
 * from outside cannot forge a line or steer a terminal.
 */
import { destination, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { prettyFactory } from 'pino-pretty';
import type { Log } from '../ports/log.ts';
import { createRedactor, type Redactor } from './redactor.ts';

export type LogSettings = {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Every secret the process knows, and the forms it may be told in. */
  readonly secrets: readonly string[];
  /** Lines for people instead of JSON; by default where the standard output is a terminal. */
  readonly pretty?: boolean;
  /** Where lines go, each with its newline; by default the standard output. */
  readonly write?: (line: string) => void;
};

export type RunningLog = Log & {
  /** Writes what is still held back. To be called before the process ends. */
  flush(): void;
};

/** A reader that stalls must not take the gateway's memory; beyond this, lines are dropped. */
const HELD_BYTES_MAX = 8_388_608;

/** Creates the log. Logging never throws. */
export function createLog(settings: LogSettings): RunningLog {
  const out = settings.write ? { write: settings.write, flush: () => undefined } : openStandardOutput();
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
    { write: (line: string) => out.write(tryClean(clean, line)) },
  );
  return {
    debug: (facts, message) => logger.debug(facts, message),
    info: (facts, message) => logger.info(facts, message),
    warn: (facts, message) => logger.warn(facts, message),
    error: (facts, message) => logger.error(facts, message),
    flush: out.flush,
  };
}

function openStandardOutput(): { write: (line: string) => void; flush: () => void } {
  const stream = destination({ dest: 1, sync: false, maxLength: HELD_BYTES_MAX });
  return {
    write: (line) => void stream.write(line),
    flush: () => {
      try {
        stream.flushSync();
      } catch {
        // Nobody reads any more, and there is nowhere else to say so.
      }
    },
  };
}

/** What cannot be cleaned is not told. */
function tryClean(clean: (line: string) => string, line: string): string {
  try {
    return clean(line);
  } catch {
    return '{"level":"error","msg":"a log line could not be cleaned of secrets and was left out"}\n';
  }
}

/** JSON stays JSON: a line is taken apart only if it holds a secret. */
function createLineCleaner(redactor: Redactor): (line: string) => string {
  return (line) => {
    const text = line.trimEnd();
    const told = redactor.holdsSecret(text) ? JSON.stringify(redactor.redactData(JSON.parse(text))) : text;
    return `${told.replace(UNSEEN, escapeUnits)}\n`;
  };
}

/** Lines for people: time, level, message, facts; errors with their stack, indented. */
function createPrettyCleaner(redactor: Redactor): (line: string) => string {
  const format = prettyFactory({ singleLine: true, translateTime: 'SYS:HH:MM:ss.l' });
  return (line) => format(redactor.redactData(JSON.parse(line), showUnseen));
}

/** Control and format characters: what a terminal obeys or nobody sees. In a line of JSON they stand inside strings. */
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Only the newlines of a stack are kept, and those are indented. */
function showUnseen(text: string, key: string): string {
  return text.replace(UNSEEN, (char) => (key === 'stack' && char === '\n' ? char : escapeUnits(char)));
}

function escapeUnits(char: string): string {
  if (char === '\n') return '\\n';
  return char
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

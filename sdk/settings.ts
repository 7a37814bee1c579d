/**
 * What a client is told, from its options and, for what they leave open, from the environment: `TASK_GATEWAY_URL` and
 * its like. Where there is no environment, as in a browser, the options are all there is.
 */
import { type Clock, systemClock } from './clock.ts';
import { InvalidOptionError } from './errors.ts';
import { createLog, LOG_LEVELS, type Log, type Logger, type LogLevel } from './log.ts';
import { createRedactor, createSecretSource, type Redactor, type Secret } from './secrets.ts';
import type { Fetch } from './transport.ts';

/** How a client reaches its gateway. Each of these may also stand in the environment, under the name given here. */
export type ClientOptions = {
  /** Where the gateway is: `http://127.0.0.1:8080`, or in a browser a path of the same origin. `TASK_GATEWAY_URL` */
  readonly baseUrl?: string | undefined;
  /** The gateway secret (§5), or a function that fetches it. `TASK_GATEWAY_AUTH` */
  readonly auth?: Secret | undefined;
  /** The administrator's secret; needed for the listings alone. `TASK_GATEWAY_ADMIN_AUTH` */
  readonly adminAuth?: Secret | undefined;
  /** Milliseconds one attempt of a call may take; 30,000 unless told otherwise. `TASK_GATEWAY_TIMEOUT_MS` */
  readonly timeoutMs?: number | undefined;
  /** How often a failed attempt is repeated; 4 unless told otherwise. `TASK_GATEWAY_MAX_RETRIES` */
  readonly maxRetries?: number | undefined;
  /** Sent along with every request. `TASK_GATEWAY_HEADERS`: lines of `Name: value` */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How much is logged: `off`, or `info` where a logger is given. `TASK_GATEWAY_LOG` */
  readonly logLevel?: LogLevel | undefined;
  /** Where the log goes; `console` unless told otherwise. */
  readonly logger?: Logger | undefined;
  /** Used instead of the platform's `fetch`. It is given a `Request` and must heed the signal. */
  readonly fetch?: Fetch | undefined;
  /** Used instead of the platform's time and chance, in tests. */
  readonly clock?: Clock | undefined;
};

/** The options with nothing left open. */
export type ClientSettings = {
  readonly baseUrl: string;
  readonly auth: () => Promise<string>;
  readonly adminAuth: (() => Promise<string>) | undefined;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly log: Log;
};

const TIMEOUT_MS = 30_000;
const MAX_RETRIES = 4;

/** Reads the settings. Throws `InvalidOptionError` for an address, a secret or a number that can't work. */
export function readSettings(options: ClientOptions): ClientSettings {
  const redactor = createRedactor();
  const baseUrl = options.baseUrl ?? readVariable('URL');
  const auth = options.auth ?? readVariable('AUTH');
  const adminAuth = options.adminAuth ?? readVariable('ADMIN_AUTH');
  if (baseUrl === undefined) throw createMissing('baseUrl', 'URL');
  if (auth === undefined) throw createMissing('auth', 'AUTH');
  const level = readLevel(options.logLevel ?? readVariable('LOG') ?? (options.logger ? 'info' : 'off'));
  return {
    baseUrl: readBaseUrl(baseUrl),
    auth: createSecretSource('auth', auth, redactor),
    adminAuth: adminAuth === undefined ? undefined : createSecretSource('adminAuth', adminAuth, redactor),
    timeoutMs: readNumber('timeoutMs', options.timeoutMs ?? readVariable('TIMEOUT_MS') ?? TIMEOUT_MS, 1),
    maxRetries: readNumber('maxRetries', options.maxRetries ?? readVariable('MAX_RETRIES') ?? MAX_RETRIES, 0),
    headers: options.headers ?? readHeaders(readVariable('HEADERS') ?? ''),
    fetch: options.fetch ?? ((request, init) => globalThis.fetch(request, init)),
    clock: options.clock ?? systemClock,
    redactor,
    log: createLog(options.logger ?? console, level, redactor),
  };
}

/** A variable of the environment, where there is one; an empty one is none. */
export function readVariable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[`TASK_GATEWAY_${name}`] || undefined;
}

function createMissing(option: string, variable: string): InvalidOptionError {
  return new InvalidOptionError(`${option} is missing: give it, or set TASK_GATEWAY_${variable}.`);
}

/** The address without a slash at its end. The texts do not repeat it: it may hold a password. */
function readBaseUrl(text: string): string {
  const url = parseUrl(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new InvalidOptionError('baseUrl must be an http(s) address, like http://127.0.0.1:8080.');
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new InvalidOptionError('baseUrl must have no user, password, query or fragment.');
  }
  return url.href.replace(/\/+$/, '');
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text, globalThis.location?.href);
  } catch {
    return undefined;
  }
}

function readNumber(name: string, value: number | string, least: number): number {
  const number = Number(value);
  if (number >= least) return number;
  throw new InvalidOptionError(`${name} must be a number of ${least} or more.`);
}

function readLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((one) => one === text);
  if (level) return level;
  throw new InvalidOptionError(`logLevel must be one of ${LOG_LEVELS.join(', ')}.`);
}

/** Lines of `Name: value`. The texts do not repeat them: they may hold a secret. */
function readHeaders(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      if (colon < 1) throw new InvalidOptionError('TASK_GATEWAY_HEADERS must hold lines of "Name: value".');
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

/**
 * A client's settings: its options and, where these are absent, variables of the environment such as
 * `TASK_GATEWAY_URL`. In a browser there is no environment, so only the options count.
 */
import { type Clock, systemClock } from './clock.ts';
import { InvalidOptionError } from './errors.ts';
import { createLog, LOG_LEVELS, type Log, type Logger, type LogLevel } from './log.ts';
import { createRedactor, createSecretSource, type Redactor, type Secret } from './secrets.ts';
import type { Fetch } from './transport.ts';

/**
 * How a client reaches its gateway. Options that name a `TASK_GATEWAY_` variable may be set by it instead.
 */
export type ClientOptions = {
  /**
   * The gateway's address: `http://127.0.0.1:8080`, or in a browser a path of the same origin.
   * `TASK_GATEWAY_URL`
   */
  readonly baseUrl?: string | undefined;
  /** The gateway secret, or a function that returns it. `TASK_GATEWAY_AUTH` */
  readonly auth?: Secret | undefined;
  /** The administrator's secret, needed only to list agents and tasks. `TASK_GATEWAY_ADMIN_AUTH` */
  readonly adminAuth?: Secret | undefined;
  /** The timeout of one attempt of a call, in milliseconds. Default: 30,000. `TASK_GATEWAY_TIMEOUT_MS` */
  readonly timeoutMs?: number | undefined;
  /** How often a failed call is retried. Default: 4. `TASK_GATEWAY_MAX_RETRIES` */
  readonly maxRetries?: number | undefined;
  /** Headers sent with every request. `TASK_GATEWAY_HEADERS`: lines of `Name: value` */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How much is logged. Default: `info` when a logger is given, otherwise `off`. `TASK_GATEWAY_LOG` */
  readonly logLevel?: LogLevel | undefined;
  /** Receives the log. Default: `console`. */
  readonly logger?: Logger | undefined;
  /**
   * Used instead of the platform's `fetch`. It is called with a `Request` and must obey the signal in `init`.
   */
  readonly fetch?: Fetch | undefined;
  /** Used instead of the platform's time, timers and randomness, in tests. */
  readonly clock?: Clock | undefined;
};

/** The options with all defaults filled in. */
export type ClientSettings = {
  readonly baseUrl: string;
  readonly auth: () => Promise<string>;
  /** Rejects where the option is absent. */
  readonly adminAuth: () => Promise<string>;
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

/** Returns the settings. Throws `InvalidOptionError` for an address, a secret or a number that can't work. */
export function readSettings(options: ClientOptions): ClientSettings {
  const redactor = createRedactor();
  const baseUrl = options.baseUrl ?? requireVariable('baseUrl', 'URL');
  const auth = options.auth ?? requireVariable('auth', 'AUTH');
  const adminAuth = options.adminAuth ?? readVariable('ADMIN_AUTH') ?? requireAdminAuth;
  const level = readLevel(options.logLevel ?? readVariable('LOG') ?? (options.logger ? 'info' : 'off'));
  return {
    baseUrl: readBaseUrl(baseUrl),
    auth: createSecretSource('auth', auth, redactor),
    adminAuth: createSecretSource('adminAuth', adminAuth, redactor),
    timeoutMs: readNumber('timeoutMs', options.timeoutMs ?? readVariable('TIMEOUT_MS') ?? TIMEOUT_MS, 1),
    maxRetries: readNumber('maxRetries', options.maxRetries ?? readVariable('MAX_RETRIES') ?? MAX_RETRIES, 0),
    headers: options.headers ?? readHeaders(readVariable('HEADERS') ?? ''),
    fetch: options.fetch ?? ((request, init) => globalThis.fetch(request, init)),
    clock: options.clock ?? systemClock,
    redactor,
    log: createLog(options.logger ?? console, level, redactor),
  };
}

/** Returns the environment variable `TASK_GATEWAY_<name>`. An empty one counts as absent. */
export function readVariable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[`TASK_GATEWAY_${name}`] || undefined;
}

function requireVariable(option: string, name: string): string {
  const value = readVariable(name);
  if (value) return value;
  throw new InvalidOptionError(`${option} is missing: give it, or set TASK_GATEWAY_${name}.`);
}

const requireAdminAuth = (): string => requireVariable('adminAuth', 'ADMIN_AUTH');

/** Returns the address without slashes at its end. The error does not quote it: it may contain a password. */
function readBaseUrl(text: string): string {
  try {
    const { href } = new URL(text, globalThis.location?.href);
    if (/^https?:\/\/[^/@?#]+(\/[^?#]*)?$/.test(href)) return href.replace(/\/+$/, '');
  } catch {
    // It is no address.
  }
  throw new InvalidOptionError(
    'baseUrl must be an http(s) address without user, password, query or fragment: http://127.0.0.1:8080.',
  );
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

/** Reads lines of `Name: value`. The errors do not quote them: they may contain a secret. */
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

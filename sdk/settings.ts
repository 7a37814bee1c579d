/**
 * A client's settings: its options and, where these are absent, variables of the environment such as
 * `TASK_GATEWAY_URL`. A browser has no environment, so only the options count there.
 */
import { RESPONSE_BYTES_MAX } from './bodies.ts';
import { type Clock, systemClock } from './clock.ts';
import { InvalidOptionError, requireNumber } from './errors.ts';
import { createLog, LOG_LEVELS, type Log, type Logger, type LogLevel } from './log.ts';
import {
  createRedactor,
  createSecretSource,
  type Redactor,
  type Secret,
  type SecretSource,
} from './secrets.ts';
import type { Fetch } from './transport.ts';

/**
 * How a client reaches its gateway. An option that names a `TASK_GATEWAY_` variable can be set by it instead.
 */
export type ClientOptions = {
  /**
   * The gateway's address: `http://127.0.0.1:8080`, or in a browser a path of the same origin.
   * `TASK_GATEWAY_URL`
   */
  readonly baseUrl?: string | undefined;
  /**
   * The gateway secret, or a function that returns it. A client with `adminAuth` alone can read and list, but
   * can't submit or cancel. `TASK_GATEWAY_AUTH`
   */
  readonly auth?: Secret | undefined;
  /**
   * The administrator's secret, needed to list agents and tasks. Without `auth` it reads single tasks too.
   * `TASK_GATEWAY_ADMIN_AUTH`
   */
  readonly adminAuth?: Secret | undefined;
  /** The timeout of one attempt of a call, in milliseconds. Default: 30,000. `TASK_GATEWAY_TIMEOUT_MS` */
  readonly timeoutMs?: number | undefined;
  /** How often a failed call is retried. Default: 4. `TASK_GATEWAY_MAX_RETRIES` */
  readonly maxRetries?: number | undefined;
  /**
   * The largest response that is read, in bytes; a larger one is a `ConnectionError` (`response_too_large`).
   * The default of 64 MiB is meant for listings; a task holds a payload and a result of 1 MiB each.
   * `TASK_GATEWAY_MAX_RESPONSE_BYTES`
   */
  readonly maxResponseBytes?: number | undefined;
  /** Headers sent with every request. `TASK_GATEWAY_HEADERS`: lines of `Name: value` */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Called for each call that names no trace of its own. Returns the `traceparent` (W3C Trace Context) of the
   * span that is active in your tracing library, or undefined.
   */
  readonly traceparent?: (() => string | undefined) | undefined;
  /** How much is logged. Default: `info` when a logger is given, otherwise `off`. `TASK_GATEWAY_LOG` */
  readonly logLevel?: LogLevel | undefined;
  /** Receives the log. Default: `console`. */
  readonly logger?: Logger | undefined;
  /**
   * Used instead of the platform's `fetch`. It is called with a `Request`, and must obey the signal in
   * `init`.
   */
  readonly fetch?: Fetch | undefined;
  /** Used instead of the platform's time, timers and randomness; meant for tests. */
  readonly clock?: Clock | undefined;
};

/** The options, with all defaults filled in. */
export type ClientSettings = {
  readonly baseUrl: string;
  /** The variable of the environment that gave `baseUrl`; empty if an option gave it. */
  readonly urlVariable: string;
  /** Rejects if the option is absent, which is allowed beside `adminAuth`. */
  readonly auth: SecretSource;
  /** Rejects if the option is absent. */
  readonly adminAuth: SecretSource;
  readonly readsBy: 'authorization' | 'x-admin-auth';
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly maxResponseBytes: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly traceparent: (() => string | undefined) | undefined;
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
  const url = readOption('baseUrl', options.baseUrl, 'URL');
  const auth = readOption('auth', options.auth, 'AUTH');
  const adminAuth = readOption('adminAuth', options.adminAuth, 'ADMIN_AUTH');
  // An `adminAuth` of the environment does not count: there a missing `auth` is probably a mistake.
  const hasAdminAlone = options.adminAuth && auth.value === undefined;
  const baseUrl = readBaseUrl(url);
  if (!hasAdminAlone) requireValue(auth);
  const readSecret = (given: Given<Secret>): SecretSource =>
    createSecretSource(given.name, given.value ?? (() => throwMissing(given)), given.variable, redactor);
  const level = readOption('logLevel', options.logLevel, 'LOG');
  const readNumber = (name: NumberOption, variable: string, byDefault: number, least: number): number =>
    requireNumber(readOption(name, options[name], variable), byDefault, least);
  return {
    baseUrl,
    urlVariable: url.variable,
    auth: readSecret(auth),
    adminAuth: readSecret(adminAuth),
    readsBy: hasAdminAlone ? 'x-admin-auth' : 'authorization',
    timeoutMs: readNumber('timeoutMs', 'TIMEOUT_MS', TIMEOUT_MS, 1),
    maxRetries: readNumber('maxRetries', 'MAX_RETRIES', MAX_RETRIES, 0),
    maxResponseBytes: readNumber('maxResponseBytes', 'MAX_RESPONSE_BYTES', RESPONSE_BYTES_MAX, 1),
    headers: options.headers ?? readHeaders(readVariable('HEADERS') ?? ''),
    traceparent: options.traceparent,
    fetch: options.fetch ?? ((request, init) => globalThis.fetch(request, init)),
    clock: options.clock ?? systemClock,
    redactor,
    log: createLog(options.logger ?? console, readLevel(level, options.logger ? 'info' : 'off'), redactor),
  };
}

type NumberOption = 'timeoutMs' | 'maxRetries' | 'maxResponseBytes';

/** The value of an option, or of its variable, and what errors say of it. */
type Given<Value> = {
  readonly value: Value | string | undefined;
  /** What errors call it: the option's name, with the variable if that gave the value. */
  readonly name: string;
  /** The variable that gave the value; empty if an option gave it or nothing did. */
  readonly variable: string;
  /** Tells the reader of an error how to set it. */
  readonly advice: string;
};

/** Reads an option; if it is absent, its variable of the environment. */
function readOption<Value>(name: string, given: Value | undefined, suffix: string): Given<Value> {
  const found = given === undefined ? readVariable(suffix) : undefined;
  const variable = `TASK_GATEWAY_${suffix}`;
  return {
    value: given ?? found,
    name: found ? `${name} (from ${variable})` : name,
    variable: found ? variable : '',
    advice: `${name} is missing: give it, or set ${variable}.`,
  };
}

/** Returns the environment variable `TASK_GATEWAY_<name>`. An empty one counts as absent. */
export function readVariable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[`TASK_GATEWAY_${name}`] || undefined;
}

function requireValue<Value>({ value, advice }: Given<Value>): Value | string {
  return value ?? throwMissing({ advice });
}

function throwMissing({ advice }: Pick<Given<unknown>, 'advice'>): never {
  throw new InvalidOptionError(advice);
}

/** Returns the address without slashes at its end. Errors do not quote it: it may contain a password. */
function readBaseUrl(given: Given<string>): string {
  try {
    const { href } = new URL(requireValue(given), globalThis.location?.href);
    if (/^https?:\/\/[^/@?#]+(\/[^?#]*)?$/.test(href)) return href.replace(/\/+$/, '');
  } catch (error) {
    if (error instanceof InvalidOptionError) throw error;
  }
  throw new InvalidOptionError(
    `${given.name} must be an http(s) address without user, password, query or fragment: http://127.0.0.1:8080.`,
  );
}

function readLevel({ value, name }: Given<string>, byDefault: LogLevel): LogLevel {
  const level = LOG_LEVELS.find((one) => one === (value ?? byDefault));
  if (level) return level;
  throw new InvalidOptionError(`${name} must be one of ${LOG_LEVELS.join(', ')}.`);
}

/** Reads lines of `Name: value`. Errors do not quote them, because they may contain a secret. */
export function readHeaders(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      if (colon < 1) throw new InvalidOptionError('TASK_GATEWAY_HEADERS must hold lines of "Name: value".');
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

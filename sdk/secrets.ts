/**
 * Secrets: given as a string or as a function that fetches one, validated before use, and redacted from every
 * text meant for people.
 */
import { type Clock, linkSignals, untilAborted } from './clock.ts';
import { AuthenticationError, InvalidOptionError, TimeoutError } from './errors.ts';

/** A secret, or a function that returns it, called before each call (for streams, before each connection). */
export type Secret = string | (() => string | Promise<string>);

/** Where a client gets its secret from. */
export type SecretSource = {
  /** Returns the current secret. Throws and rejects with `InvalidOptionError`. */
  get(): string | Promise<string>;
  /** Names the variable of the environment that holds it; empty if another source does. */
  readonly variable: string;
};

/** Replaces secrets in texts. */
export type Redactor = {
  addSecret(secret: string): void;
  /** Returns a copy of a JSON value with every text in it redacted; the names of its fields stay. */
  redact<Value>(value: Value): Value;
};

/**
 * A shorter secret also occurs in words by coincidence: it is replaced where it stands alone, and never in a
 * `code`.
 */
const LONG_SECRET_CHARS = 8;
/** How many secrets are remembered when they change. */
const SECRETS_MAX = 20;

/** Returns what finds a secret in texts: a short one where no word goes on across its ends. */
export function createSecretPattern(secret: string): string | RegExp {
  if (secret.length >= LONG_SECRET_CHARS) return secret;
  const literal = secret.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  const word = '[\\p{L}\\p{N}_]';
  const before = /^\w/.test(secret) ? `(?<!${word})` : '';
  return new RegExp(`${before}${literal}${/\w$/.test(secret) ? `(?!${word})` : ''}`, 'gu');
}

/** Creates a redactor without secrets. */
export function createRedactor(): Redactor {
  /** The newest last. */
  const secrets = new Set<string>();

  /** Replaces the longest secret first: a shorter one may be a part of it. */
  function redactText(text: string, name?: string): string {
    return [...secrets]
      .sort((a, b) => b.length - a.length)
      .filter(({ length }) => name !== 'code' || length >= LONG_SECRET_CHARS)
      .reduce(
        (rest, one) =>
          rest
            .replaceAll(createSecretPattern(one), '***')
            .replaceAll(createSecretPattern(JSON.stringify(one).slice(1, -1)), '***'),
        text,
      );
  }

  return {
    addSecret(secret) {
      secrets.add(secret);
      if (secrets.size > SECRETS_MAX) secrets.delete(secrets.keys().next().value ?? secret);
    },
    redact: (value) =>
      JSON.parse(JSON.stringify(value), (name, one) =>
        typeof one === 'string' ? redactText(one, name) : one,
      ),
  };
}

/**
 * Creates the source of a secret. A string is validated at once, the return value of a function each time.
 * Throws `InvalidOptionError` for what can't be a secret.
 */
export function createSecretSource(
  name: string,
  secret: Secret,
  variable: string,
  redactor: Redactor,
): SecretSource {
  const require = (value: unknown): string => {
    const valid = requireSecret(name, value);
    redactor.addSecret(valid);
    return valid;
  };
  if (typeof secret === 'function') {
    return { variable, get: async () => require(await fetchSecret(name, secret)) };
  }
  const valid = require(secret);
  return { variable, get: () => valid };
}

/** The time limit for a secret: that of the call it is for. */
type SecretLimits = {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
};

/**
 * Runs `attempt` with the current secret. When it is rejected (401) and has changed since, tries once more.
 * A function that never resolves is waited for as long as for a response.
 */
export async function withSecret<T>(
  source: SecretSource,
  limits: SecretLimits,
  attempt: (secret: string) => Promise<T>,
): Promise<T> {
  const secret = await getWithin(source, limits);
  try {
    return await attempt(secret);
  } catch (error) {
    if (!(error instanceof AuthenticationError)) throw error;
    const renewed = await getWithin(source, limits);
    if (renewed !== secret) return await attempt(renewed);
    if (source.variable) error.message += ` The secret is from ${source.variable}.`;
    throw error;
  }
}

async function getWithin(source: SecretSource, { clock, signal, timeoutMs }: SecretLimits): Promise<string> {
  const secret = source.get();
  if (typeof secret === 'string') return secret;
  const linked = linkSignals(signal);
  const expire = async (): Promise<never> => {
    await clock.sleep(timeoutMs, linked.signal);
    throw new TimeoutError(timeoutMs, 'No secret from the auth function');
  };
  return await untilAborted(signal, () => Promise.race([secret, expire()])).finally(() => linked.abort());
}

async function fetchSecret(name: string, fetch: () => string | Promise<string>): Promise<string> {
  try {
    return await fetch();
  } catch (cause) {
    if (cause instanceof InvalidOptionError) throw cause;
    throw new InvalidOptionError(`${name} is a function, and it failed.`, { cause });
  }
}

/** A secret travels in a header, which carries printable ASCII and loses spaces at its ends. */
function requireSecret(name: string, secret: unknown): string {
  if (typeof secret === 'string' && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(secret)) return secret;
  throw new InvalidOptionError(
    `${name} must be the gateway's secret: printable ASCII, no space at its ends.`,
  );
}

/**
 * Secrets: given as a string or as a function that fetches one, validated before use, and redacted from every
 * text that people may read.
 */
import { type Clock, linkSignals, untilAborted } from './clock.ts';
import { AuthenticationError, InvalidOptionError, TimeoutError } from './errors.ts';

/**
 * A secret, or a function that returns it. The client calls the function before each call; for a stream,
 * before each connection.
 */
export type Secret = string | (() => string | Promise<string>);

/** Where a client gets its secret from. */
export type SecretSource = {
  /** Returns the current secret. Throws or rejects with `InvalidOptionError` if there is no usable one. */
  get(): string | Promise<string>;
  /** The variable of the environment that holds the secret; empty if it comes from elsewhere. */
  readonly variable: string;
};

/** Replaces secrets in texts. */
export type Redactor = {
  addSecret(secret: string): void;
  /** Returns a copy of a JSON value with every text in it redacted; the names of its fields stay. */
  redact<Value>(value: Value): Value;
};

/**
 * A shorter secret also occurs in words by coincidence. So it is replaced only where it stands alone, and
 * never in a `code`.
 */
const LONG_SECRET_CHARS = 8;
/** How many secrets are remembered, if a function returns new ones. */
const SECRETS_MAX = 20;

/** Returns what finds a secret in texts; a short secret must not be a part of a longer word. */
export function createSecretPattern(secret: string): string | RegExp {
  if (secret.length >= LONG_SECRET_CHARS) return secret;
  const literal = secret.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  const word = '[\\p{L}\\p{N}_]';
  const before = /^\w/.test(secret) ? `(?<!${word})` : '';
  return new RegExp(`${before}${literal}${/\w$/.test(secret) ? `(?!${word})` : ''}`, 'gu');
}

export function createRedactor(): Redactor {
  /** The newest last. */
  const secrets = new Set<string>();

  /** Replaces the longest secret first, because a shorter one may be a part of it. */
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
 * Creates the source of a secret. It validates a string at once, and what a function returns each time.
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

/** How long a secret may take: as long as the call that needs it. */
type SecretLimits = {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
};

/**
 * Runs `attempt` with the current secret. If the gateway rejects the secret (401) and it has changed since,
 * runs it once more. A function that never resolves gets as much time as a response.
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

/** Returns the secret if a header can carry it: that takes printable ASCII, and loses spaces at both ends. */
function requireSecret(name: string, secret: unknown): string {
  if (typeof secret === 'string' && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(secret)) return secret;
  throw new InvalidOptionError(
    `${name} must be the gateway's secret: printable ASCII, no space at its ends.`,
  );
}

/**
 * Secrets: given as a string or as a function that fetches one, validated before use, and redacted from every
 * text meant for people.
 */
import { AuthenticationError, InvalidOptionError } from './errors.ts';

/** A secret, or a function that returns it, called before each call (for streams, before each connection). */
export type Secret = string | (() => string | Promise<string>);

/** Replaces secrets in texts. */
export type Redactor = {
  addSecret(secret: string): void;
  /** Returns a copy of a JSON value with every text in it redacted; the names of its fields stay. */
  redact<Value>(value: Value): Value;
};

/** A shorter secret also occurs in words by coincidence: it is not replaced inside of a `code`. */
const LONG_SECRET_CHARS = 8;
/** How many secrets are remembered when they change. */
const SECRETS_MAX = 20;

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
        (rest, one) => rest.replaceAll(one, '***').replaceAll(JSON.stringify(one).slice(1, -1), '***'),
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
 * Creates a function that returns the current secret. A string is validated at once, the return value of a
 * function each time. Throws `InvalidOptionError` for what can't be a secret, and when the function fails.
 */
export function createSecretSource(name: string, secret: Secret, redactor: Redactor): () => Promise<string> {
  if (typeof secret !== 'function') {
    const valid = requireSecret(name, secret);
    redactor.addSecret(valid);
    return async () => valid;
  }
  return async () => {
    const valid = requireSecret(name, await fetchSecret(name, secret));
    redactor.addSecret(valid);
    return valid;
  };
}

/**
 * Runs `attempt` with the current secret. When it is rejected (401) and has changed since, tries once more.
 */
export async function withSecret<T>(
  getSecret: () => Promise<string>,
  attempt: (secret: string) => Promise<T>,
): Promise<T> {
  const secret = await getSecret();
  try {
    return await attempt(secret);
  } catch (error) {
    if (!(error instanceof AuthenticationError)) throw error;
    const renewed = await getSecret();
    if (renewed === secret) throw error;
    return await attempt(renewed);
  }
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

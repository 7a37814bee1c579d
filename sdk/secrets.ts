/**
 * Secrets: given as a text or as a function that fetches one, judged before they are used, and struck out of whatever
 * is said to people.
 */
import { AuthenticationError, InvalidOptionError } from './errors.ts';

/** A secret, or a function asked for it before each call (once per connection for streams). */
export type Secret = string | (() => string | Promise<string>);

/** Strikes out of texts what was learnt to be secret. */
export type Redactor = {
  learn(secret: string): void;
  strike(text: string): string;
};

/** Below this length a secret can't be told from ordinary text. */
const SECRET_CHARS_MIN = 8;
/** Secrets that change are remembered this far back. */
const SECRETS_MAX = 20;

/** Creates a redactor that knows no secret yet. */
export function createRedactor(): Redactor {
  const known = new Set<string>();
  return {
    learn(secret) {
      if (secret.length < SECRET_CHARS_MIN || known.has(secret)) return;
      known.add(secret);
      if (known.size > SECRETS_MAX) known.delete(known.keys().next().value ?? secret);
    },
    strike(text) {
      let struck = text;
      for (const secret of known) {
        struck = struck.replaceAll(secret, '***').replaceAll(JSON.stringify(secret).slice(1, -1), '***');
      }
      return struck;
    },
  };
}

/**
 * How to get a secret when it is needed. A text is judged at once; what a function answers, each time. Throws
 * `InvalidOptionError` for what can't be a secret, and when the function fails.
 */
export function createSecretSource(name: string, secret: Secret, redactor: Redactor): () => Promise<string> {
  if (typeof secret !== 'function') {
    const judged = judgeSecret(name, secret);
    redactor.learn(judged);
    return async () => judged;
  }
  return async () => {
    const judged = judgeSecret(name, await askFor(name, secret));
    redactor.learn(judged);
    return judged;
  };
}

/** Does something with the secret of the moment. One that was refused and has changed since is tried once more. */
export async function withSecret<T>(
  askSecret: () => Promise<string>,
  attempt: (secret: string) => Promise<T>,
): Promise<T> {
  const secret = await askSecret();
  try {
    return await attempt(secret);
  } catch (error) {
    if (!(error instanceof AuthenticationError)) throw error;
    const renewed = await askSecret();
    if (renewed === secret) throw error;
    return await attempt(renewed);
  }
}

/** The headers of a call that carries its secret in one. */
export function bearer(
  options: { readonly headers?: Readonly<Record<string, string>> | undefined } | undefined,
  auth: string,
): Record<string, string> {
  return { ...options?.headers, authorization: `Bearer ${auth}` };
}

async function askFor(name: string, fetchSecret: () => string | Promise<string>): Promise<string> {
  try {
    return await fetchSecret();
  } catch (cause) {
    throw new InvalidOptionError(`${name} is a function, and it failed.`, { cause });
  }
}

/** A secret travels in a header, which carries printable ASCII and would lose spaces at its ends. */
function judgeSecret(name: string, secret: unknown): string {
  if (typeof secret === 'string' && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(secret)) return secret;
  throw new InvalidOptionError(
    `${name} must be the gateway's secret: printable ASCII, no space at its ends.`,
  );
}

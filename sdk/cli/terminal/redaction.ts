/** Removes secrets from everything the command writes to standard error: traces, errors and log lines. */

const REDACTED = '***';
/**
 * A shorter secret is not searched for in texts, because ordinary words would match it. Headers and fields
 * that carry a secret are redacted whatever its length.
 */
const SECRET_CHARS_MIN = 4;
const SECRET_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'x-admin-auth',
  'cookie',
  'set-cookie',
]);
const BODY_CHARS_MAX = 2_000;

/** Returns the text with every secret replaced: as plain text, escaped for JSON, and encoded for a URL. */
export function redactSecrets(text: string, secrets: Iterable<string>): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length < SECRET_CHARS_MIN) continue;
    const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
    for (const form of forms) clean = clean.replaceAll(form, REDACTED);
  }
  return clean;
}

/** Returns one line per header; the values of headers that carry secrets are redacted. */
export function describeHeaders(headers: Headers): readonly string[] {
  return [...headers].map(([name, value]) => `${name}: ${SECRET_HEADERS.has(name) ? REDACTED : value}`);
}

/** Returns a body on one line, cut if it is long; the `auth` field of a JSON object is redacted. */
export function describeBody(text: string): string {
  const line = redactAuth(text).replaceAll(/\s*\n\s*/g, ' ');
  return line.length > BODY_CHARS_MAX
    ? `${line.slice(0, BODY_CHARS_MAX)}… (${line.length} characters)`
    : line;
}

function redactAuth(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('auth' in value)) return text;
    return JSON.stringify({ ...value, auth: REDACTED });
  } catch {
    return text;
  }
}

/** Removes secrets from everything that the command writes to standard error: traces, errors, log lines. */
import { createSecretPattern } from '../../secrets.ts';
import { escapeJson } from './safe-text.ts';

const REDACTED = '***';
const SECRET_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'x-admin-auth',
  'cookie',
  'set-cookie',
]);
const BODY_CHARS_MAX = 2_000;

/**
 * Returns the text with every secret replaced: as plain text, escaped for JSON, and encoded for a URL. A
 * short secret is replaced only where it stands alone. The longest comes first, because a shorter one may be
 * a part of it.
 */
export function redactSecrets(text: string, secrets: Iterable<string>): string {
  const forms = [...secrets]
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
    .filter((form) => form.trim() !== '')
    .sort((a, b) => b.length - a.length);
  return forms.reduce((rest, form) => rest.replaceAll(createSecretPattern(form), REDACTED), text);
}

/** Returns one line for each header; the values of headers that carry secrets are redacted. */
export function describeHeaders(headers: Headers): readonly string[] {
  return [...headers].map(([name, value]) => `${name}: ${SECRET_HEADERS.has(name) ? REDACTED : value}`);
}

/** Returns a body on one line, cut if it is long. The `auth` field of a JSON object is redacted. */
export function describeBody(text: string): string {
  const line = escapeJson(redactAuth(text)).replaceAll(/\s*\n\s*/g, ' ');
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

/** Keeps secrets out of everything that is said: `--debug`, errors, logs. */

const MARK = '***';
/** Below this length a secret can't be told from ordinary text; its own places are blanked in any case. */
const SECRET_CHARS_MIN = 4;
const SECRET_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'x-admin-auth',
  'cookie',
  'set-cookie',
]);
const BODY_CHARS_MAX = 2_000;

/** The text with every secret struck out, as it stands, in JSON, and in a URL. */
export function redactSecrets(text: string, secrets: Iterable<string>): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length < SECRET_CHARS_MIN) continue;
    const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
    for (const form of forms) clean = clean.replaceAll(form, MARK);
  }
  return clean;
}

/** Headers as lines, those that carry secrets blanked. */
export function describeHeaders(headers: Headers): readonly string[] {
  return [...headers].map(([name, value]) => `${name}: ${SECRET_HEADERS.has(name) ? MARK : value}`);
}

/** A body as one line, its `auth` blanked wherever it is JSON. */
export function describeBody(text: string): string {
  const line = blankAuth(text).replaceAll(/\s*\n\s*/g, ' ');
  return line.length > BODY_CHARS_MAX
    ? `${line.slice(0, BODY_CHARS_MAX)}… (${line.length} characters)`
    : line;
}

function blankAuth(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('auth' in value)) return text;
    return JSON.stringify({ ...value, auth: MARK });
  } catch {
    return text;
  }
}

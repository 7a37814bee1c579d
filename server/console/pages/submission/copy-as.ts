/**
 * Writes a submission as a person types it: with curl, with the command, with the SDK. Pure. No form holds
 * the secret; all read it from `TASK_GATEWAY_AUTH`.
 */

/** The fields of a submission. `queue_timeout` is absent if the task may not wait. */
export type Submission = {
  readonly task_type: string;
  readonly task_tags: readonly string[];
  readonly cli_session_id?: string;
  readonly timeout?: number;
  readonly queue_timeout?: number;
  readonly payload: object;
};
/** The ways to copy, with their names. */
export const COPY_WAYS = [
  { way: 'curl', title: 'curl' },
  { way: 'cli', title: 'CLI' },
  { way: 'sdk', title: 'SDK' },
] as const;
export type CopyWay = (typeof COPY_WAYS)[number]['way'];

/** Writes a submission to the gateway at `baseUrl`, which ends without a slash. */
export function writeCopy(way: CopyWay, submission: Submission, baseUrl: string): string {
  if (way === 'curl') return writeCurl(submission, baseUrl);
  return way === 'cli' ? writeCommand(submission, baseUrl) : writeProgram(submission, baseUrl);
}

/**
 * Uses a here document, so that the shell inserts the secret. All else that the shell would change is
 * escaped.
 */
function writeCurl(submission: Submission, baseUrl: string): string {
  const fields = orderFields(submission).map(
    ([name, value]) => `  ${JSON.stringify(name)}: ${escapeShell(writeJson(value))}`,
  );
  const body = ['{', [`  "auth": "$TASK_GATEWAY_AUTH"`, ...fields].join(',\n'), '}'].join('\n');
  const url = quote(`${baseUrl}/api/cli/tasks`);
  return `curl -sS ${url} \\\n  -H 'Content-Type: application/json' \\\n  -d @- <<JSON\n${body}\nJSON`;
}

/** Escapes the characters that a shell replaces in a here document without quotes. */
function escapeShell(text: string): string {
  return text.replace(/[\\$`]/g, '\\$&');
}

/** The payload comes from standard input, so it can be any JSON. */
function writeCommand(submission: Submission, baseUrl: string): string {
  const { task_type, task_tags, cli_session_id, timeout, queue_timeout, payload } = submission;
  const options = [
    `--url ${quote(baseUrl)}`,
    ...task_tags.map((tag) => `--tag=${quote(tag)}`),
    ...(cli_session_id ? [`--session=${quote(cli_session_id)}`] : []),
    ...(timeout === undefined ? [] : [`--timeout ${timeout}`]),
    ...(queue_timeout === undefined ? [] : [`--queue-timeout ${queue_timeout}`]),
  ];
  const words = ['task-gateway task submit', ...options, `-- ${quote(task_type)} -`].join(' \\\n  ');
  return `${words} <<'JSON'\n${writeJson(payload)}\nJSON`;
}

/**
 * Characters that would act on the terminal into which a text is pasted, or show it in another order: control
 * characters (ESC begins a command to the terminal), line ends, and changes of the direction.
 */
const ACTING = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Writes JSON in which these characters are escaped. `JSON.stringify` escapes only those below the space. */
function writeJson(value: unknown, space?: number): string {
  const text = JSON.stringify(value, null, space);
  return text.replace(ACTING, (char) => (char === '\n' ? char : escapeUnit(char)));
}

function escapeUnit(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Quotes a text as one word of the shell. If it must be escaped, it becomes `$'…'`, which bash, zsh and ksh
 * read.
 */
function quote(text: string): string {
  if (/^[\w./:=@%+,-]+$/.test(text)) return text;
  const escaped = text.replace(ACTING, escapeBytes);
  if (escaped === text) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${text.replace(/[\\']/g, '\\$&').replace(ACTING, escapeBytes)}'`;
}

/** Writes the UTF-8 bytes of a character, three octal digits each: `\033`. */
function escapeBytes(char: string): string {
  return [...new TextEncoder().encode(char)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

function writeProgram(submission: Submission, baseUrl: string): string {
  const object = writeJson(Object.fromEntries(orderFields(submission)), 2);
  // In a program, a bare "__proto__" would set the prototype, so it becomes a computed key.
  const literal = object.replace(/(?<!\\)"__proto__":/g, '["__proto__"]:');
  return `import { createClient } from '@task-gateway/sdk';

const client = createClient({ baseUrl: ${writeJson(baseUrl)} }); // TASK_GATEWAY_AUTH
console.log(await client.submitTask(${literal}));`;
}

/** Orders the fields that are set: the payload comes last. */
function orderFields(submission: Submission): readonly (readonly [string, unknown])[] {
  const { payload, cli_session_id, ...others } = submission;
  const session = cli_session_id ? { cli_session_id } : {};
  const fields = Object.entries({ ...others, ...session }).filter(([, value]) => value !== undefined);
  return [...fields, ['payload', payload]];
}

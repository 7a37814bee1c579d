/**
 * A submission as a person types it: with curl, with the command, with the SDK. Pure. None holds the secret:
 * all read it from `TASK_GATEWAY_AUTH`.
 */

/** What is submitted. `queue_timeout` is absent where the task may not wait. */
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

/** A here document, so that the shell puts the secret in; what else it would change is escaped. */
function writeCurl(submission: Submission, baseUrl: string): string {
  const fields = orderFields(submission).map(
    ([name, value]) => `  ${JSON.stringify(name)}: ${escapeShell(JSON.stringify(value))}`,
  );
  const body = ['{', [`  "auth": "$TASK_GATEWAY_AUTH"`, ...fields].join(',\n'), '}'].join('\n');
  const url = quote(`${baseUrl}/api/cli/tasks`);
  return `curl -sS ${url} \\\n  -H 'Content-Type: application/json' \\\n  -d @- <<JSON\n${body}\nJSON`;
}

/** What a here document without quotes would replace. */
function escapeShell(text: string): string {
  return text.replace(/[\\$`]/g, '\\$&');
}

/** The payload comes from standard input, so that any JSON can be it. */
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
  return `${words} <<'JSON'\n${JSON.stringify(payload)}\nJSON`;
}

/** A text as one word of the shell. */
function quote(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function writeProgram(submission: Submission, baseUrl: string): string {
  const object = JSON.stringify(Object.fromEntries(orderFields(submission)), null, 2);
  // In a program a bare "__proto__" is no key: it sets the prototype.
  const literal = object.replace(/(?<!\\)"__proto__":/g, '["__proto__"]:');
  return `import { createClient } from '@task-gateway/sdk';

const client = createClient({ baseUrl: ${JSON.stringify(baseUrl)} }); // TASK_GATEWAY_AUTH
console.log(await client.submitTask(${literal}));`;
}

/** The fields that are set, the payload last. */
function orderFields(submission: Submission): readonly (readonly [string, unknown])[] {
  const { payload, cli_session_id, ...others } = submission;
  const session = cli_session_id ? { cli_session_id } : {};
  const fields = Object.entries({ ...others, ...session }).filter(([, value]) => value !== undefined);
  return [...fields, ['payload', payload]];
}

/**
 * A submission copied as curl, as a command and as a program: a shell and a program that run what was copied
 * get exactly the submission, and none of the three holds the secret.
 */
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { COPY_WAYS, type Submission, writeCopy } from '../../server/console/pages/submission/copy-as.ts';
import { buildAgain, writeAgainKey } from '../../server/console/pages/submission/submit-again.ts';

const URL = 'http://127.0.0.1:8080';
const PLAIN: Submission = {
  task_type: 'lora.train',
  task_tags: ['gpu', 'a100-80g'],
  cli_session_id: 'nightly-构建-🌙',
  timeout: 600,
  queue_timeout: 120,
  payload: { dataset: 'product-shots-v13', epochs: 4 },
};
/** Everything a shell would change, were it not written with care. */
const HOSTILE: Submission = {
  task_type: `it's "$HOME" \`id\` -- \\n`,
  task_tags: [`--auth=x`, `'; echo 'broken`, '$(id)', 'JSON'],
  cli_session_id: `-s '"`,
  payload: JSON.parse(
    '{"__proto__":{"a":1},"JSON\\nJSON":"\\nJSON\\n","x\\"__proto__":"$HOME `id` \\\\ \\\\$ \\"","deep":{"__proto__":2}}',
  ),
};

/** Controls of a terminal in every field, and characters that turn the direction of what follows. */
const CONTROLS = "\u001b[2J\n\r\t\u0007\u007f\u009b31m\u2028\u202e构\\'7";
const ACTING: Submission = {
  task_type: `x${CONTROLS}`,
  task_tags: [CONTROLS, 'gpu'],
  cli_session_id: CONTROLS,
  payload: { [CONTROLS]: CONTROLS },
};

/** Runs a copied text in a shell in which `program` only prints what it gets. */
function runInShell(text: string, program: string, prints: string, shell = 'sh'): string {
  const script = `${program}() { ${prints}; }\n${text}`;
  const env = { PATH: process.env.PATH ?? '', TASK_GATEWAY_AUTH: 'the-secret' };
  return execFileSync(shell, ['-c', script], { env, encoding: 'utf8' });
}

describe.each([
  ['an ordinary submission', PLAIN],
  ['a hostile submission', HOSTILE],
  ['a submission with control characters', ACTING],
])('%s', (_title, submission) => {
  test('as curl: the body is the submission and the secret of the shell', () => {
    const body: unknown = JSON.parse(runInShell(writeCopy('curl', submission, URL), 'curl', 'cat'));
    expect(body).toEqual({ auth: 'the-secret', ...submission });
    expect(JSON.stringify(body)).toContain(JSON.stringify(submission.payload));
  });

  test('as a command: its words and its input are the submission', () => {
    const text = writeCopy('cli', submission, URL).replace(/^task-gateway/, 'task_gateway');
    // The plain shell of POSIX reads no $'…', which only control characters need.
    const shell = submission === ACTING ? 'bash' : 'sh';
    const printed = runInShell(text, 'task_gateway', `printf '%s\\0' "$@"; cat`, shell);
    const words = printed.split('\0');
    const input: unknown = JSON.parse(words.pop() ?? '');
    expect(input).toEqual(submission.payload);
    expect(words.slice(0, 4)).toEqual(['task', 'submit', '--url', URL]);
    expect(words.filter((word) => word.startsWith('--tag=')).map((word) => word.slice(6))).toEqual(
      submission.task_tags,
    );
    expect(words).toContain(`--session=${submission.cli_session_id}`);
    expect(words.slice(-3)).toEqual(['--', submission.task_type, '-']);
  });

  test('as a program: its argument is the submission', () => {
    const text = writeCopy('sdk', submission, URL);
    const [, literal] = /submitTask\(([\s\S]*)\)\);$/.exec(text) ?? [];
    const value: unknown = new Function(`return (${literal});`)();
    expect(JSON.stringify(value)).toBe(JSON.stringify({ ...pickOrder(submission) }));
  });

  test.each(COPY_WAYS)('as $title: without a character that acts on a terminal', ({ way }) => {
    const text = writeCopy(way, submission, URL).replaceAll('\n', '');
    expect(text).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
  });

  test.each(COPY_WAYS)('as $title: without the secret', ({ way }) => {
    const text = writeCopy(way, submission, URL);
    expect(text).not.toContain('the-secret');
    expect(text).toMatch(way === 'cli' ? /^task-gateway task submit/ : /TASK_GATEWAY_AUTH/);
  });
});

/** The order that the program has its fields in. */
function pickOrder({ payload, cli_session_id, ...others }: Submission): object {
  return { ...others, cli_session_id, payload };
}

describe('a task submitted again', () => {
  const task = {
    request_id: '01a2009a-2218-7a08-a6cb-6eb8683f4e13',
    cli_session_id: '',
    timeout: 600,
    payload: {},
    task_type: 'x',
    task_tags: ['a'],
    status: 'failed',
    agent_id: 'b',
    result: null,
    error_info: 'no',
  };

  test('has what was submitted and nothing of what became of it', () => {
    expect(buildAgain(task, 30)).toEqual({
      task_type: 'x',
      task_tags: ['a'],
      timeout: 600,
      queue_timeout: 30,
      payload: {},
    });
    expect(buildAgain({ ...task, cli_session_id: 's' }, null)).toEqual({
      task_type: 'x',
      task_tags: ['a'],
      timeout: 600,
      cli_session_id: 's',
      payload: {},
    });
  });

  test('has one key a confirmation, which a header can hold', () => {
    const key = writeAgainKey(task.request_id, 1_795_306_000.5);
    expect(key).toBe('again-01a2009a-2218-7a08-a6cb-6eb8683f4e13-1795306000500');
    expect(writeAgainKey(`构${'x'.repeat(400)}`, 1)).toMatch(/^[ -~]{1,255}$/);
  });
});

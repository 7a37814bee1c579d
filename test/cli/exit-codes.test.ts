/** The exit code and the message of the ways a command can fail; `sdk/problems` has those of responses. */
import { describe, expect, test, vi } from 'vitest';
import { CommandError, describeError } from '../../sdk/cli/exit-codes.ts';
import { explainUsage } from '../../sdk/cli/program.ts';
import { waitUntilSettled } from '../../sdk/cli/wait.ts';
import { createClient } from '../../sdk/client.ts';
import type { Task } from '../../sdk/contract.ts';
import {
  AbortError,
  ConnectionError,
  createApiError,
  InvalidOptionError,
  TimeoutError,
} from '../../sdk/errors.ts';
import { createTaskError } from '../../sdk/task-errors.ts';

const task: Task = {
  request_id: 'T',
  task_type: 't',
  task_tags: [],
  payload: {},
  status: 'failed',
  agent_id: null,
  cli_session_id: '',
  create_time: 1,
  timeout: 1,
  progress: 0,
  result: null,
  error_info: 'boom',
};

test('advice for a gateway that was not reached names a proxy of the environment that Node does not use', () => {
  const advise = (env: Readonly<Record<string, string>>): string => {
    for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'http_proxy', 'NODE_USE_ENV_PROXY'])
      vi.stubEnv(name, env[name] ?? '');
    return describeError(new ConnectionError('connection_failed', 'No response.')).text;
  };
  const plain = advise({});
  expect(plain).toMatch(/TASK_GATEWAY_URL\.$/);
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'http_proxy']) {
    const hint = `${name} is not used: NODE_USE_ENV_PROXY=1 makes Node 24 use it.`;
    expect(advise({ [name]: 'http://127.0.0.1:9' })).toBe(`${plain} ${hint}`);
    expect(advise({ [name]: 'http://127.0.0.1:9', NODE_USE_ENV_PROXY: '1' })).toBe(plain);
  }
  vi.unstubAllEnvs();
});

describe('an error becomes an exit code and one line', () => {
  test.each([
    [new CommandError(3, 'The wait is over.'), 3, /^The wait is over\.$/],
    [new AbortError(), 130, /^Interrupted\.$/],
    [createTaskError(task), 5, /^Task T failed: boom$/],
    [createTaskError({ ...task, error_info: 'timeout' }), 5, /timeout/],
    [createTaskError({ ...task, error_info: 'cancelled by user' }), 5, /cancelled by user/],
    [
      createTaskError({ ...task, error_info: '无可用 Agent' }),
      6,
      /无可用 Agent.*agent list.*--queue-timeout/,
    ],
    [
      createApiError({ status: 503, retryAfterMs: 1_500, headers: new Headers(), attempts: 3 }),
      1,
      /503.*Try again in 2 s/,
    ],
    [
      new ConnectionError('connection_failed', 'No response from the gateway.'),
      1,
      /No response.*Start the gateway.*TASK_GATEWAY_URL/,
    ],
    [
      new ConnectionError('redirected', 'Set baseUrl right.'),
      1,
      /^Set --url right\. Run "task-gateway doctor"/,
    ],
    [new TimeoutError(30), 1, /within 30 ms.*doctor/],
    [new InvalidOptionError('baseUrl must be an http(s) address.'), 2, /^--url must be/],
    [new InvalidOptionError('auth must be printable'), 2, /^--auth must be printable\.$/],
    [new Error('something'), 1, /^something$/],
    ['a text', 1, /^a text$/],
  ])('%s', (error, exitCode, text) => {
    const failure = describeError(error);
    expect(failure).toEqual({ exitCode, text: expect.stringMatching(text) });
    expect(failure.text).not.toContain('\n');
  });

  test('a message of the parser is put on one line, without option values', () => {
    expect(explainUsage("error: unknown option '--auht=my-secret'\n(Did you mean --auth?)\n")).toBe(
      "unknown option '--auht=…' (Did you mean --auth?) See --help.",
    );
    expect(explainUsage("error: missing required argument 'type'\n")).toBe(
      "missing required argument 'type'. See --help.",
    );
  });
});

test.each([
  ['nothing listens', () => Promise.reject(new TypeError('fetch failed'))],
  ['there is no response', () => new Promise<Response>(() => undefined)],
])('a wait of 10 s ends with exit code 3 after at most 12 s, also while %s', async (_, fetch) => {
  vi.useFakeTimers();
  try {
    const client = createClient({ baseUrl: 'http://x.test', auth: 'a-good-secret', fetch, logLevel: 'off' });
    const signal = new AbortController().signal;
    let failure: unknown;
    waitUntilSettled(client, 'T', { waitSeconds: 10, signal }).catch((error: unknown) => {
      failure = describeError(error);
    });
    await vi.advanceTimersByTimeAsync(9_900);
    expect(failure).toBeUndefined();
    await vi.advanceTimersByTimeAsync(2_100);
    expect(failure).toMatchObject({ exitCode: 3, text: expect.stringContaining('within 10 s') });
  } finally {
    vi.useRealTimers();
  }
});

/** The error classes: which answer becomes which, what they tell, and that none of them tells a secret. */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createApiError, createTaskError } from '../../sdk/errors.ts';
import * as kit from '../../sdk/index.ts';
import { readDocument } from '../contract/document-check.ts';
import { createKitClock, elapse } from './kit-clock.ts';
import { createScriptedFetch, json, type Step, someTask } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';

const AUTH = 'canary-"secret"\\1';

function fail(step: Step): Promise<kit.TaskGatewayError> {
  const clock = createKitClock();
  const client = kit.createClient({
    baseUrl: 'http://gateway.test',
    auth: AUTH,
    fetch: createScriptedFetch(step),
    clock,
  });
  const error = client.submitTask({ task_type: 'x', task_tags: [], payload: {} }).then(
    () => Promise.reject(new Error('It did not fail.')),
    (cause: unknown) => cause as kit.TaskGatewayError,
  );
  return elapse(clock, error, 1_000);
}

describe('an answer that says no becomes the class of its status', () => {
  test.each([
    [400, kit.BadRequestError, 'malformed_body'],
    [401, kit.AuthenticationError, 'unauthorized'],
    [404, kit.NotFoundError, 'task_not_found'],
    [413, kit.PayloadTooLargeError, 'payload_too_large'],
    [415, kit.UnsupportedMediaTypeError, 'unsupported_media_type'],
    [422, kit.ValidationError, 'validation_failed'],
    [429, kit.RateLimitError, 'too_many_streams'],
    [500, kit.InternalError, 'internal'],
    [503, kit.UnavailableError, 'busy'],
    [418, kit.ApiError, 'teapot'],
  ])('%i', async (status, Class, code) => {
    const body = problem(status, code, 'Do it otherwise.');
    const error = await fail(json(body, status));
    expect(error).toBeInstanceOf(Class);
    expect(error).toBeInstanceOf(kit.ApiError);
    expect(error).toBeInstanceOf(kit.TaskGatewayError);
    expect(error.name).toBe(Class.name);
    expect(error).toMatchObject({
      status,
      code,
      problem: body,
      message: `${status} ${code}: Do it otherwise.`,
    });
  });

  test('also when no problem came with it', async () => {
    for (const body of ['', '<html>', '[]', '{"code":7}', 'null']) {
      const error = await fail(new Response(body, { status: 403 }));
      expect(error).toMatchObject({ name: 'ApiError', status: 403, code: 'http_403', problem: undefined });
      expect(error.message).toBe('The gateway responded with 403.');
    }
  });

  test('a validation error says what is wrong', async () => {
    const errors = [
      { pointer: '/timeout', detail: 'must be a number above 0' },
      { pointer: '', detail: 'is no object' },
    ];
    const error = await fail(json({ ...problem(422, 'validation_failed'), errors }, 422));
    expect(error).toMatchObject({ errors });
    expect(error.message).toContain('(/timeout must be a number above 0; the body is no object)');
    expect(await fail(json(problem(422, 'validation_failed'), 422))).toMatchObject({ errors: [] });
  });
});

test('Every error status of the document has a class of its own, and every code stands in the README.', () => {
  const { webhooks: _agents, ...gateway } = readDocument();
  const text = JSON.stringify(gateway);
  const statuses = [...new Set(text.match(/"[45]\d\d":\{/g))].map((one) => Number(one.slice(1, 4)));
  expect(statuses.length).toBeGreaterThanOrEqual(9);
  const classes = statuses.map((status) => createApiError({ status, attempts: 1 }).constructor);
  expect(new Set(classes).size).toBe(statuses.length);
  expect(classes).not.toContain(kit.ApiError);
  const readme = readFileSync(new URL('../../sdk/README.md', import.meta.url), 'utf8');
  const codes = [...text.matchAll(/urn:task-gateway:problem:([a-z_]+)/g)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(5);
  for (const code of new Set(codes)) expect(readme, code).toContain(`\`${code}\``);
});

describe('a failure without an answer', () => {
  test('says where nobody answered and why', async () => {
    const cause = Object.assign(new TypeError('fetch failed'), {
      cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
    });
    const error = await fail(cause);
    expect(error).toBeInstanceOf(kit.ConnectionError);
    expect(error.message).toBe(
      'No response from the gateway at http://gateway.test (ECONNREFUSED). Is it running?',
    );
    expect(error.cause).toBe(cause);
  });

  test('is a timeout when the time is over', async () => {
    expect(await fail('never')).toBeInstanceOf(kit.TimeoutError);
  });
});

describe('a task that failed becomes the class of its reason', () => {
  test.each([
    ['cancelled by user', kit.TaskCancelledError, 'task_cancelled'],
    ['timeout', kit.TaskTimeoutError, 'task_timeout'],
    ['无可用 Agent', kit.NoAgentAvailableError, 'no_agent_available'],
    ['文件损坏', kit.TaskFailedError, 'task_failed'],
    [null, kit.TaskFailedError, 'task_failed'],
  ])('%s', (error_info, Class, code) => {
    const task = someTask({ status: 'failed', error_info }) as kit.Task as kit.FailedTask;
    const error = createTaskError(task);
    expect(error).toBeInstanceOf(Class);
    expect(error).toBeInstanceOf(kit.TaskFailedError);
    expect(error).toMatchObject({ name: Class.name, code, task });
    expect(error.message).toContain(error_info ?? 'no reason given');
  });
});

test('No error tells the secret, even if the answer does.', async () => {
  const echo: Step = (sent) =>
    json(
      {
        ...problem(422, 'validation_failed', `You sent ${AUTH}`),
        errors: [{ pointer: '/auth', detail: `not ${sent.body?.auth}` }],
      },
      422,
    );
  const steps: Step[] = [
    echo,
    (sent) => new Response(`not JSON: ${sent.text}`),
    (sent) => new Response(sent.text, { status: 500 }),
    'never',
    new TypeError('no'),
  ];
  for (const step of steps) {
    const error = await fail(step);
    const told = [error.message, error.stack, JSON.stringify(error), inspect(error, { depth: 10 })].join(
      '\n',
    );
    expect(told).not.toContain('canary');
  }
});

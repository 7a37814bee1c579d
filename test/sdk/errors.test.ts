/**
 * The error classes: which response becomes which class, what an error contains, and that none contains a
 * secret.
 */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import * as sdk from '../../sdk/index.ts';
import { requireObject } from '../../spec/document.ts';
import { readDocument } from '../contract/document-check.ts';
import { createScriptedFetch, json, type Step } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { createSdkClock, elapse } from './sdk-clock.ts';

const AUTH = 'canary-"secret"\\1';

function fail(step: Step): Promise<sdk.TaskGatewayError> {
  const clock = createSdkClock();
  const client = sdk.createClient({
    baseUrl: 'http://gateway.test',
    auth: AUTH,
    fetch: createScriptedFetch(step),
    clock,
  });
  const error = client.submitTask({ task_type: 'x', task_tags: [], payload: {} }).then(
    () => Promise.reject(new Error('The call did not fail.')),
    (cause: unknown) => cause as sdk.TaskGatewayError,
  );
  return elapse(clock, error, 1_000);
}

describe('an error response', () => {
  test('without problem details becomes an ApiError', async () => {
    for (const body of ['', '<html>', '[]', '{"code":7}', 'null']) {
      const error = await fail(new Response(body, { status: 418 }));
      expect(error).toMatchObject({ name: 'ApiError', status: 418, code: 'http_418', problem: undefined });
      expect(error.message).toBe('The gateway responded with 418.');
    }
  });

  test('to a wrong request lists what is wrong', async () => {
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

test('The page lists every code of the OpenAPI document.', () => {
  const { paths, ...document } = readDocument();
  // What belongs to no operation is never what the client gets for a call.
  const { OtherProblem: _other, ...responses } = requireObject(document, 'components', 'responses');
  const text = JSON.stringify({ paths, responses });
  const page = readFileSync(new URL('../../sdk/CLIENT.md', import.meta.url), 'utf8');
  const codes = [...text.matchAll(/urn:task-gateway:problem:([a-z_]+)/g)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(5);
  for (const code of new Set(codes)) expect(page, code).toContain(`\`${code}\``);
});

describe('a failure without a response', () => {
  test('names the address and the cause', async () => {
    const cause = Object.assign(new TypeError('fetch failed'), {
      cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
    });
    const error = await fail(cause);
    expect(error).toBeInstanceOf(sdk.ConnectionError);
    expect(error.message).toBe(
      'No response from the gateway at http://gateway.test (ECONNREFUSED). Is it running?',
    );
    expect(error.cause).toBe(cause);
  });

  test('is a TimeoutError when the timeout passes', async () => {
    expect(await fail('never')).toBeInstanceOf(sdk.TimeoutError);
  });
});

test('No error contains a short secret, nor the end of one that begins as another does.', async () => {
  const body = problem(400, 'malformed_body', 'You sent tiny1 and long-secret-and-more.');
  for (const auth of ['tiny1', 'long-secret']) {
    const adminAuth = 'long-secret-and-more';
    const client = sdk.createClient({
      baseUrl: 'http://gateway.test',
      auth,
      adminAuth,
      fetch: createScriptedFetch(json(body, 400)),
    });
    const error = await client.getTask('t').catch((cause: unknown) => cause as sdk.ApiError);
    expect(error).toMatchObject({ code: 'malformed_body' });
    const text = inspect(error, { depth: 10 });
    expect(text).not.toContain(auth);
    expect(text).not.toContain('and-more');
  }
});

test('No error contains the secret, even if the response echoes it.', async () => {
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
    const text = [error.message, error.stack, JSON.stringify(error), inspect(error, { depth: 10 })].join(
      '\n',
    );
    expect(text).not.toContain('canary');
  }
});

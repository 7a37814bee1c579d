/** When a call is retried, when it is not, and how it ends in time. */
import { describe, expect, test } from 'vitest';
import { describeProblem, PROBLEM_CODES, Problem, type ProblemCode } from '../../server/http/problems.ts';
import { listWords, readTable } from '../contract/guide.ts';
import { connect, connectionRefused, submission } from './calls-fixture.ts';
import { json, someTask } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { createSdkClock, elapse } from './sdk-clock.ts';

describe('a call is retried', () => {
  test.each([
    ['the connection is refused', connectionRefused()],
    ['502 of a proxy', new Response('<html>', { status: 502 })],
    ['504', new Response(null, { status: 504 })],
  ])('after %s', async (_title, failure) => {
    const { client, clock, sent } = connect([failure, json(someTask())]);
    expect(await elapse(clock, client.getTask('t'))).toEqual(someTask());
    expect(sent).toHaveLength(2);
  });

  test('after a timeout; each attempt has its own', async () => {
    const { client, clock, sent } = connect(['never', 'never', json(someTask())], { timeoutMs: 1_000 });
    await elapse(clock, client.getTask('t'));
    expect(sent).toHaveLength(3);
    expect(clock.nowMs()).toBeGreaterThanOrEqual(2_000 + 375 + 750);
  });

  test('with pauses that double up to eight seconds', async () => {
    const { client, clock } = connect([connectionRefused()], { maxRetries: 7 });
    const failedMs: number[] = [];
    const call = client.getTask('t', { maxRetries: 7 }).catch(() => failedMs.push(clock.nowMs()));
    await elapse(clock, call, 125);
    // Three quarters of 0.5 + 1 + 2 + 4 + 8 + 8 + 8 seconds, because the random number is always 0.5.
    expect(failedMs[0]).toBeGreaterThanOrEqual(23_625);
    expect(failedMs[0]).toBeLessThan(23_625 + 7 * 125);
  });

  test.each([
    ['seconds', () => '7', 7_000],
    ['a date', (nowMs: number) => new Date(nowMs + 9_000).toUTCString(), 9_000],
  ])('not before the time of Retry-After has passed: %s', async (_title, text, askedMs) => {
    const clock = createSdkClock();
    const busy = json(problem(503, 'busy'), 503, { 'retry-after': text(clock.nowMs()) });
    const { client, sent } = connect([busy, json(someTask())], { clock });
    const call = client.getTask('t');
    await clock.advance(0);
    await clock.advance(askedMs - 1);
    expect(sent).toHaveLength(1);
    await clock.advance(askedMs / 4 + 1);
    expect(sent).toHaveLength(2);
    await call;
  });

  test('with the same idempotency key, which a submission creates, and the same body', async () => {
    const { client, clock, sent } = connect([connectionRefused(), json({}, 503), json(someTask())]);
    await elapse(clock, client.submitTask(submission));
    await client.submitTask(submission);
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'));
    expect(keys[0]).toMatch(/^[ -~]{16,255}$/);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).toBe(keys[0]);
    expect(keys[3]).not.toBe(keys[0]);
    expect(new Set(sent.map(({ text }) => text)).size).toBe(1);
  });

  test('with the idempotency key it is given', async () => {
    const { client, sent } = connect([json(someTask())]);
    await client.submitTask(submission, { idempotencyKey: 'weekly-47' });
    expect(sent[0]?.headers.get('idempotency-key')).toBe('weekly-47');
  });
});

describe('a call is not retried', () => {
  test.each([405, 501])('after %i', async (status) => {
    const { client, sent } = connect([json(problem(status, 'no'), status)]);
    await expect(client.getTask('t')).rejects.toMatchObject({ status, code: 'no', attempts: 1 });
    expect(sent).toHaveLength(1);
  });

  test('more often than `maxRetries` allows', async () => {
    const { client, clock, sent } = connect([connectionRefused()], { maxRetries: 2 });
    await expect(elapse(clock, client.getTask('t'))).rejects.toMatchObject({ name: 'ConnectionError' });
    await expect(client.getTask('t', { maxRetries: 0 })).rejects.toMatchObject({ name: 'ConnectionError' });
    expect(sent).toHaveLength(4);
  });

  test('when Retry-After asks for more than a minute: the error says how long', async () => {
    const { client, sent } = connect([json(problem(503, 'busy'), 503, { 'retry-after': '61' })]);
    await expect(client.getTask('t')).rejects.toMatchObject({
      name: 'UnavailableError',
      retryAfterMs: 61_000,
    });
    expect(sent).toHaveLength(1);
  });

  test('when the server redirects: nothing is sent to the new address', async () => {
    const { client, sent } = connect([
      new Response(null, { status: 307, headers: { location: 'http://evil.test/' } }),
    ]);
    await expect(client.submitTask(submission)).rejects.toMatchObject({ code: 'redirected' });
    expect(sent).toHaveLength(1);
  });

  test('when another server responds', async () => {
    const { client, sent } = connect([new Response('<html>hello</html>'), new Response(null)]);
    await expect(client.getTask('t')).rejects.toMatchObject({
      name: 'ConnectionError',
      code: 'not_a_gateway',
    });
    await expect(client.getTask('t')).rejects.toMatchObject({
      name: 'ConnectionError',
      code: 'not_a_gateway',
    });
    expect(sent).toHaveLength(2);
  });
});

describe('a retry that fails because its first attempt took effect', () => {
  const terminal = json(problem(400, 'task_terminal'), 400);

  test('succeeds for a cancellation if the task is cancelled', async () => {
    const { client, clock } = connect([
      connectionRefused(),
      terminal,
      json(someTask({ status: 'failed', error_info: 'cancelled by user' })),
    ]);
    expect(await elapse(clock, client.cancelTask('t'))).toEqual({ ok: true, request_id: 't' });
  });

  test('fails for a cancellation if the task has another outcome', async () => {
    const { client, clock } = connect([
      connectionRefused(),
      terminal,
      json(someTask({ status: 'success', result: {} })),
    ]);
    await expect(elapse(clock, client.cancelTask('t'))).rejects.toMatchObject({ code: 'task_terminal' });
  });

  test('is not assumed for a first attempt', async () => {
    const { client, sent } = connect([terminal]);
    await expect(client.cancelTask('t')).rejects.toMatchObject({
      name: 'BadRequestError',
      code: 'task_terminal',
    });
    expect(sent).toHaveLength(1);
  });

  test('succeeds for an unregistration if the agent is unregistered', async () => {
    const { client, clock } = connect([connectionRefused(), json(problem(404, 'agent_not_found'), 404)]);
    expect(await elapse(clock, client.unregisterAgent({ agent_id: 'a' }))).toEqual({
      ok: true,
      agent_id: 'a',
    });
  });
});

describe('a call ends', () => {
  test('with its timeout, to which `wait` is added', async () => {
    const { client, clock } = connect(['never'], { timeoutMs: 1_000, maxRetries: 0 });
    const call = client.getTask('t', { wait: 20 }).catch((error: unknown) => error);
    await clock.advance(0);
    await clock.advance(20_999);
    expect(clock.sleeping()).toBe(1);
    await clock.advance(1);
    expect(await call).toMatchObject({ name: 'TimeoutError', code: 'timeout', timeoutMs: 21_000 });
  });

  test('with its signal, while it waits for the response', async () => {
    const { client, clock, sent } = connect(['never']);
    const controller = new AbortController();
    const call = client.getTask('t', { signal: controller.signal });
    await clock.advance(10);
    controller.abort('enough');
    await expect(call).rejects.toMatchObject({ name: 'AbortError', code: 'aborted', cause: 'enough' });
    expect(sent).toHaveLength(1);
    expect(clock.sleeping()).toBe(0);
  });

  test('with its signal, while it waits for the next attempt', async () => {
    const { client, clock, sent } = connect([connectionRefused()]);
    const controller = new AbortController();
    const call = client.getTask('t', { signal: controller.signal });
    await clock.advance(10);
    controller.abort();
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
    expect(sent).toHaveLength(1);
    expect(clock.sleeping()).toBe(0);
  });

  test('before it is sent if the signal had fired already', async () => {
    const { client, sent } = connect([json(someTask())]);
    await expect(client.getTask('t', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(sent).toHaveLength(0);
  });

  test('without a timer left behind', async () => {
    const { client, clock } = connect([json({}, 503), json(someTask())]);
    await elapse(clock, client.getTask('t'));
    expect(clock.sleeping()).toBe(0);
  });
});

describe('the guide’s table of errors', () => {
  const isKnown = (code: string): code is ProblemCode => PROBLEM_CODES.has(code);
  const rows = readTable('What to do with an error').flatMap((row) =>
    listWords(row.Code)
      .filter(isKnown)
      .map((code) => ({ code, again: row['Again?'] ?? '' })),
  );

  test.each(rows)('$code: the call is repeated as it is: $again', async ({ code, again }) => {
    const { status, body } = describeProblem(new Problem(code, 'no'));
    const { client, clock, sent } = connect([json(JSON.parse(body), status), json(someTask())]);
    const outcome = elapse(clock, client.getTask('t')).catch((error: unknown) => error);
    const isRepeated = again === 'yes' || again === 'with care';
    expect(await outcome).toMatchObject(isRepeated ? { request_id: someTask().request_id } : { code });
    expect(sent).toHaveLength(isRepeated ? 2 : 1);
  });
});

/** A client’s settings from options and environment, its log, and the raw responses it passes on. */

import { afterEach, describe, expect, test, vi } from 'vitest';
import { redactSecrets } from '../../sdk/cli/terminal/redaction.ts';
import { createClient, type Logger } from '../../sdk/index.ts';
import { createRedactor } from '../../sdk/secrets.ts';
import { ADMIN, AUTH, connect, connectionRefused, submission } from './calls-fixture.ts';
import { createScriptedFetch, json, someTask } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { elapse } from './sdk-clock.ts';

afterEach(() => vi.unstubAllEnvs());

describe('the environment', () => {
  test('provides what the options do not', async () => {
    vi.stubEnv('TASK_GATEWAY_URL', 'http://elsewhere.test/');
    vi.stubEnv('TASK_GATEWAY_AUTH', 'secret-of-the-environment');
    vi.stubEnv('TASK_GATEWAY_ADMIN_AUTH', 'another-of-the-environment');
    vi.stubEnv('TASK_GATEWAY_HEADERS', 'X-Tenant: a: b\n\nX-Trace:1');
    vi.stubEnv('TASK_GATEWAY_MAX_RETRIES', '0');
    const fetch = createScriptedFetch(
      json(someTask()),
      json({ time: 1, agents: [], total: 0, counts: {}, next_cursor: null }),
      json(problem(503, 'busy'), 503),
    );
    const client = createClient({ fetch });
    await client.getTask('t');
    await client.listAgents();
    await expect(client.getTask('t')).rejects.toMatchObject({ attempts: 1 });
    const [got, listed] = fetch.sent;
    expect(got?.url.href).toBe('http://elsewhere.test/api/cli/tasks/t');
    expect(Object.fromEntries(got?.headers ?? [])).toMatchObject({
      authorization: 'Bearer secret-of-the-environment',
      'x-tenant': 'a: b',
      'x-trace': '1',
    });
    expect(listed?.headers.get('x-admin-auth')).toBe('another-of-the-environment');
  });

  test('sets the timeout of an attempt', async () => {
    vi.stubEnv('TASK_GATEWAY_TIMEOUT_MS', '1234');
    const { client, clock } = connect(['never'], { maxRetries: 0 });
    const call = client.getTask('t').catch((error: unknown) => error);
    expect(await elapse(clock, call)).toMatchObject({ code: 'timeout', timeoutMs: 1_234 });
  });

  test('is overridden by the options', async () => {
    vi.stubEnv('TASK_GATEWAY_URL', 'http://elsewhere.test/');
    vi.stubEnv('TASK_GATEWAY_AUTH', 'secret-of-the-environment');
    const { client, sent } = connect([json(someTask())]);
    await client.getTask('t');
    expect(sent[0]?.url.host).toBe('gateway.test');
    expect(sent[0]?.headers.get('authorization')).toBe(`Bearer ${AUTH}`);
  });

  test.each([
    ['no address', {}, /TASK_GATEWAY_URL/],
    ['no secret', { TASK_GATEWAY_URL: 'http://gateway.test' }, /TASK_GATEWAY_AUTH/],
    ['a header without a name', { TASK_GATEWAY_HEADERS: 'canary' }, /Name: value/],
  ])('with a missing or invalid value is an error that names it: %s', (_title, variables, text) => {
    const complete = { baseUrl: 'http://gateway.test', auth: AUTH };
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    const create = () => createClient(/TASK_GATEWAY_(URL|AUTH)/.test(text.source) ? {} : complete);
    expect(create).toThrow(
      expect.objectContaining({ code: 'invalid_option', message: expect.stringMatching(text) }),
    );
    expect(create).not.toThrow(/canary/);
  });
});

describe('a secret that is a function', () => {
  test('is called before each call, and once more when its secret was rejected', async () => {
    const secrets = ['canary-first-1', 'canary-second-2', 'canary-second-2'];
    const auth = vi.fn(async () => secrets.shift() ?? 'canary-third-3');
    const { client, sent } = connect(
      [json(problem(401, 'unauthorized'), 401), json(someTask()), json(someTask())],
      { auth },
    );
    await client.getTask('t');
    await client.submitTask(submission);
    expect(sent.map(({ headers, body }) => body?.auth ?? headers.get('authorization'))).toEqual([
      'Bearer canary-first-1',
      'Bearer canary-second-2',
      'canary-second-2',
    ]);
  });

  test('is not called endlessly', async () => {
    let asked = 0;
    const auth = () => {
      asked += 1;
      return `canary-secret-${asked}`;
    };
    const { client, sent } = connect([json(problem(401, 'unauthorized'), 401)], { auth });
    await expect(client.getTask('t')).rejects.toMatchObject({ status: 401 });
    expect(sent).toHaveLength(2);
  });

  test.each([
    [
      'fails',
      () => Promise.reject(new Error('the vault is closed')),
      { cause: { message: 'the vault is closed' } },
    ],
    ['returns something that is not a secret', () => ' ', {}],
  ])('is an error when it %s', async (_title, auth, expected) => {
    const { client, sent } = connect([json(someTask())], { auth });
    await expect(client.getTask('t')).rejects.toMatchObject({ code: 'invalid_option', ...expected });
    expect(sent).toHaveLength(0);
  });

  test.each([
    ['a', 'a task of a cat: "a", {a}, a_b, ä, ba, á', '*** task of *** cat: "***", {***}, a_b, ä, ba, á'],
    ['1234567', '1234567 x1234567 12345678', '*** x1234567 12345678'],
    ['12345678', '12345678 x12345678', '*** x***'],
    ['$.(', 'a$.(b $.( c', 'a***b *** c'],
    ['a"b', 'a"b {"x":"a\\"b"} ca"b', '*** {"x":"***"} ca"b'],
  ])('of few characters is redacted where it stands alone: %s', (secret, text, redacted) => {
    const { addSecret, redact } = createRedactor();
    addSecret(secret);
    expect(redact(text)).toBe(redacted);
    // The command line's rule is the same.
    expect(redactSecrets(text, [secret])).toBe(redacted);
    expect(redact({ code: `${secret}` })).toEqual({ code: secret.length < 8 ? secret : '***' });
  });

  test('is redacted from errors, also after it has changed', async () => {
    let auth = 'canary-secret-of-before';
    const echo = json(problem(422, 'validation_failed', 'You sent canary-secret-of-before'), 422);
    const { client } = connect([json(someTask()), echo], { auth: () => auth });
    await client.getTask('t');
    auth = 'canary-secret-of-after';
    await expect(client.getTask('t')).rejects.toThrow(/You sent \*\*\*/);
  });
});

/** Creates a logger that records its messages. */
function createLogger() {
  const lines: string[] = [];
  const record = (level: string) => (message: string, fields: Readonly<Record<string, unknown>>) =>
    lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const logger: Logger = {
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
  };
  return { logger, lines };
}

describe('a logger', () => {
  test('receives retries and failures, and at level debug every attempt', async () => {
    const { logger, lines } = createLogger();
    const { client, clock } = connect([connectionRefused(), json(problem(404, 'task_not_found'), 404)], {
      logger,
      logLevel: 'debug',
    });
    await elapse(
      clock,
      client.getTask('t').catch(() => undefined),
    );
    expect(lines).toEqual([
      expect.stringMatching(
        /^debug task-gateway: GET \/api\/cli\/tasks\/t: connection_failed \{"attempt":1,"afterMs":0\}/,
      ),
      expect.stringMatching(
        /^info task-gateway: GET \/api\/cli\/tasks\/t: connection_failed, retrying in 375 ms/,
      ),
      expect.stringMatching(/^debug task-gateway: GET \/api\/cli\/tasks\/t: 404/),
      expect.stringMatching(/^warn task-gateway: GET \/api\/cli\/tasks\/t failed: 404 \{"attempts":2\}/),
    ]);
  });

  test('never gets a secret, a session or a body', async () => {
    const { logger, lines } = createLogger();
    const { client, clock } = connect([new TypeError(`no ${AUTH}`)], {
      logger,
      logLevel: 'debug',
      headers: { 'x-tenant': 'canary-tenant' },
    });
    const calls: readonly (() => Promise<unknown>)[] = [
      () => client.submitTask({ ...submission, payload: { text: 'canary-payload' } }),
      () => client.getTask(AUTH),
      () => client.listTasks({ session: 'canary-session' }),
    ];
    for (const call of calls)
      await elapse(
        clock,
        call().catch(() => undefined),
      );
    const logged = lines.length;
    const events = client.subscribeEvents('canary-session');
    const reading = (async () => {
      for await (const _event of events);
    })();
    // The reader of streams is a file that is loaded with the first of them.
    await vi.waitUntil(() => lines.length > logged);
    await clock.advance(10_000);
    events.close();
    await reading;
    expect(lines.length).toBeGreaterThan(30);
    expect(lines.join('\n')).toContain('the event stream is down');
    expect(lines.join('\n')).not.toContain('canary');
    expect(lines.join('\n')).not.toContain(ADMIN);
  });

  test('receives nothing below its level, and the console nothing by default', async () => {
    const { logger, lines } = createLogger();
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    await connect([json({}, 404)], { logger, logLevel: 'error' })
      .client.getTask('t')
      .catch(() => undefined);
    await connect([json({}, 404)])
      .client.getTask('t')
      .catch(() => undefined);
    expect(lines).toEqual([]);
    expect(warn).not.toHaveBeenCalled();
    vi.stubEnv('TASK_GATEWAY_LOG', 'warn');
    await connect([json({}, 404)])
      .client.getTask('t')
      .catch(() => undefined);
    expect(warn).toHaveBeenCalledOnce();
    warn.mockRestore();
  });
});

test('onResponse gets a copy of each response, including those before a retry.', async () => {
  const { client, clock } = connect([
    json(problem(503, 'busy'), 503, { 'retry-after': '1' }),
    json(someTask(), 200, { 'task-gateway-version': '1.2.3' }),
  ]);
  const seen: Response[] = [];
  const task = await elapse(clock, client.getTask('t', { onResponse: (response) => seen.push(response) }));
  expect(seen.map(({ status }) => status)).toEqual([503, 200]);
  expect(seen[1]?.headers.get('task-gateway-version')).toBe('1.2.3');
  expect(await seen[1]?.json()).toEqual(task);
});

test('An error has the headers of its response.', async () => {
  const { client } = connect([json(problem(404, 'task_not_found'), 404, { 'x-request': '7' })]);
  const error = await client.getTask('t').catch((cause: unknown) => cause);
  expect((error as { headers: Headers }).headers.get('x-request')).toBe('7');
});

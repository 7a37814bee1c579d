/**
 * Mistakes that a compiler would find, in plain JavaScript: each is an error at once or one warning, and says
 * where it was made and what to write instead.
 */
import { afterEach, expect, test, vi } from 'vitest';
import { type AgentOptions, createAgent } from '../../sdk/agent/index.ts';
import { createClient, type SubscribeOptions, type TaskSubmission } from '../../sdk/index.ts';
import { AUTH, connect, submission } from './calls-fixture.ts';
import { json, someTask } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { elapse } from './sdk-clock.ts';
import { createSimulatedGateway } from './simulated-gateway.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Records the warnings. */
function watchWarnings(): readonly string[] {
  const warnings: string[] = [];
  vi.spyOn(console, 'warn').mockImplementation((text) => void warnings.push(String(text)));
  return warnings;
}

const reach = { baseUrl: 'http://gateway.test', auth: AUTH };
const agent: AgentOptions = { ...reach, tags: ['x'], handler: () => 'done' };

test('A misspelt option or field is one warning, which names those there are.', async () => {
  const warnings = watchWarnings();
  const { client } = connect([json(someTask())]);
  for (let times = 0; times < 3; times += 1) {
    await client.submitTask({ ...submission, queue_timout: 30 } as TaskSubmission);
    await client.getTask('t', { timout: 3 } as object);
    client.subscribeEvents('s', { onNotise: () => undefined } as SubscribeOptions);
    createClient({ ...reach, timeout: 3 } as object);
    createAgent({ ...agent, tag: 'x' } as AgentOptions);
  }
  expect(warnings).toEqual([
    expect.stringMatching(/^task-gateway: Submissions have no "queue_timout".*\bqueue_timeout\b/),
    expect.stringMatching(/^task-gateway: The options of calls have no "timout".*\btimeoutMs\b/),
    expect.stringMatching(/^task-gateway: The options of calls have no "onNotise".*\bonNotice\b/),
    expect.stringMatching(/^task-gateway: The options of clients have no "timeout".*\btimeoutMs\b/),
    expect.stringMatching(/^task-gateway: The options of agents have no "tag".*\btags\b.*/),
  ]);
});

test('What is spelt right is no warning.', async () => {
  const warnings = watchWarnings();
  const { client } = connect([json(someTask({ status: 'success', result: {} }))]);
  const all = { cli_session_id: 's', timeout: 30, queue_timeout: 0 };
  await client.runTask(
    { ...submission, ...all },
    { onProgress: () => undefined, cancelOnAbort: true, idempotencyKey: 'k', headers: {}, maxRetries: 1 },
  );
  createAgent({ ...agent, endpoint: 'pull', maxConcurrent: 2, handlerEndMs: 1, maxPushBytes: 1 });
  expect(warnings).toEqual([]);
});

test.each([
  ['no handler', { ...agent, handler: undefined }, /^handler is missing: give the function/],
  ['a handler that is no function', { ...agent, handler: 'work' }, /^handler is missing/],
  ['no tags', { ...agent, tags: undefined }, /^tags must be a list of texts/],
  ['a tag that is no list', { ...agent, tags: 'x' }, /^tags must be a list of texts/],
  ['a limit below zero', { ...agent, handlerEndMs: -1 }, /^handlerEndMs must be a number of 0 or more/],
  ['a size that is no number', { ...agent, maxPushBytes: 'big' }, /^maxPushBytes must be a number/],
])('createAgent throws at once: %s', (_title, options, message) => {
  expect(() => createAgent(options as unknown as AgentOptions)).toThrow(
    expect.objectContaining({ code: 'invalid_option', message: expect.stringMatching(message) }),
  );
});

test.each([
  ['URL', 'no address', /^baseUrl \(from TASK_GATEWAY_URL\) must be/],
  ['AUTH', 'two words ', /^auth \(from TASK_GATEWAY_AUTH\) must be/],
  ['ADMIN_AUTH', ' ', /^adminAuth \(from TASK_GATEWAY_ADMIN_AUTH\) must be/],
  ['TIMEOUT_MS', 'soon', /^timeoutMs \(from TASK_GATEWAY_TIMEOUT_MS\) must be/],
  ['MAX_RETRIES', '-1', /^maxRetries \(from TASK_GATEWAY_MAX_RETRIES\) must be/],
  ['MAX_RESPONSE_BYTES', 'all', /^maxResponseBytes \(from TASK_GATEWAY_MAX_RESPONSE_BYTES\) must be/],
  ['LOG', 'loud', /^logLevel \(from TASK_GATEWAY_LOG\) must be/],
  ['PUSH_SECRET', 'two words', /^pushSecret \(from TASK_GATEWAY_PUSH_SECRET\) can’t sign/],
])('An error names the variable that the value is from: TASK_GATEWAY_%s.', (name, value, message) => {
  const variables = { URL: 'http://gateway.test', AUTH, [name]: value };
  for (const [one, text] of Object.entries(variables)) vi.stubEnv(`TASK_GATEWAY_${one}`, text);
  expect(() => createAgent({ tags: [], handler: () => 'done' })).toThrow(message);
  expect(() => createAgent({ tags: [], handler: () => 'done' })).not.toThrow(value.trim() || 'nothing');
});

test('A wrong secret and a gateway that does not respond name the variable too, and nothing if an option was given.', async () => {
  vi.stubEnv('TASK_GATEWAY_URL', 'http://gateway.test');
  vi.stubEnv('TASK_GATEWAY_AUTH', AUTH);
  const steps = [json(problem(401, 'unauthorized'), 401), new TypeError('fetch failed')];
  const fromVariables = connect(steps, { baseUrl: undefined, auth: undefined, maxRetries: 0 }).client;
  await expect(fromVariables.getTask('t')).rejects.toThrow(/ The secret is from TASK_GATEWAY_AUTH\.$/);
  await expect(fromVariables.getTask('t')).rejects.toThrow(/ The address is from TASK_GATEWAY_URL\.$/);
  const given = connect(steps, { maxRetries: 0 }).client;
  await expect(given.getTask('t')).rejects.not.toThrow(/TASK_GATEWAY/);
  await expect(given.getTask('t')).rejects.not.toThrow(/TASK_GATEWAY/);
});

test('In a page of another origin, a request without a response names CORS and the setting.', async () => {
  const failing = () => connect([new TypeError('Failed to fetch')], { maxRetries: 0 }).client.getTask('t');
  vi.stubGlobal('location', { origin: 'https://page.test', href: 'https://page.test/' });
  await expect(failing()).rejects.toThrow(
    /Is it running\? If it is, the browser may have blocked the request \(CORS\): add https:\/\/page\.test to the gateway's CORS_ORIGINS\.$/,
  );
  vi.stubGlobal('location', { origin: 'http://gateway.test', href: 'http://gateway.test/' });
  await expect(failing()).rejects.not.toThrow(/CORS/);
});

test('A response, and an event, beyond maxResponseBytes is an error that names the option.', async () => {
  const large = someTask({ status: 'success', result: { output: 'x'.repeat(2_000) } });
  const options = { maxRetries: 0, maxResponseBytes: 1_000 };
  await expect(connect([json(large)], options).client.getTask('t')).rejects.toMatchObject({
    code: 'response_too_large',
    message: expect.stringContaining('1000 bytes (maxResponseBytes)'),
  });
  await expect(connect([json(large)]).client.getTask('t')).resolves.toMatchObject({ status: 'success' });
  const frame = new Response(`data: ${JSON.stringify(large)}\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  });
  const events = connect([frame], options).client.subscribeEvents('s')[Symbol.asyncIterator]();
  await expect(events.next()).rejects.toMatchObject({
    code: 'event_too_large',
    message: expect.stringContaining('1000 characters (maxResponseBytes)'),
  });
});

test('A function for the secret that never resolves is waited for as long as for a response.', async () => {
  const aborting = new AbortController();
  const { client, clock, sent } = connect([json(someTask())], {
    auth: () => new Promise<string>(() => undefined),
    maxRetries: 0,
    timeoutMs: 2_000,
  });
  const call = client.getTask('t').catch((error: unknown) => error);
  expect(await elapse(clock, call)).toMatchObject({
    code: 'timeout',
    timeoutMs: 2_000,
    message: expect.stringMatching(/^No secret from the auth/),
  });
  const aborted = client.getTask('t', { signal: aborting.signal }).catch((error: unknown) => error);
  aborting.abort('enough');
  expect(await aborted).toMatchObject({ code: 'aborted', cause: 'enough' });
  expect(sent).toEqual([]);
  expect(clock.sleeping()).toBe(0);
});

test.each([
  ['timeoutMs', { timeoutMs: Number.NaN }],
  ['timeoutMs', { timeoutMs: 0 }],
  ['maxRetries', { maxRetries: Number.NaN }],
  ['maxRetries', { maxRetries: -1 }],
  ['wait', { wait: Number.NaN }],
  ['wait', { wait: -1 }],
])('A number in the options of a call that can’t work is an error: %s, %o', async (name, options) => {
  const { client, fetch } = connect([json(someTask())]);
  const error = { code: 'invalid_option', message: expect.stringContaining(name) };
  await expect(client.getTask('t', options)).rejects.toMatchObject(error);
  if ('wait' in options) {
    await expect(client.claimTask({ agent_id: 'a', ...options })).rejects.toMatchObject(error);
  } else {
    await expect(client.listTasks({}, options)).rejects.toMatchObject(error);
    await expect(client.submitTask(submission, options)).rejects.toMatchObject(error);
    const run = client.runTask({ ...submission, cli_session_id: 's' }, options);
    await expect(run).rejects.toMatchObject(error);
  }
  expect(fetch.sent).toEqual([]);
});

test.each([
  ['idleMs', { idleMs: Number.NaN }],
  ['timeoutMs', { timeoutMs: Number.NaN }],
])('A number in the options of a subscription that can’t work is an error: %s', async (name, options) => {
  const { client, fetch } = connect([json({})]);
  const next = client.subscribeEvents('s', options)[Symbol.asyncIterator]().next();
  await expect(next).rejects.toMatchObject({
    code: 'invalid_option',
    message: expect.stringContaining(name),
  });
  expect(fetch.sent).toEqual([]);
});

test.each(['drainMs', 'graceMs'])(
  'An agent’s stop() refuses a %s that is no number, and can be repeated.',
  async (name) => {
    const fake = createSimulatedGateway();
    const started = createAgent({ ...agent, ...fake.options });
    await started.start();
    const error = { code: 'invalid_option', message: expect.stringContaining(name) };
    await expect(async () => await started.stop({ [name]: Number.NaN })).rejects.toMatchObject(error);
    await started.stop();
  },
);

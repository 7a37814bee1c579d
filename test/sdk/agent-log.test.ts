/** What an agent says to its person by default, and how often. */
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { AgentOptions } from '../../sdk/agent/index.ts';
import { agent, clock, create, gateway, offer, startPulling } from './agent-fixture.ts';
import { problem } from './scripted-server.ts';
import { pass } from './sdk-clock.ts';

let said: string[];

beforeEach(() => {
  said = [];
  network = 'open';
  vi.spyOn(console, 'error').mockImplementation((format: string, line: string) => {
    expect(format).toBe('%s');
    said.push(line);
  });
});

afterEach(() => void vi.restoreAllMocks());

/** The way to the gateway. */
let network: 'open' | 'refused' | 'silent';

/** The options of an agent as its author gives them: without a word about the log. */
const PLAIN: Partial<AgentOptions> = {
  logLevel: undefined,
  fetch(request, init) {
    if (network === 'open') return gateway.fetch(request, init);
    if (network === 'refused') {
      const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
      return Promise.reject(new TypeError('fetch failed', { cause }));
    }
    const signal = init?.signal ?? request.signal;
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  },
};
const READY =
  'task-gateway: ready: agent 译者 1 is registered at http://gateway.test with the tag zh and 1 slot, and claims its tasks';

test('An agent says where it is registered, with which tags and slots.', async () => {
  await startPulling(PLAIN);
  expect(said).toEqual([READY]);
});

test('An agent with many tags names the first ones.', async () => {
  const tags = Array.from({ length: 64 }, (_, index) => `t${index}`);
  await startPulling({ ...PLAIN, tags, maxConcurrent: 4 });
  expect(said[0]).toContain(' with the tags t0, t1, t2, t3, t4, t5, t6, t7 and 56 more and 4 slots, ');
});

test('A gateway that can’t be reached is said at once, then once a minute, and when it is back.', async () => {
  create(PLAIN);
  network = 'refused';
  void agent?.start();
  await pass(clock, 1_000);
  expect(said).toEqual([
    'task-gateway: No response from the gateway at http://gateway.test (ECONNREFUSED). Is it running? The agent keeps trying.',
  ]);
  await pass(clock, 58_000);
  expect(said).toHaveLength(1);
  await pass(clock, 11_000);
  expect(said).toHaveLength(2);
  expect(said[1]).toMatch(
    /\(ECONNREFUSED\)\. Is it running\? That has lasted for 6\d s\. The agent keeps trying\.$/,
  );
  network = 'open';
  await pass(clock, 20_000);
  expect(said.slice(2)).toEqual([READY]);
  await pass(clock, 10_000);
  network = 'refused';
  gateway.wake();
  await pass(clock, 20_000);
  network = 'open';
  await pass(clock, 20_000);
  expect(said.slice(3)).toEqual([
    expect.stringContaining('(ECONNREFUSED). Is it running? The agent keeps trying.'),
    expect.stringMatching(
      /^task-gateway: the gateway at http:\/\/gateway\.test responds again, after \d+ s$/,
    ),
  ]);
});

test('A gateway that says nothing at all is said within 1.5 s.', async () => {
  create(PLAIN);
  network = 'silent';
  void agent?.start();
  await pass(clock, 1_500);
  expect(said).toEqual([
    'task-gateway: There is no response from http://gateway.test yet. The agent keeps trying.',
  ]);
});

test('An agent says that it replaces another process, and once that another one has replaced it.', async () => {
  create(PLAIN);
  gateway.isReplaced = true;
  await agent?.start();
  const id = 'stop one of them, or give each an agent_id of its own';
  expect(said.slice(1)).toEqual([
    `task-gateway: agent 译者 1 had a contact less than 30 s ago, under its registration before this one: if another process still runs, ${id}`,
  ]);
  for (let n = 0; n < 2; n += 1) await pass(clock, 20_000);
  expect(said.slice(2)).toEqual([
    `task-gateway: another process has registered as agent 译者 1, and replaces this one: ${id}`,
  ]);
});

const DRAINED = 'task-gateway: drained by the administrator: it finishes its tasks and gets no others';
const UNDRAINED = 'task-gateway: no longer drained by the administrator: it gets tasks again';

test('An agent that the administrator drains says it once, and once when that ends, whichever response has it.', async () => {
  await startPulling(PLAIN);
  gateway.state = 'draining';
  await pass(clock, 20_000);
  expect(said.slice(1)).toEqual([DRAINED]);
  gateway.wake();
  await pass(clock, 1_000);
  gateway.registration = undefined;
  await pass(clock, 20_000);
  expect(said.slice(2)).toEqual([
    expect.stringContaining('heartbeat: 404'),
    READY.replace('ready', 'registered again'),
  ]);
  gateway.state = 'ready';
  gateway.wake();
  await clock.advance(0);
  expect(said.slice(4)).toEqual([UNDRAINED]);
  await pass(clock, 20_000);
  expect(said).toHaveLength(5);
});

test('An agent says at its start that it is drained, and nothing when it drains by itself.', async () => {
  create(PLAIN);
  gateway.state = 'draining';
  await agent?.start();
  expect(said).toEqual([READY, DRAINED]);
  const ending = Promise.withResolvers<string>();
  await startPulling({ ...PLAIN, handler: () => ending.promise });
  said = [];
  await offer('task-1');
  void agent?.stop();
  gateway.state = 'draining';
  await pass(clock, 20_000);
  expect(said).toEqual(['task-gateway: stopping, when its task has ended']);
  ending.resolve('done');
  await pass(clock, 2_000);
});

test('An agent that stops says what it waits for, and when it has stopped.', async () => {
  const ending = Promise.withResolvers<string>();
  await startPulling({ ...PLAIN, maxConcurrent: 2, handler: () => ending.promise });
  await offer('task-1');
  void agent?.stop();
  await pass(clock, 2_000);
  expect(said.slice(1)).toEqual(['task-gateway: stopping, when its task has ended']);
  ending.resolve('done');
  await pass(clock, 2_000);
  expect(said.slice(2)).toEqual(['task-gateway: stopped: agent 译者 1 is unregistered']);
});

test('An agent without a task says in one line that it has stopped, or why it is not unregistered.', async () => {
  await startPulling(PLAIN);
  void agent?.stop();
  await pass(clock, 2_000);
  expect(said.slice(1)).toEqual(['task-gateway: stopped: agent 译者 1 is unregistered']);
  said = [];
  await startPulling(PLAIN);
  network = 'refused';
  void agent?.stop();
  await pass(clock, 20_000);
  const refused = 'No response from the gateway at http://gateway.test (ECONNREFUSED). Is it running?';
  expect(said.slice(1)).toEqual([
    `task-gateway: ${refused} The agent keeps trying.`,
    `task-gateway: unregister: ${refused}`,
  ]);
});

test('A gateway that comes and goes every few seconds takes no more than two lines a minute.', async () => {
  await startPulling(PLAIN);
  for (let count = 0; count < 60; count += 1) {
    network = count % 2 === 0 ? 'refused' : 'open';
    gateway.wake();
    await pass(clock, 5_000, 500);
  }
  const lines = said.filter((line) => /No response|responds again/.test(line));
  expect(lines.length).toBeGreaterThanOrEqual(2);
  expect(lines.length).toBeLessThanOrEqual(2 * 6);
});

test('A task that fails is said with the handler’s stack below its line, which is shown once a minute.', async () => {
  await startPulling({
    ...PLAIN,
    handler: () => {
      throw new TypeError('no such\ncolumn \u001b[31m', { cause: new Error('the table is empty') });
    },
  });
  await offer('task-1');
  await offer('task-2');
  const [, first = '', second] = said;
  expect(first.split('\n')[0]).toBe('task-gateway: task task-1 (翻译) failed: TypeError: no such');
  expect(first.split('\n')[1]).toBe('    column \\u001b[31m');
  expect(first).toMatch(/\n {4}at .*agent-log\.test\.ts/);
  expect(first).toMatch(/\n {4}caused by Error: the table is empty\n {4}at /);
  expect(
    first
      .split('\n')
      .slice(1)
      .every((line) => line.startsWith('    ')),
  ).toBe(true);
  expect(second).toBe('task-gateway: task task-2 (翻译) failed: TypeError: no such');
});

test('No secret is said, and a failure in the same words once a minute.', async () => {
  await startPulling({ ...PLAIN, handler: () => Promise.reject('a-good-secret is wrong') });
  gateway.respondToReport = () => Response.json(problem(503, 'busy'), { status: 503 });
  await offer('task-1');
  expect(said[1]).toBe('task-gateway: task task-1 (翻译) failed: *** is wrong');
  await pass(clock, 55_000);
  expect(said.slice(2)).toEqual([expect.stringMatching(/^task-gateway: report: 503 /)]);
});

test('Pushes that are refused with 401 are said once a minute: the secret, or how far the clocks differ.', async () => {
  const created = create({ ...PLAIN, endpoint: 'http://agent.test/', pushSecret: 'secret' });
  await created.start();
  const push = async (id: string, seconds: number, key = 'secret'): Promise<void> => {
    const signature = createHmac('sha256', key).update(`${id}.${seconds}.{}`).digest('base64');
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': `v1,${signature}`,
    };
    const request = new Request('http://agent.test/', { method: 'POST', body: '{}', headers });
    expect((await created.fetch(request)).status).toBe(401);
  };
  const now = (): number => Math.floor(clock.nowMs() / 1_000);
  for (let n = 0; n < 3; n += 1) await push('t1', now(), 'wrong');
  await pass(clock, 60_000, 10_000);
  for (let n = 0; n < 3; n += 1) await push('t1', now() + 7_200 + n);
  await pass(clock, 60_000, 10_000);
  await push('', now());
  await pass(clock, 240_000, 10_000);
  await push('t1', 0);
  const off = Math.round(clock.nowMs() / 1_000);
  const refused = 'task-gateway: push: a push was refused with 401:';
  expect(said.slice(1)).toEqual([
    `${refused} its signature does not match the push secret of this agent.`,
    `${refused} its timestamp is 7200 s ahead of the clock of this agent, and may be 300 s.`,
    `${refused} it is not signed.`,
    `${refused} its timestamp is ${off} s behind the clock of this agent, and may be 300 s.`,
  ]);
});

test('A task that was cancelled is no failure, whatever its handler throws.', async () => {
  await startPulling({
    ...PLAIN,
    handler: (_task, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
  });
  await offer('task-1');
  gateway.cancelled.push('task-1');
  await pass(clock, 20_000);
  expect(said.slice(1)).toEqual([
    expect.stringMatching(/^task-gateway: task task-1 was dropped: .*cancelled/),
  ]);
});

test('logLevel: off silences it all; error leaves the failures.', async () => {
  const handler = () => Promise.reject(new Error('broken'));
  await startPulling({ logLevel: 'off', handler });
  await offer('task-1');
  expect(said).toEqual([]);
  await agent?.stop();
  await startPulling({ logLevel: 'error', handler });
  await offer('task-1');
  expect(said).toEqual([expect.stringMatching(/^task-gateway: task task-1 .*failed: Error: broken\n/)]);
});

test('debug says each task and each call, with what a tool needs of it.', async () => {
  await startPulling({ logLevel: 'debug' });
  await offer('task-1');
  expect(said.some((line) => /task task-1 \(翻译\) was taken \{/.test(line))).toBe(true);
  expect(said.some((line) => /POST \/api\/agent\/register: 200 \{"attempt":1/.test(line))).toBe(true);
});

test('A logger gets it instead, with fields.', async () => {
  const got: unknown[] = [];
  const note =
    (level: string) =>
    (message: string, fields: object): void =>
      void got.push([level, message, Object.keys(fields)]);
  const logger = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
  await startPulling({ ...PLAIN, logger, handler: () => Promise.reject(new Error('broken')) });
  await offer('task-1');
  expect(got).toEqual([
    ['info', READY, ['agent_id', 'endpoint']],
    ['error', 'task-gateway: task task-1 (翻译) failed: Error: broken', ['request_id', 'task_type', 'stack']],
  ]);
  expect(said).toEqual([]);
});

test('Colours are for a terminal that wants them.', async () => {
  vi.stubEnv('NO_COLOR', '');
  vi.stubEnv('TERM', 'xterm');
  const { isTTY } = process.stderr;
  try {
    process.stderr.isTTY = true;
    await startPulling(PLAIN);
    vi.stubEnv('NO_COLOR', '1');
    gateway.registration = undefined;
    await pass(clock, 20_000);
  } finally {
    process.stderr.isTTY = isTTY;
    vi.unstubAllEnvs();
  }
  expect(said[0]).toBe(READY.replace('task-gateway:', '\u001b[32mtask-gateway:\u001b[0m'));
  expect(said.slice(1).join()).toContain('registered again');
  expect(said.slice(1).join()).not.toContain('\u001b');
});

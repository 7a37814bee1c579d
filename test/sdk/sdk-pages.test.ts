/** The SDK's pages are executed: every program in them is run as it stands and prints what the page says. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import * as sdk from '../../sdk/index.ts';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { startPrism } from '../harness/prism.ts';
import { readPages } from '../harness/readme-blocks.ts';
import { until } from './sdk-clock.ts';

const SDK = join(import.meta.dirname, '../../sdk');
const SIMULATOR = join(import.meta.dirname, '../../server/simulator');
/** Node compiles the sources once and keeps the code here: that halves the time of a program. */
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/task-gateway-pages');
const PAGES = readPages('sdk');
const AUTH = 'task-gateway-default-secret';
const programs = [...PAGES.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);

let folder: string;
let gateway: GatewayProcess;
let client: sdk.TaskGatewayClient;
/** Replaces the port 9000 of the pages. */
let freePort: number;
let child: ChildProcess | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-sdk-pages-'));
  mkdirSync(join(folder, 'node_modules/@task-gateway'), { recursive: true });
  symlinkSync(SDK, join(folder, 'node_modules/@task-gateway/sdk'));
  symlinkSync(SIMULATOR, join(folder, 'node_modules/@task-gateway/simulator'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  gateway = await startGateway({ GATEWAY_AUTH: AUTH });
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  freePort = (server.address() as AddressInfo).port;
  server.close();
  client = sdk.createClient({ baseUrl: gateway.baseUrl, auth: AUTH });
});

afterEach(async () => {
  if (child && child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

afterAll(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the pages' one program that contains these words, against this gateway. */
function start(words: string, baseUrl = gateway.baseUrl) {
  const [program, ...others] = programs.filter((one) => one.includes(words));
  if (program === undefined || others.length > 0)
    throw new Error(`Not exactly one program contains "${words}".`);
  const adapted = program
    .replaceAll(/http:\/\/127\.0\.0\.1:(8080|4010)/g, baseUrl)
    .replaceAll('9000', String(freePort));
  writeFileSync(join(folder, 'program.ts'), adapted);
  const env = { TASK_GATEWAY_URL: baseUrl, TASK_GATEWAY_AUTH: AUTH, NODE_COMPILE_CACHE: CACHE };
  const options = ['--conditions=task-gateway-source', 'program.ts'];
  const started = spawn(process.execPath, options, { cwd: folder, env });
  child = started;
  const output = { out: '', error: '' };
  started.stdout.on('data', (text) => {
    output.out += text;
  });
  started.stderr.on('data', (text) => {
    output.error += text;
  });
  return { output, started, closed: once(started, 'close') };
}

/** Runs a program until it exits. */
async function run(words: string, baseUrl?: string) {
  const { output, closed } = start(words, baseUrl);
  const [code] = await closed;
  return { ...output, code };
}

/** Runs `work` beside an agent for the pages' reports; with `failing` its handler throws. */
async function withReporter(failing: boolean, work: () => Promise<void>): Promise<void> {
  const handler = () => {
    if (failing) throw new Error('no data for this week');
    return 'all is well';
  };
  const reporter = createAgent({
    baseUrl: gateway.baseUrl,
    auth: AUTH,
    agentId: 'reporter',
    tags: ['weekly'],
    maxConcurrent: 5,
    handler,
  });
  await reporter.start();
  try {
    await work();
  } finally {
    await reporter.stop();
  }
}

/** All that a program says whose agent has no trouble. */
/** What an agent says. On a busy machine the first response may take so long that it says so too. */
const ready = (agent_id: string): unknown =>
  expect.stringMatching(
    new RegExp(
      `^(task-gateway: There is no response .*\n)?task-gateway: ready: agent ${agent_id} is registered at http://.*\n(task-gateway: stop.*\n)*$`,
    ),
  );

const submission = { task_type: 't', payload: { text: '你好' }, queue_timeout: 10 };

/** Figures of the pages: the words, and the file of the SDK or the gateway whose code has the same. */
const FIGURES: readonly (readonly [words: string, file: string, code: string])[] = [
  ['default 30,000', 'settings.ts', 'TIMEOUT_MS = 30_000'],
  ['default 4 |', 'settings.ts', 'MAX_RETRIES = 4'],
  ['default 64 MiB', 'bodies.ts', 'RESPONSE_BYTES_MAX = 67_108_864'],
  ['waits for an agent for 30 s', 'run.ts', 'QUEUE_SECONDS = 30'],
  ['(at most 10 s)', 'run.ts', 'CANCEL_MAX_MS = 10_000'],
  ['after 0.5 s, 1 s, 2 s and 4 s', 'transport.ts', 'firstMs: 500'],
  ['`Retry-After`, up to a minute', 'waiting.ts', 'ASKED_MAX_MS = 60_000'],
  ['the agent wrote over 3.5 MiB', '../server/ports/limits.ts', 'outputBytesMax: 7 * 2 ** 19'],
  ['at most 60,000 bytes', 'agent/unsent.ts', 'CALL_BYTES_MAX = 60_000'],
  ['beyond 1 MiB unsent', 'agent/unsent.ts', 'UNSENT_MAX = 1_048_576'],
  ['at most 20 fields', '../server/domain/question.ts', 'FIELDS_MAX = 20'],
  ['at most 16 questions', '../server/domain/asking.ts', 'QUESTIONS_MAX = 16'],
  ['default 3 MiB', 'agent/options.ts', 'PUSH_BYTES_MAX = 3_145_728'],
  ['(3 or more,', 'agent/options.ts', 'LOST_AFTER_SECONDS_MIN = 3'],
  ['default 120)', 'agent/options.ts', 'LOST_AFTER_SECONDS = 120'],
  ['finishes those it has (30 s)', 'agent/agent.ts', 'DRAIN_MS = 30_000'],
  ['still run after 2 s', 'agent/agent.ts', 'GRACE_MS = 2_000'],
  ['wait for an agent for 30 s', 'cli/commands/run.ts', 'QUEUE_TIMEOUT_SECONDS = 30'],
  ['In fewer than 120 columns', 'cli/commands/task-list.ts', 'WHOLE_ID_COLUMNS = 120'],
  ['the last 8 characters', 'cli/arguments/task-ids.ts', 'SHORT_CHARS = 8'],
  ['more than 1,000,000 bytes', 'cli/child/child-handler.ts', 'OUTPUT_BYTES_MAX = 1_000_000'],
  ['the last 64 KiB', 'cli/child/kept-output.ts', 'END_BYTES = 65_536'],
  ['beyond 3.3 MB', 'cli/child/kept-output.ts', 'FORWARDED_BYTES_MAX = 3_300_000'],
  ['SIGKILL 5 s later', 'cli/commands/agent-exec.ts', 'KILL_AFTER_SECONDS = 5'],
  ['(`--drain`, 30 s)', 'cli/commands/agent-exec.ts', 'DRAIN_SECONDS = 30'],
];

describe('each program of the pages runs', () => {
  test('the ten lines print their greeting', async () => {
    expect(await run('greeter-1')).toEqual({ code: 0, error: ready('greeter-1'), out: 'Hello, 世界\n' });
  });

  test('the typed payload and result arrive', async () => {
    expect(await run('typed-1')).toEqual({ code: 0, error: ready('typed-1'), out: 'week 47 4\n' });
  });

  test('runTask prints progress and the result, or the error of a failed task', async () => {
    await withReporter(false, async () => {
      expect(await run('{ onProgress: ({ status, progress })')).toMatchObject({
        code: 0,
        error: '',
        out: expect.stringMatching(/^pending 0\n(.*\n)*all is well\n$/),
      });
    });
    await withReporter(true, async () => {
      expect(await run('{ onProgress: ({ status, progress })')).toMatchObject({
        code: 0,
        error: 'task_failed no data for this week\n',
      });
    });
  });

  test('the pieces of an output are printed while the task runs, and read again to its end', async () => {
    const { code, error, out } = await run('writer-1');
    expect([code, error]).toEqual([0, ready('writer-1')]);
    expect(out).toBe('Page 1 is done. \n\n\ntext: Page 1 is done. \ndata: { page: 1 }\nsuccess null\n');
  });

  test('an agent asks, and the run answers', async () => {
    expect(await run('deployer-1')).toEqual({ code: 0, error: ready('deployer-1'), out: 'deployed\n' });
  });

  test('the stream prints the event', async () => {
    await withReporter(false, async () => {
      expect(await run("subscribeEvents('my-session')")).toEqual({
        code: 0,
        error: '',
        out: 'done: all is well\n',
      });
    });
  });

  test('the program with three timeouts prints the result', async () => {
    await withReporter(false, async () => {
      expect(await run('TaskTimeoutError, TimeoutError')).toEqual({
        code: 0,
        error: '',
        out: 'all is well\n',
      });
    });
  });

  test('the agent that is a process works until SIGTERM', async () => {
    const { output, started, closed } = start('translator-1');
    await until(() => output.out.includes('registered'), 'it registers');
    const { result } = await client.runTask({ ...submission, task_tags: ['zh'] });
    expect(result).toEqual({ reply: 'On it.', output: 'translated: 你好', pages: 1 });
    started.kill('SIGTERM');
    expect((await closed)[0]).toBe(0);
    expect(output).toMatchObject({ error: ready('translator-1'), out: expect.stringContaining('reported') });
  });

  test('the agent behind a server of its own works until SIGTERM', async () => {
    const running = client.runTask({ ...submission, task_tags: ['count'] });
    const { started, closed, output } = start('counter-1');
    expect((await running).result).toEqual({ output: '2 characters' });
    started.kill('SIGTERM');
    expect((await closed)[0]).toBe(0);
    expect(output.error).toEqual(ready('counter-1'));
  });

  test('the tests pass', async () => {
    expect(await run('runHandler(')).toEqual({ code: 0, error: '', out: '' });
  });

  test('each failure is forced in a simulated world', async () => {
    expect(await run("fault: 'busy'")).toEqual({ code: 0, error: '', out: '' });
  });

  test('an app is tried with an agent that dies after half of its task, in a simulated world', async () => {
    expect(await run("does: 'die'")).toEqual({ code: 0, error: '', out: '' });
  });

  test('an app answers one of two questions of an agent in a simulated world', async () => {
    expect(await run("prompt: 'Where?'")).toEqual({ code: 0, error: '', out: '' });
  });

  test('each failure that a mock can show is forced on it', async () => {
    const prism = await startPrism();
    try {
      expect(await run("auth: 'any'", prism.url)).toEqual({ code: 0, error: '', out: '' });
    } finally {
      await prism.stop();
    }
  });

  test('each failure is forced on a gateway with the settings of the page', async () => {
    const [, words = ''] = /^(STORE=memory: .*) npm start$/m.exec(PAGES) ?? [];
    const settings = Object.fromEntries(words.split(' ').map((word) => word.split('=')));
    const small = await startGateway({ GATEWAY_AUTH: AUTH, ...settings });
    try {
      const failed = /^task-gateway: task \S+ \(t\) failed: Error: no data$/m;
      expect(await run('lost_after: 3 }', small.baseUrl)).toEqual({
        code: 0,
        error: expect.stringMatching(failed),
        out: '',
      });
    } finally {
      await small.stop();
    }
  });

  test('each failure of the table is forced by the program of its column, in the way that its cell names', () => {
    const [, table = ''] = /^\| Failure .*\n.*\n((?:\|.*\n)+)/m.exec(PAGES) ?? [];
    const rows = table
      .trim()
      .split('\n')
      .map((line) => line.split('|').map((cell) => cell.trim()));
    expect(rows).toHaveLength(10);
    const [settings = ''] = /^STORE=memory: .*/m.exec(PAGES) ?? [];
    const columns = ["fault: 'busy'", "auth: 'any'", 'lost_after: 3 }'].map(
      (words) => programs.find((program) => program.includes(words)) ?? '',
    );
    for (const [, failure = '', ...cells] of rows) {
      const [, name = ''] = /^`(\w+Error)`$/.exec(cells[3] ?? '') ?? [];
      for (const [index, program] of columns.entries()) {
        const ways = [...(cells[index] ?? '').matchAll(/`([^`(]+)[^`]*`/g)].map(([, way]) => way);
        for (const way of ways) expect(`${program}${settings}`, failure).toContain(way);
        // What the mock sends is no end of a run.
        if (cells[index] !== '–' && index !== 1) expect(program, failure).toContain(name);
      }
    }
  });

  test('no program of the pages is left out', () => {
    expect(programs).toHaveLength(15);
  });
});

describe('the pages name', () => {
  test('every class of error the client may throw, and no other', () => {
    const named = [...PAGES.matchAll(/^\| [├└]? ?`(\w+Error)`/gm)].map(([, name]) => name);
    const exported = Object.keys(sdk).filter((name) => name.endsWith('Error') && name !== 'TaskGatewayError');
    expect(named.sort()).toEqual(exported.sort());
  });

  test('every function of the client', () => {
    for (const name of Object.keys(client)) expect(PAGES, name).toContain(`\`${name}`);
  });

  test('the figures of the code', () => {
    const text = PAGES.replaceAll(/\s+/g, ' ');
    for (const [words, file, code] of FIGURES) {
      expect(text).toContain(words);
      expect(readFileSync(join(SDK, file), 'utf8'), words).toMatch(
        new RegExp(`${code.replaceAll('*', '\\*')}\\b`),
      );
    }
  });

  test('every variable of the environment', () => {
    const sources = ['settings.ts', 'agent/options.ts'].map((file) => readFileSync(join(SDK, file), 'utf8'));
    for (const [, name] of sources.join('').matchAll(/`TASK_GATEWAY_(\w+)`/g)) {
      expect(PAGES, name).toContain(`TASK_GATEWAY_${name}`);
    }
  });
});

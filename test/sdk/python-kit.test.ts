/** The conformance kit on small programs with the package for Python: agents of both kinds, and clients. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PYTHON_ENV } from '../harness/python-tools.ts';

const KIT = join(import.meta.dirname, '../conformance/bin/task-gateway-conformance.js');
const LIMIT_MS = 600_000;

/** Runs the kit on a program; returns its last lines and its exit code. */
function runKit(role: string, program: string): Promise<{ code: number; printed: string }> {
  const command = `python3 ${join(import.meta.dirname, 'python', program)}`;
  const env = { ...process.env, ...PYTHON_ENV };
  return new Promise((resolve) => {
    execFile(process.execPath, [KIT, role, command], { env }, (error, stdout) => {
      if (error) console.log(stdout);
      resolve({ code: Number(error?.code ?? 0), printed: stdout.split('\n\n').at(-1) ?? '' });
    });
  });
}

describe.concurrent('the conformance kit', { tags: 'python-tools', timeout: LIMIT_MS }, () => {
  // What is not scored: of agents what is said of pushes, of the client that polls what is said of streams.
  test.each([
    ['--agent', 'asking_agent.py', 31],
    ['--agent', 'coroutine_agent.py', 30],
    ['--client', 'running_client.py', 35],
    ['--client', 'streaming_client.py', 46],
  ])('finds no fault: %s %s', async (role, program, least) => {
    const { code, printed } = await runKit(role, program);
    expect({ code, printed }).toEqual({
      code: 0,
      printed: expect.stringMatching(/^MUST (\d+) of \1 applicable .*\n0 failed, 0 warnings, .*\n$/),
    });
    expect(Number(/\d+/.exec(printed)?.[0])).toBeGreaterThanOrEqual(least);
  });
});

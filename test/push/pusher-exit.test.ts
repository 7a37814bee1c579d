/** A process whose pusher is closed has nothing left that keeps it alive. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('after closing, the process ends by itself: no socket, no timer', async () => {
  const script = new URL('./pusher-process.ts', import.meta.url).pathname;
  // Far below what a forgotten timer of a connection (10 s) or an answer (300 s) would take.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], { timeout: 8_000 });
  expect(stderr).toBe('');
  expect(stdout).toBe('acknowledged acknowledged unknown untaken untaken unknown untaken untaken');
});

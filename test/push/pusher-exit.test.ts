/** A closed pusher leaves nothing that keeps its process alive. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('after the pusher is closed the process exits by itself: no socket and no timer is left', async () => {
  const script = new URL('./pusher-process.ts', import.meta.url).pathname;
  // Shorter than the timers of a connection (10 s) and a response (300 s): one left running fails the test.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], { timeout: 60_000 });
  expect(stderr).toBe('');
  expect(stdout).toBe('acknowledged acknowledged unknown untaken untaken unknown untaken untaken');
});

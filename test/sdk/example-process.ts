/** Examples as processes: started as their first comments describe, and ended with the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export const EXAMPLES = join(import.meta.dirname, '../../sdk/examples');

/** An example that runs, and what it has printed. */
export type Example = {
  readonly child: ChildProcess;
  readonly output: { out: string; error: string };
};

/** Starts a program with this environment alone. If it still runs when the test ends, it is stopped. */
export function startProgram(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Example {
  const child = spawn(command, args, { env: { PATH: process.env.PATH, ...env } });
  const output = { out: '', error: '' };
  child.stdout.on('data', (text) => {
    output.out += text;
  });
  child.stderr.on('data', (text) => {
    output.error += text;
  });
  onTestFinished(async () => void (await stop(child)));
  return { child, output };
}

/** Starts an example that Node runs. */
export function startExample(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Example {
  const options = ['--conditions=task-gateway-source', join(EXAMPLES, file), ...args];
  return startProgram(process.execPath, options, env);
}

/** Stops a process with SIGTERM and returns its exit code. */
export async function stop(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
  return child.exitCode;
}

/** Runs development tools as commands. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

type Ended = { readonly code: number; readonly output: string; readonly errors: string };

/** Runs a script on the Node of this process, without telemetry. Never rejects: a failure is an exit code. */
export function runNode(args: readonly string[], cwd = root): Promise<Ended> {
  const env = {
    ...process.env,
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    NO_COLOR: '1',
  };
  return runCommand(process.execPath, args, cwd, env);
}

/** Runs a command, which `signal` ends. Never rejects: a failure is an exit code. */
export function runCommand(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, env, signal, maxBuffer: 2 ** 26 }, (error, output, errors) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, output, errors });
    });
  });
}

/** Runs the command line as a process, for what only a process shows: signals, pipes, exits, its memory. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_SECRET, type GatewayProcess, SECRET } from '../harness/gateway-process.ts';
import { type RunningCommand, toWords, waitForText } from './command-run.ts';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = join(ROOT, 'sdk/cli/main.ts');
/** Node compiles the sources once and keeps the code here; that halves the time of a command. */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/task-gateway-cli');

type ProcessOptions = {
  readonly env?: Readonly<Record<string, string>>;
  /** A program to run the command with, such as one that sets limits. */
  readonly under?: readonly string[];
};

export type CommandProcess = RunningCommand & {
  readonly child: ChildProcess;
  /** Kills the command with SIGKILL if it still runs. */
  kill(): Promise<void>;
};

/** The environment with which a command finds the gateway and its secrets. */
export function envFor({ baseUrl }: Pick<GatewayProcess, 'baseUrl'>): Record<string, string> {
  return {
    TASK_GATEWAY_URL: baseUrl,
    TASK_GATEWAY_AUTH: SECRET,
    TASK_GATEWAY_ADMIN_AUTH: ADMIN_SECRET,
  };
}

/** Starts a command, without a secret in its environment by default, and without input. */
export function startProcess(
  words: string | readonly string[],
  options: ProcessOptions = {},
): CommandProcess {
  const env = {
    PATH: process.env.PATH ?? '',
    LANG: 'C.UTF-8',
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...options.env,
  };
  const [file = '', ...args] = [...(options.under ?? []), process.execPath, MAIN, ...toWords(words)];
  const child = spawn(file, args, { env, stdio: 'pipe' });
  const written = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    written.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    written.stderr += text;
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end();
  const closed = once(child, 'close');
  return {
    child,
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    waitForLog: (text) => waitForText(text, () => written.stderr),
    async waitForExit() {
      await closed;
      return { code: child.exitCode, ...written };
    },
    signal: (name) => void child.kill(name),
    async kill() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

/** Writes a `task-gateway` program into a folder, so that a shell with that folder in its PATH finds it. */
export function writeLauncher(folder: string): void {
  const path = join(folder, 'task-gateway');
  writeFileSync(
    path,
    `#!/bin/sh\nNODE_COMPILE_CACHE='${COMPILE_CACHE}' exec '${process.execPath}' '${MAIN}' "$@"\n`,
  );
  chmodSync(path, 0o755);
}

/** Whether a process runs. A zombie does not count: in a container, its parent may never collect it. */
export function isRunning(pid: number): boolean {
  const state = process.platform === 'linux' ? readProcessState(pid) : askProcessState(pid);
  return state !== '' && !state.startsWith('Z');
}

/** In /proc, the state follows the program's name, which is in parentheses and may contain any character. */
function readProcessState(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2);
  } catch {
    return '';
  }
}

function askProcessState(pid: number): string {
  return spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
}

/** Runs the command line as a process, with an environment of its own that contains no secret by default. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import { ADMIN_SECRET, type GatewayProcess, SECRET } from '../harness/gateway-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = join(ROOT, 'sdk/cli/main.ts');
/** Node compiles the sources once and keeps the code here; that halves the time of a command. */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/task-gateway-cli');
/** Longer than any command of these tests takes, even on a busy machine. */
const LOG_TIMEOUT_MS = 15_000;

/** How a command exited and what it wrote. */
export type CommandExit = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type CommandOptions = {
  readonly env?: Readonly<Record<string, string>>;
  /** The standard input; empty by default. */
  readonly input?: string | Uint8Array;
  /** A program to run the command with, such as one that sets limits. */
  readonly under?: readonly string[];
};

export type RunningCommand = {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves once the text is on standard error. */
  waitForLog(text: string | RegExp): Promise<void>;
  waitForExit(): Promise<CommandExit>;
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

/** Starts a command. */
export function startCommand(words: readonly string[], options: CommandOptions = {}): RunningCommand {
  const env = {
    PATH: process.env.PATH ?? '',
    LANG: 'C.UTF-8',
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...options.env,
  };
  const [file = '', ...args] = [...(options.under ?? []), process.execPath, MAIN, ...words];
  const child = spawn(file, args, { env, stdio: 'pipe' });
  const written = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    written.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    written.stderr += text;
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const closed = once(child, 'close');
  return {
    child,
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    async waitForLog(text) {
      await vi.waitFor(
        () => {
          if (written.stderr.match(text) === null) throw new Error(`Only logged:\n${written.stderr}`);
        },
        { timeout: LOG_TIMEOUT_MS, interval: 20 },
      );
    },
    async waitForExit() {
      await closed;
      return { code: child.exitCode, ...written };
    },
    async kill() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

/** Runs a command until it exits. */
export function runCommand(words: readonly string[], options?: CommandOptions): Promise<CommandExit> {
  return startCommand(words, options).waitForExit();
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

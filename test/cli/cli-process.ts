/** The command line as a process of its own, with its own environment and nothing of this one's secrets. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import { ADMIN_SECRET, type GatewayProcess, SECRET } from '../harness/gateway-process.ts';

const ROOT = join(import.meta.dirname, '../..');
export const MAIN = join(ROOT, 'sdk/cli/main.ts');
/** What Node has compiled once it need not again: half the time of a command. */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/task-gateway-cli');
/** No command of these tests takes longer, also on a busy machine. */
const ENDED_MS = 15_000;

/** How a command ended and what it wrote. */
export type Ended = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type CommandOptions = {
  readonly env?: Readonly<Record<string, string>>;
  /** What it is given on standard input; nothing without. */
  readonly input?: string | Uint8Array;
};

export type Running = {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves once it has said that on standard error. */
  said(words: string | RegExp): Promise<void>;
  ended(): Promise<Ended>;
  /** SIGKILL, if it is still there. */
  kill(): Promise<void>;
};

/** The environment in which commands find the gateway and its secrets. */
export function envFor({ baseUrl }: Pick<GatewayProcess, 'baseUrl'>): Record<string, string> {
  return {
    TASK_GATEWAY_URL: baseUrl,
    TASK_GATEWAY_AUTH: SECRET,
    TASK_GATEWAY_ADMIN_AUTH: ADMIN_SECRET,
  };
}

/** Starts a command. */
export function startCommand(words: readonly string[], options: CommandOptions = {}): Running {
  const env = {
    PATH: process.env.PATH ?? '',
    LANG: 'C.UTF-8',
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...options.env,
  };
  const child = spawn(process.execPath, [MAIN, ...words], { env, stdio: 'pipe' });
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
    async said(words_) {
      await vi.waitFor(
        () => {
          if (written.stderr.match(words_) === null) throw new Error(`It said only:\n${written.stderr}`);
        },
        { timeout: ENDED_MS, interval: 20 },
      );
    },
    async ended() {
      await closed;
      return { code: child.exitCode, ...written };
    },
    async kill() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

/** Runs a command to its end. */
export function runCommand(words: readonly string[], options?: CommandOptions): Promise<Ended> {
  return startCommand(words, options).ended();
}

/** Writes `task-gateway` into a folder, for shells to find. */
export function writeLauncher(folder: string): void {
  const path = join(folder, 'task-gateway');
  writeFileSync(
    path,
    `#!/bin/sh\nNODE_COMPILE_CACHE='${COMPILE_CACHE}' exec '${process.execPath}' '${MAIN}' "$@"\n`,
  );
  chmodSync(path, 0o755);
}

/**
 * A checkout as a reader of the README has it: a fresh copy of what git lists, after `npm ci` with the
 * machine's own npm and Node, and without a way to the registry from then on.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { openRepository } from './repository.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Time for an installation with an empty cache of npm on a busy machine. */
const INSTALL_MS = 600_000;
/** Longer than any command of the README takes, and shorter than a test may. */
const COMMAND_MS = 40_000;
/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:9';

export type Output = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

export type Checkout = {
  readonly folder: string;
  /** What `npm ci` printed, on both of its outputs. */
  readonly printed: string;
  remove(): void;
};

/**
 * Copies and installs. In CI the whole checkout is fresh and `.ci/run` has installed it: that one is
 * returned, with what was printed then.
 */
export async function openCheckout(options: readonly string[] = []): Promise<Checkout> {
  const installedOutput = process.env.CHECKOUT_INSTALL_OUTPUT;
  if (installedOutput !== undefined && options.length === 0) {
    return { folder: ROOT, printed: readFileSync(installedOutput, 'utf8'), remove: () => undefined };
  }
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-checkout-'));
  const { files } = openRepository(ROOT);
  for (const file of files) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    cpSync(join(ROOT, file), join(folder, file));
  }
  const { code, stdout, stderr } = await runShell(`npm ci ${options.join(' ')}`, folder, {
    env: { npm_config_prefer_offline: 'true' },
    timeoutMs: INSTALL_MS,
  });
  if (code !== 0) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`npm ci failed, so no checkout could be tried (is the registry reachable?):\n${stderr}`);
  }
  return { folder, printed: stdout + stderr, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A machine's environment without a way to the registry, and without what npm gave to this process. */
export function buildOfflineEnv(node: string | null = null): Record<string, string> {
  const paths = (process.env.PATH ?? '').split(delimiter).filter((path) => !path.includes('node_modules'));
  return {
    PATH: [...(node === null ? [] : [dirname(node)]), ...paths].join(delimiter),
    HOME: process.env.HOME ?? '',
    LANG: 'C.UTF-8',
    npm_config_registry: NOWHERE,
    npm_config_fetch_retries: '0',
    HTTP_PROXY: NOWHERE,
    HTTPS_PROXY: NOWHERE,
    NO_PROXY: '127.0.0.1',
  };
}

/** Where the machine's own Node is; null where there is none. */
export function findHostNode(): string | null {
  const paths = buildOfflineEnv().PATH?.split(delimiter) ?? [];
  return paths.map((path) => join(path, 'node')).find((node) => existsSync(node)) ?? null;
}

type ShellOptions = { readonly env?: Readonly<Record<string, string>>; readonly timeoutMs?: number };

/** Starts a script in a shell that leads a process group of its own, as one typed into a terminal does. */
export function startShell(script: string, cwd: string, env: Readonly<Record<string, string>>): ChildProcess {
  return spawn('bash', ['--norc', '-c', script], { cwd, env, stdio: 'pipe', detached: true });
}

/** Runs a script in a shell until it and all that it has started have ended. */
export async function runShell(script: string, cwd: string, options: ShellOptions = {}): Promise<Output> {
  const { PATH = '' } = buildOfflineEnv();
  const given = options.env ?? {};
  const env = 'PATH' in given ? given : { ...omitNpm(process.env), PATH, ...given };
  const child = startShell(script, cwd, env);
  const output = collectOutput(child);
  const late = setTimeout(() => interrupt(child, 'SIGKILL'), options.timeoutMs ?? COMMAND_MS);
  const [code] = await once(child, 'close');
  clearTimeout(late);
  return { code, ...output };
}

/** What a process prints, as it comes. */
export function collectOutput(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  return output;
}

/** Signals a shell and all that it has started, as Ctrl-C in a terminal does. */
export function interrupt(
  { pid, exitCode, signalCode }: ChildProcess,
  signal: NodeJS.Signals = 'SIGINT',
): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, signal);
}

function omitNpm(env: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(env).filter(([name]) => !/^npm_|^NODE_OPTIONS$|^INIT_CWD$/i.test(name));
  return Object.fromEntries(kept.map(([name, value = '']) => [name, value]));
}

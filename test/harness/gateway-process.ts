/**
 * The real gateway as a separate process: started on a free port, killed or stopped by its id. After its exit
 * every suite searches its output and the files of its store for its secrets.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DEFAULT_GATEWAY_AUTH } from '../../server/config/settings.ts';
import type { HttpLimits } from '../../server/http/http.ts';
import { createCanaries, readStoreFiles } from './canaries.ts';

const ROOT = join(import.meta.dirname, '../..');

/** A gateway that has not exited after this time is killed. */
const STOP_MS = 15_000;

export const SECRET = 'a-gateway-secret-for-tests';
export const ADMIN_SECRET = 'an-admin-secret-for-tests';

const SECRET_SETTINGS = ['GATEWAY_AUTH', 'ADMIN_AUTH', 'PUSH_SECRET'];

export type GatewayProcess = {
  readonly baseUrl: string;
  readonly pid: number;
  /** Everything it has printed so far. */
  output(): string;
  /** Closes its output streams, as a terminal does that closes. */
  hangUp(): void;
  /** Sends SIGKILL. Rejects if a secret leaked. */
  kill(): Promise<void>;
  /** Sends SIGTERM; resolves to the exit code. May be called again. Rejects if a secret leaked. */
  stop(): Promise<number | null>;
};

/**
 * Starts the gateway. If it exits before it listens, rejects with its output. By default the store is in
 * memory. `under` is a command to run it under, such as a tracer; `program` is what runs instead of the
 * sources.
 */
export async function startGateway(
  env: Readonly<Record<string, string>> = {},
  under: readonly string[] = [],
  program = 'server/main.ts',
): Promise<GatewayProcess> {
  const usual = { PORT: '0', STORE: 'memory:', GATEWAY_AUTH: SECRET, ADMIN_AUTH: ADMIN_SECRET };
  const given = Object.entries({ ...usual, ...env }).filter(([name]) => env[`${name}_FILE`] === undefined);
  const settings: Readonly<Record<string, string>> = Object.fromEntries(given);
  const [command = process.execPath, ...args] = [...under, process.execPath, program];
  const child = spawn(command, args, { cwd: ROOT, env: settings });
  let printed = '';
  const baseUrl = await new Promise<string>((resolveUrl, reject) => {
    // Its last lines may be read only after its exit, so this waits for the close.
    child.once('close', (code) => reject(new Error(`The gateway exited with ${code}:\n${printed}`)));
    child.stderr.on('data', (text) => {
      printed += text;
    });
    child.stdout.on('data', (text) => {
      printed += text;
      const found = /"url":"([^"]+)"/.exec(printed);
      if (found?.[1]) resolveUrl(found[1]);
    });
  });
  return {
    baseUrl,
    pid: child.pid ?? 0,
    output: () => printed,
    hangUp() {
      child.stdout.destroy();
      child.stderr.destroy();
    },
    async kill() {
      await end(child, 'SIGKILL');
      requireNoLeaks(settings, printed);
    },
    async stop() {
      const code = await end(child, 'SIGTERM');
      requireNoLeaks(settings, printed);
      return code;
    },
  };
}

/** Starts it with limits that no setting changes. */
export async function startLimitedGateway(
  limits: Partial<HttpLimits>,
  env: Readonly<Record<string, string>> = {},
): Promise<GatewayProcess> {
  return await startGateway(
    { ...env, TEST_LIMITS: JSON.stringify(limits) },
    [],
    'test/harness/limited-main.ts',
  );
}

/** Throws if the output or a file of the store contains a secret of the settings. */
function requireNoLeaks(settings: Readonly<Record<string, string>>, printed: string): void {
  const { findLeaks } = createCanaries(readSecrets(settings));
  const file = /^sqlite:(.*)$/.exec(settings.STORE ?? '')?.[1];
  const outputs = new Map<string, string | Buffer>([['its output', printed]]);
  if (file !== undefined)
    for (const [name, bytes] of readStoreFiles(resolve(ROOT, file))) outputs.set(name, bytes);
  for (const [where, output] of outputs) {
    const leaks = findLeaks(output);
    if (leaks.length > 0) throw new Error(`The gateway leaked secrets in ${where}: ${leaks.join('; ')}.`);
  }
}

/** Returns the secrets of the settings, without the default one, which is public and logged. */
function readSecrets(settings: Readonly<Record<string, string>>): readonly string[] {
  return SECRET_SETTINGS.flatMap((name) => {
    const file = settings[`${name}_FILE`];
    const text = file !== undefined && existsSync(file) ? readFileSync(file, 'utf8').trim() : settings[name];
    return (text?.split(' ') ?? []).filter((secret) => secret !== DEFAULT_GATEWAY_AUTH);
  });
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = once(child, 'close');
  child.kill(signal);
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(late);
  return child.exitCode;
}

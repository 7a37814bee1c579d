/** The real gateway as a process of its own: started on a free port, killed or stopped by its id. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** A gateway that has not ended by then never will. */
const STOP_MS = 15_000;

export const SECRET = 'a-gateway-secret-for-tests';
export const ADMIN_SECRET = 'an-admin-secret-for-tests';

export type GatewayProcess = {
  readonly baseUrl: string;
  readonly pid: number;
  /** Everything it has printed so far. */
  output(): string;
  /** Stops reading what it prints, as a terminal that was closed. */
  hangUp(): void;
  /** SIGKILL: nothing is said goodbye to. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. Twice is fine. */
  stop(): Promise<number | null>;
};

/** Starts it; rejects with what it printed when it ends before it listens. The store is in memory unless told
 * otherwise; `under` names a command to run it under, such as a tracer. */
export async function startGateway(
  env: Readonly<Record<string, string>> = {},
  under: readonly string[] = [],
): Promise<GatewayProcess> {
  const settings = { PORT: '0', STORE: 'memory:', GATEWAY_AUTH: SECRET, ADMIN_AUTH: ADMIN_SECRET, ...env };
  const [command = process.execPath, ...args] = [...under, process.execPath, 'server/main.ts'];
  const child = spawn(command, args, { cwd: ROOT, env: settings });
  let printed = '';
  const baseUrl = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The gateway ended with ${code}:\n${printed}`)));
    child.stderr.on('data', (text) => {
      printed += text;
    });
    child.stdout.on('data', (text) => {
      printed += text;
      const found = /"url":"([^"]+)"/.exec(printed);
      if (found?.[1]) resolve(found[1]);
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
    kill: async () => void (await end(child, 'SIGKILL')),
    stop: () => end(child, 'SIGTERM'),
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = once(child, 'exit');
  child.kill(signal);
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(late);
  return child.exitCode;
}

/** Starts the real gateway as a process of its own, on a free port and with a store in memory, and ends it again. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export type GatewayProcess = {
  readonly baseUrl: string;
  /** Asks it to shut down and waits until it has; kills it after ten seconds. Twice is fine. */
  stop(): Promise<void>;
  /** Ends it without asking. */
  kill(): Promise<void>;
};

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const STOP_MS = 10_000;

/** Starts the gateway and resolves when it listens. Rejects with its own words when it does not. */
export async function startGatewayProcess(
  settings: Readonly<Record<string, string>>,
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, ['server/main.ts'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', STORE: 'memory:', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const said: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const lines = createInterface({ input: child.stdout });
  const baseUrl = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      const url = readUrl(line);
      if (url) resolve(url);
      else said.push(`${line}\n`);
    });
    child.once('error', reject);
    void exited.then(() => reject(new Error(`The gateway did not start.\n${said.join('')}`)));
  });
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  return {
    baseUrl,
    async stop() {
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await kill('SIGTERM').finally(() => clearTimeout(late));
    },
    kill: () => kill('SIGKILL'),
  };
}

/** The address in the line that says where it listens. */
function readUrl(line: string): string | undefined {
  try {
    const { msg, url } = JSON.parse(line);
    return msg === 'listening' && typeof url === 'string' ? url : undefined;
  } catch {
    return undefined;
  }
}

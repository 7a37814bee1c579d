/** A gateway to try clients on, started as a process of its own and ended by its id. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const root = join(import.meta.dirname, '../..');

/** A running gateway. */
export type RunningGateway = { readonly baseUrl: string; readonly secret: string; stop(): Promise<void> };

/** Starts the gateway on a free port, with a store in memory and no settings but its secret. */
export async function startGateway(): Promise<RunningGateway> {
  const secret = 'a-secret-for-generated-clients';
  const child = spawn(process.execPath, ['server/main.ts'], {
    cwd: root,
    env: { PORT: '0', STORE: 'memory:', GATEWAY_AUTH: secret },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { url } = JSON.parse(await awaitLine(child, /"msg":"listening"/));
  return { baseUrl: url, secret, stop: () => stop(child) };
}

/** Answers the first line of output that matches. Throws with the output if the process ends before. */
async function awaitLine(child: ChildProcess, pattern: RegExp): Promise<string> {
  const seen: string[] = [];
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error('The output of the process is not at hand.');
  stderr.on('data', (chunk) => seen.push(String(chunk)));
  for await (const line of createInterface({ input: stdout })) {
    seen.push(line);
    if (!pattern.test(line)) continue;
    stdout.resume();
    return line;
  }
  throw new Error(`The process ended before it was ready.\n${seen.join('\n')}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill();
  await ended;
}

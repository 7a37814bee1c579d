/** A service to try clients on, started as a process of its own and ended by its id. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const root = join(import.meta.dirname, '../..');

/** A running service. */
export type Target = { readonly baseUrl: string; readonly secret: string; stop(): Promise<void> };

/** Starts Prism's mock of the published document. */
export async function startMock(): Promise<Target> {
  const port = await findFreePort();
  const prism = join(root, 'node_modules/@stoplight/prism-cli/dist/index.js');
  const child = spawn(
    process.execPath,
    [prism, 'mock', 'generated/openapi/task-gateway.3.1.json', '--port', `${port}`],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  await awaitLine(child, /Prism is listening/);
  return { baseUrl: `http://127.0.0.1:${port}`, secret: 'any-secret', stop: () => stop(child) };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No port is free.');
  return address.port;
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

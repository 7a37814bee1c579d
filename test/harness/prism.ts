/** Prism as a process of its own: a mock that knows only the published document. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The mock. It responds to any request with the example of the requested status. */
export type Prism = {
  readonly url: string;
  /** Resolves to its exit code when the process has ended, for whatever reason. */
  readonly ended: Promise<number | null>;
  stop(): Promise<void>;
};

/**
 * Starts Prism on a free port and waits until it listens. It passes each further line that Prism prints to
 * `print`.
 */
export async function startPrism(
  options: readonly string[] = [],
  print: (line: string) => void = () => undefined,
): Promise<Prism> {
  const program = createRequire(import.meta.url).resolve('@stoplight/prism-cli/dist/index.js');
  const document = fileURLToPath(import.meta.resolve('@task-gateway/contract/openapi.whole.json'));
  const child = spawn(process.execPath, [program, 'mock', '--port', '0', ...options, document], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' },
  });
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  const lines = createInterface({ input: child.stdout });
  const url = await waitUntilListening(child, lines);
  lines.on('line', print);
  return {
    url,
    ended,
    async stop() {
      child.kill();
      await ended;
    },
  };
}

function waitUntilListening(child: ChildProcess, lines: Interface): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const read = (line: string): void => {
    const url = /listening on (http:\/\/\S+)/.exec(line)?.[1];
    if (url === undefined) return;
    lines.off('line', read);
    resolve(url);
  };
  lines.on('line', read);
  child.once('exit', (code) => reject(new Error(`Prism exited with ${code} before it listened.`)));
  return promise;
}

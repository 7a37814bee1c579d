/**
 * A real Redis or Valkey as a process of its own: on a free port, in a folder of its own, ended by its id. It writes
 * every answer's effects to the disk first, as the gateway demands, unless told otherwise.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type RedisProcess = {
  readonly port: number;
  readonly url: string;
  readonly folder: string;
  pid(): number;
  /** SIGKILL: nothing is said goodbye to. */
  kill(): Promise<void>;
  /** Starts it again on what its folder holds, on the same port. */
  restart(): Promise<void>;
  /** Ends it and removes its folder. */
  dispose(): Promise<void>;
};

/** The servers that are installed here: each must be as good to the gateway. */
export const REDIS_COMMANDS: readonly string[] = ['redis-server', 'valkey-server'].filter(
  (command) => spawnSync(command, ['--version']).status === 0,
);

/** Where nothing is installed a suite must say so; where completeness is demanded that is a failure. */
export function demandRedis(suite: string): void {
  if (REDIS_COMMANDS.length > 0) return;
  const message = `${suite}: NOT RUN, because neither redis-server nor valkey-server is installed here`;
  if (process.env.CI) throw new Error(message);
  console.error(`\n${'!'.repeat(message.length)}\n${message}\n${'!'.repeat(message.length)}\n`);
}

const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** Starts one; `settings` come last and win. */
export async function startRedis(
  settings: readonly string[] = [],
  command = REDIS_COMMANDS[0] ?? 'redis-server',
): Promise<RedisProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-redis-'));
  const port = await findFreePort();
  let child = await launch();

  async function launch(): Promise<ChildProcess> {
    const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
    const started = spawn(command, [...place, ...DURABLE, ...settings], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let printed = '';
    started.stdout?.on('data', (text) => {
      printed += text;
    });
    started.stderr?.on('data', (text) => {
      printed += text;
    });
    while (!(await answers(port))) {
      if (started.exitCode !== null)
        throw new Error(`${command} ended with ${started.exitCode}:\n${printed}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return started;
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    folder,
    pid: () => child.pid ?? 0,
    kill: () => end('SIGKILL'),
    async restart() {
      child = await launch();
    },
    async dispose() {
      await end('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Whether somebody answers there and has read what it holds. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const finish = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (bytes) => finish(/^(\+PONG|-NOAUTH)/.test(bytes.toString())));
    socket.once('error', () => finish(false));
    socket.once('close', () => finish(false));
  });
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

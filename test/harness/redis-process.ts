/**
 * A real Redis or Valkey as a separate process: on a free port, in a folder of its own, killed by its id. By
 * default it writes each command's effects to the disk before it replies, as the gateway requires.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from './free-port.ts';
import { findCommands } from './tools.ts';

export type RedisProcess = {
  readonly port: number;
  readonly url: string;
  readonly folder: string;
  pid(): number;
  /** Sends one command as one line. Resolves to the first bytes of the reply. */
  send(line: string): Promise<string>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on the data in its folder, on the same port. */
  restart(): Promise<void>;
  /** Kills it and removes its folder. */
  dispose(): Promise<void>;
};

const KNOWN_COMMANDS = ['redis-server', 'valkey-server'] as const;
const installed = KNOWN_COMMANDS.filter((command) => findCommands([command]).length > 0);

/**
 * The installed servers, because the gateway must work with each of them. If there is none, names the first
 * one all the same, so that its suites have tests, which are skipped.
 */
export const REDIS_COMMANDS: readonly string[] =
  installed.length > 0 ? installed : KNOWN_COMMANDS.slice(0, 1);

const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** Starts a server. `settings` come last and override the defaults; `env` is added to the environment. */
export async function startRedis(
  settings: readonly string[] = [],
  command = REDIS_COMMANDS[0] ?? '',
  env: Readonly<Record<string, string>> = {},
): Promise<RedisProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-redis-'));
  const port = await findFreePort();
  let child = await launch();

  async function launch(): Promise<ChildProcess> {
    const own = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
    const started = spawn(command, [...own, ...DURABLE, ...settings], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    let printed = '';
    started.stdout?.on('data', (text) => {
      printed += text;
    });
    started.stderr?.on('data', (text) => {
      printed += text;
    });
    while (!(await isReady(port))) {
      if (started.exitCode !== null)
        throw new Error(`${command} exited with ${started.exitCode}:\n${printed}`);
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
    send: (line) => sendLine(port, line),
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

/** Whether a server replies on the port and has loaded its data. */
async function isReady(port: number): Promise<boolean> {
  return /^(\+PONG|-NOAUTH)/.test(await sendLine(port, 'PING').catch(() => ''));
}

/** Starts a primary and a replica, and waits until the replica is up to date. */
export async function startReplicated(
  settings: readonly string[] = [],
  command = REDIS_COMMANDS[0] ?? '',
): Promise<{ readonly primary: RedisProcess; readonly replica: RedisProcess }> {
  const primary = await startRedis(['--repl-diskless-sync-delay', '0', ...settings], command);
  const replicaOf = ['--replicaof', '127.0.0.1', String(primary.port)];
  const replica = await startRedis([...replicaOf, ...settings], command);
  await untilReplicates(primary, replica);
  return { primary, replica };
}

/** Waits until the primary counts the replica as one that is up to date. */
export async function untilReplicates(primary: RedisProcess, replica: RedisProcess): Promise<void> {
  const endMs = performance.now() + 20_000;
  const online = new RegExp(`port=${replica.port},state=online`);
  for (let reply = ''; !online.test(reply); reply = await sendLine(primary.port, 'INFO replication')) {
    if (performance.now() > endMs) throw new Error(`the replica is not up to date after 20 s:\n${reply}`);
  }
}

/** Starts a Sentinel that watches a primary under the name `main`, with short timeouts. */
export async function startSentinel(primary: RedisProcess, command = REDIS_COMMANDS[0] ?? '') {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-sentinel-'));
  const port = await findFreePort();
  const file = join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor main 127.0.0.1 ${primary.port} 1`,
    'sentinel down-after-milliseconds main 500',
    'sentinel failover-timeout main 3000',
  ];
  writeFileSync(file, lines.join('\n'));
  const child = spawn(command, [file, '--sentinel'], { stdio: 'ignore' });
  while (!(await isReady(port))) await new Promise((resolve) => setImmediate(resolve));
  return {
    port,
    /** Waits until it has found the primary's replica. */
    async untilKnown(): Promise<void> {
      while (!/slaves=1/.test(await sendLine(port, 'INFO sentinel')));
    },
    /** Waits until it names this server as the primary. */
    async untilPrimary({ port: expected }: RedisProcess): Promise<void> {
      const question = 'SENTINEL GET-MASTER-ADDR-BY-NAME main';
      while (!(await sendLine(port, question)).includes(`\r\n${expected}\r\n`));
    },
    async dispose(): Promise<void> {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Sends one line. Resolves to the first bytes of the reply. */
async function sendLine(port: number, line: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  try {
    socket.write(`${line}\r\n`);
    const closed = once(socket, 'close').then(() => Promise.reject(new Error('closed without a reply')));
    const [bytes] = (await Promise.race([once(socket, 'data'), closed])) as [Buffer];
    return bytes.toString();
  } finally {
    socket.destroy();
  }
}

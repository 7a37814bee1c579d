/**
 * The servers under measurement, each a process of its own on a free port, and the Redis that some of them
 * need.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../harness/free-port.ts';
import { findCommands } from '../harness/tools.ts';
import { SECRET } from './parties.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const PEER = join(ROOT, 'test/bench/peer');

export type Server = {
  readonly name: string;
  readonly url: string;
  /** The address of each of its replicas; of most there is one. */
  readonly urls: readonly string[];
  /** The process of its first replica. */
  readonly pid: number;
  /** All its processes and the store they run on: what a task costs is their sum. */
  readonly pids: readonly number[];
  /** From the start of the process until it listened. */
  readonly startMs: number;
  stop(): Promise<void>;
};

export type Redis = {
  readonly url: string;
  readonly pid: number;
  /** The gateway's REDIS_DURABILITY. */
  readonly durability: 'disk' | 'memory';
  stop(): void;
};

/** What a server is started with. */
type Command = {
  /** Flags for Node and the file, which are relative to `root`. */
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** A Redis that it runs on, whose cost counts with its own. */
  readonly store?: Redis | undefined;
  /** The checkout of its file; default: this one. */
  readonly root?: string | undefined;
};

/** Starts a server and waits for the line with its address. */
async function startServer(name: string, { words, env, store, root = ROOT }: Command): Promise<Server> {
  const beganMs = performance.now();
  const child = spawn(process.execPath, words, {
    cwd: root,
    env: { ...process.env, GATEWAY_AUTH: SECRET, ADMIN_AUTH: `${SECRET}-admin`, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code} before it listened`)));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
      if (found) resolve(found[0]);
    });
  });
  const pid = child.pid ?? 0;
  return {
    name,
    url,
    urls: [url],
    pid,
    pids: store ? [pid, store.pid] : [pid],
    startMs: performance.now() - beganMs,
    stop: () => stopChild(child),
  };
}

/**
 * The gateway on the store of that name, as `npm start` of its checkout starts it; a Redis that it runs on
 * counts with it. `flags`: more flags for Node.
 */
export function startGateway(
  name: string,
  store: string | Redis,
  root = ROOT,
  flags: readonly string[] = [],
): Promise<Server> {
  const words = [...flags, ...readStartWords(root)];
  if (typeof store === 'string') return startServer(name, { words, env: { STORE: store }, root });
  const env = { STORE: store.url, REDIS_DURABILITY: store.durability };
  return startServer(name, { words, env, store, root });
}

/** What stands behind `exec node`, or `node` before that, in the command of `npm start`. */
function readStartWords(root: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: { readonly start: string };
  };
  return scripts.start.replace(/^(exec )?node /, '').split(' ');
}

/** So many gateways on one Redis, as one server. */
export async function startReplicas(name: string, redis: Redis, count: number): Promise<Server> {
  const replicas: Server[] = [];
  while (replicas.length < count) replicas.push(await startGateway(name, redis));
  const [first] = replicas;
  if (!first) throw new Error('A server needs one replica or more.');
  return {
    ...first,
    urls: replicas.map(({ url }) => url),
    pids: [...replicas.map(({ pid }) => pid), redis.pid],
    async stop() {
      for (const replica of replicas) await replica.stop();
    },
  };
}

/** The assembled peer; its packages are installed when they are missing, with a message. */
export function startPeer(name: string, redis: Redis): Promise<Server> {
  if (!existsSync(join(PEER, 'node_modules'))) {
    console.error('Installing the peer (Fastify and BullMQ) in test/bench/peer …');
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
      cwd: PEER,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  return startServer(name, {
    words: ['test/bench/peer/server.js'],
    env: { STORE: redis.url },
    store: redis,
  });
}

/** The bare sketch, in memory. */
export function startBare(name: string): Promise<Server> {
  return startServer(name, { words: ['test/bench/sketch.ts'], env: {} });
}

/** A Redis of its own; null where none is installed. */
export async function startRedis(appendfsync: 'always' | 'everysec'): Promise<Redis | null> {
  const [command] = findCommands(['redis-server']);
  if (command === undefined) return null;
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-bench-redis-'));
  const port = await findFreePort();
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
  const child = spawn(command, [...settings, '--appendonly', 'yes', '--appendfsync', appendfsync], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('Ready to accept connections')) resolve();
    });
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    durability: appendfsync === 'always' ? 'disk' : 'memory',
    stop() {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await ended;
  clearTimeout(late);
}

/**
 * A lock on a file for one process. It is a socket that listens beside the file, at `FILE.lock`: the kernel
 * closes it when its process ends, however that happens, and it stays while a handler blocks the event loop.
 * A socket that nothing listens on is left from a process that has ended, and is taken away.
 */
import { createHash, randomUUID } from 'node:crypto';
import { link, rename, rm, stat } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { InvalidOptionError } from '../errors.ts';

export type FileLock = { release(): Promise<void> };

/** The longest address of a socket that all systems have. */
const ADDRESS_BYTES_MAX = 100;
/** A process that holds the lock accepts at once: the kernel does it for the process. */
const CONNECT_MS_MAX = 5_000;
const TRIES_MAX = 3;

/**
 * Locks the file, whose folder must exist. Throws `InvalidOptionError` when another process, or this one, has
 * locked it already, and the errors of the file system.
 */
export async function lockFile(file: string): Promise<FileLock> {
  await stat(dirname(resolve(file)));
  const { beside, apart } = addressesOf(resolve(file));
  let address = beside;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const server = await listen(address);
    if (typeof server === 'object') {
      return { release: () => new Promise((done) => void server.close(() => done())) };
    }
    if (server === 'impossible') address = apart;
    else if (await isListening(address)) break;
    else await removeStale(address);
  }
  throw new InvalidOptionError(
    `The outbox ${file} is in use by another process: give each agent a file of its own.`,
  );
}

/**
 * Returns the address beside the file, and the one for where none can be: the name is too long, or the like.
 */
function addressesOf(file: string): { beside: string; apart: string } {
  const name = `task-gateway-${createHash('sha256').update(file).digest('hex').slice(0, 32)}`;
  if (process.platform === 'win32') {
    const pipe = `\\\\.\\pipe\\${name}`;
    return { beside: pipe, apart: pipe };
  }
  const apart = join(tmpdir(), `${name}.lock`);
  const beside = `${file}.lock`;
  return { apart, beside: Buffer.byteLength(beside) <= ADDRESS_BYTES_MAX ? beside : apart };
}

/** Resolves to a server that listens at the address, or to why none can. */
function listen(address: string): Promise<Server | 'taken' | 'impossible'> {
  return new Promise((done) => {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    server.on('error', (error: NodeJS.ErrnoException) =>
      done(error.code === 'EADDRINUSE' ? 'taken' : 'impossible'),
    );
    server.listen(address, () => done(server));
  });
}

async function isListening(address: string): Promise<boolean> {
  const socket = connect(address);
  try {
    return await new Promise<boolean>((done) => {
      socket.setTimeout(CONNECT_MS_MAX, () => done(true));
      socket.on('connect', () => done(true));
      socket.on('error', ({ code }: NodeJS.ErrnoException) =>
        done(code !== 'ECONNREFUSED' && code !== 'ENOENT'),
      );
    });
  } finally {
    socket.destroy();
  }
}

/**
 * Takes away a socket that nothing listens on. It is moved before it is removed: another process may have
 * replaced it since, and a socket that listens is put back.
 */
async function removeStale(address: string): Promise<void> {
  const moved = `${address}.${randomUUID().slice(0, 8)}`;
  try {
    await rename(address, moved);
    if (await isListening(moved)) await link(moved, address);
    await rm(moved, { force: true });
  } catch (error) {
    const isGone = error instanceof Error && 'code' in error && /^(ENOENT|EEXIST)$/.test(String(error.code));
    if (!isGone) throw error;
    await rm(moved, { force: true });
  }
}

/**
 * A lock on a file for one process. Its holder listens on a socket. The kernel closes the socket however the
 * process ends, and the socket stays while a handler blocks the event loop.
 *
 * The sockets are in the folder `FILE.lock`, and have numbers. The holder is the process that listens on the
 * highest one. A process that finds nothing listening there takes the next number: it links a socket that
 * listens already to that name, which the file system lets only one process do. The highest number stays when
 * its holder ends, so no number is given twice; a process that was slow finds a higher number than its own
 * and gives way. The last number but one stays too, for a process that reads the folder while it changes.
 *
 * A holder that gives the lock back takes one more number, for a file on which nothing can listen. Without it
 * a program that is being started would seem to hold the lock: for a moment it has all sockets of its parent,
 * even those that the parent has closed.
 */
import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { InvalidOptionError } from '../errors.ts';

export type FileLock = { release(): Promise<void> };

type Holder = {
  readonly server: Server;
  /** The file that says that the lock was given back; undefined if the lock is not in a folder. */
  readonly givenBack?: string;
};

/** How many bytes an address of a socket may have on all systems. */
const ADDRESS_BYTES_MAX = 100;
/** How long a name in the folder may be: a number, or what a socket is called before it has one. */
const NAME_CHARS_MAX = 16;
/** How long a connection to the holder may take. It should take no time: the kernel accepts it. */
const CONNECT_MS_MAX = 5_000;
/** The error codes of a file system that has no sockets, or can't link them to a second name. */
const WITHOUT_SOCKETS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];
/** A try only fails because another process has come a step further. */
const TRIES_MAX = 1_000;

/**
 * Locks the file, whose folder must exist. All names of the file are one: relative ones, and links to it or
 * its folders. Throws `InvalidOptionError` if another process, or this one, has locked it already, and the
 * errors of the file system.
 */
export async function lockFile(file: string): Promise<FileLock> {
  const path = await resolveFile(file);
  const holder = process.platform === 'win32' ? await holdPipe(path) : await lockPath(path);
  if (holder === undefined) {
    throw new InvalidOptionError(
      `The outbox ${file} is in use by another process: give each agent a file of its own.`,
    );
  }
  return {
    async release() {
      const { server, givenBack } = holder;
      // If it can't be written, the closed socket says the same a moment later.
      if (givenBack) await writeFile(givenBack, '', { flag: 'wx', mode: 0o600 }).catch(() => undefined);
      await close(server);
    },
  };
}

async function holdPipe(path: string): Promise<Holder | undefined> {
  const server = await listen(nameOf(path, '\\\\.\\pipe\\'));
  return server && { server };
}

/** Returns the one path of a file, which need not exist yet. */
export async function resolveFile(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    return join(await realpath(dirname(file)), basename(file));
  }
}

/** Locks beside the file or, if no socket can be there, in the folder for temporary files. */
async function lockPath(path: string): Promise<Holder | undefined> {
  const beside = `${path}.lock`;
  const apart = nameOf(path, `${tmpdir()}/`);
  if (Buffer.byteLength(beside) + NAME_CHARS_MAX > ADDRESS_BYTES_MAX) return await takeNumber(apart);
  try {
    return await takeNumber(beside);
  } catch (error) {
    if (!WITHOUT_SOCKETS.some((code) => hasCode(error, code))) throw error;
    await rm(beside, { recursive: true, force: true });
    return await takeNumber(apart);
  }
}

/** Takes the next number if nothing listens on the highest one; otherwise resolves to undefined. */
async function takeNumber(folder: string): Promise<Holder | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const highest = await readHighest(folder);
    if (highest > 0 && (await isListening(join(folder, `${highest}`)))) return undefined;
    const draft = join(folder, `new-${randomUUID().slice(0, 8)}`);
    const server = await listen(draft);
    if (server === undefined) continue;
    const isTaken = await linkNew(draft, join(folder, `${highest + 1}`));
    await rm(draft, { force: true });
    if (isTaken && (await readHighest(folder)) === highest + 1) {
      await removeOld(folder, highest);
      return { server, givenBack: join(folder, `${highest + 2}`) };
    }
    await close(server);
  }
  return undefined;
}

function nameOf(path: string, prefix: string): string {
  return `${prefix}task-gateway-${createHash('sha256').update(path).digest('hex').slice(0, 32)}`;
}

async function readHighest(folder: string): Promise<number> {
  const numbers = (await readdir(folder)).filter((name) => /^\d+$/.test(name)).map(Number);
  return Math.max(0, ...numbers);
}

/** Gives the socket a name that was free. Resolves to false if another process was faster. */
async function linkNew(socket: string, name: string): Promise<boolean> {
  try {
    await link(socket, name);
    return true;
  } catch (error) {
    // ENOENT: another process removed the socket, because it took it for one that was left over.
    if (hasCode(error, 'EEXIST') || hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** Removes what earlier processes have left: numbers before the last one, and sockets without a number. */
async function removeOld(folder: string, last: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const isOld = /^\d+$/.test(name) ? Number(name) < last : !(await isListening(path));
    if (isOld) await rm(path, { force: true });
  }
}

/** Resolves to a server that listens at the address, or to undefined if something is there. */
function listen(address: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    server.on('error', (error) => (hasCode(error, 'EADDRINUSE') ? resolve(undefined) : reject(error)));
    server.listen(address, () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((done) => void server.close(() => done()));
}

async function isListening(address: string): Promise<boolean> {
  const socket = connect(address);
  try {
    return await new Promise<boolean>((done) => {
      socket.setTimeout(CONNECT_MS_MAX, () => done(true));
      socket.on('connect', () => done(true));
      socket.on('error', (error) => done(!hasCode(error, 'ECONNREFUSED') && !hasCode(error, 'ENOENT')));
    });
  } finally {
    socket.destroy();
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

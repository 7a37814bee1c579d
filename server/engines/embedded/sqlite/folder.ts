/**
 * The folder of a database, created if necessary and durable when this returns, and who may read its files.
 */
import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../../../async/error-message.ts';

/**
 * Creates the folder and returns the database's real path, links resolved: a database that is named by a link
 * has the same lock file.
 */
export function makeFolder(path: string): string {
  const folder = dirname(path);
  try {
    const created = mkdirSync(folder, { recursive: true });
    if (created !== undefined) syncParents(folder, created);
    return existsSync(path) ? realpathSync(path) : join(realpathSync(folder), basename(path));
  } catch (error) {
    throw new Error(
      `The folder ${folder} can't be created (${messageOf(error)}). Create it, or name a database in another folder.`,
      { cause: error },
    );
  }
}

/**
 * Leaves the existing files of a database to their owner alone, also those that an earlier version created
 * for others to read. Files of another owner stay as they are.
 */
export function protectFiles(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}.lock`]) {
    try {
      chmodSync(file, 0o600);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code !== 'ENOENT' && code !== 'EPERM') throw error;
    }
  }
}

/** A new folder is an entry of its parent; the entry is on disk only after an fsync of the parent. */
function syncParents(folder: string, topmost: string): void {
  for (let child = folder; child.length >= topmost.length; child = dirname(child)) {
    const parent = openSync(dirname(child), 'r');
    try {
      fsyncSync(parent);
    } finally {
      closeSync(parent);
    }
  }
}

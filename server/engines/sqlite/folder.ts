/** Creates the folder of a database, and restricts who may read the files. */
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../../async/error-message.ts';

/**
 * Creates the folder, on disk when the call returns. Returns the database's path without links, so that a
 * database named by a link gets the same lock file.
 */
export function makeFolder(path: string): string {
  const folder = dirname(path);
  try {
    makeFolders(folder);
    return existsSync(path) ? realpathSync(path) : join(realpathSync(folder), basename(path));
  } catch (error) {
    const isTaken = existsSync(folder) && !isFolder(folder);
    throw new Error(
      isTaken
        ? `${folder} is not a folder. Name a database in a folder.`
        : `The folder ${folder} can't be created (${messageOf(error)}). Create it, or name a database in another folder.`,
      { cause: error },
    );
  }
}

/**
 * Makes the existing files of a database readable for their owner alone: a copy that was restored may let
 * others read it. Files of another owner stay as they are.
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

/**
 * Creates the folder and the folders above it, one by one. Node's `recursive` would never end where the
 * system refuses a folder with ENOENT, as in /proc. Each new folder needs an fsync of its parent, which has
 * its entry.
 */
function makeFolders(folder: string): void {
  if (isFolder(folder)) return;
  const above = dirname(folder);
  if (above !== folder) makeFolders(above);
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process may have created it by now.
    if (!isFolder(folder)) throw error;
  }
  const parent = openSync(above, 'r');
  try {
    fsyncSync(parent);
  } finally {
    closeSync(parent);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

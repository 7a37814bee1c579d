/** The folder of a database: created if need be, so that a power cut does not take it back. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Creates the folder and says the database's one true path: by a link it is the same database, with the same lock. */
export function makeFolder(path: string): string {
  const folder = dirname(path);
  try {
    const created = mkdirSync(folder, { recursive: true });
    if (created !== undefined) syncParents(folder, created);
    return existsSync(path) ? realpathSync(path) : join(realpathSync(folder), basename(path));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `The folder ${folder} can't be created (${reason}). Create it, or name a database elsewhere.`,
      { cause: error },
    );
  }
}

/** A new folder is an entry of its parent; that entry is on disk only when the parent is. */
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

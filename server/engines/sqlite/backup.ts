/**
 * Copies a database while a gateway uses it. SQLite copies one moment of the file, so the copy has everything
 * that was acknowledged before it began, and no half commit. Meanwhile commits go on, and the log beside the
 * database grows until the copy is complete.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../async/error-message.ts';
import { requireOwnFile } from './file-format.ts';
import { findDamage } from './inspection.ts';
import { createPrepare } from './statements.ts';

export type Copied = { readonly bytes: number; readonly openTasks: number; readonly agents: number };

/** How long a copy waits for the rare locks of the gateway's writer. */
const BUSY_WAIT_MS = 10_000;

/**
 * Copies the database to the file `copy`, which must not exist. Before the copy gets that name, it has been
 * checked and is on the disk. A thrown error says what to do, and leaves no copy.
 */
export function copyDatabase(path: string, copy: string): Copied {
  if (!requireOwnFile(path)) throw new Error(`There is no database ${path}: STORE names the one to copy.`);
  if (existsSync(copy)) throw new Error(`${copy} exists already: name a new file.`);
  const partial = `${copy}.partial`;
  makeEmpty(partial);
  try {
    copyMoment(path, partial);
    const damage = findDamage(partial);
    if (damage !== undefined) throw new Error(`The database can't be copied: ${damage}.`);
    const counts = checkCounts(partial);
    syncToDisk(partial);
    renameSync(partial, copy);
    syncToDisk(dirname(copy));
    return { bytes: statSync(copy).size, ...counts };
  } finally {
    rmSync(partial, { force: true });
  }
}

/**
 * SQLite can copy into an empty file. Creating the file here gives a reason if that fails, which SQLite would
 * not.
 */
function makeEmpty(file: string): void {
  try {
    rmSync(file, { force: true });
    closeSync(openSync(file, 'wx'));
  } catch (error) {
    const folder = dirname(file);
    const found = statSync(folder, { throwIfNoEntry: false });
    if (!found) throw new Error(`There is no folder ${folder}: create it first (mkdir -p '${folder}').`);
    const reason = found.isDirectory() ? `takes no new file (${messageOf(error)})` : 'is not a folder';
    throw new Error(`${folder} ${reason}: name a file in another folder.`, { cause: error });
  }
}

function copyMoment(path: string, copy: string): void {
  const sqlite = new DatabaseSync(path, { readOnly: true, timeout: BUSY_WAIT_MS });
  try {
    sqlite.prepare('VACUUM INTO ?').run(copy);
  } catch (error) {
    throw new Error(`${path} can't be copied to ${copy} (${messageOf(error)}).`, { cause: error });
  } finally {
    sqlite.close();
  }
}

/** Counts the rows of the copy. Throws if the gateway's counts differ. */
function checkCounts(copy: string): Omit<Copied, 'bytes'> {
  const sqlite = new DatabaseSync(copy, { readOnly: true });
  try {
    const prepare = createPrepare(sqlite);
    const count = (from: string): number => Number(prepare(`SELECT count(*) FROM ${from}`).get()?.[0]);
    const [openTasks, agents] = [count("value WHERE kind = 'task' AND is_open = 1"), count('agent')];
    const [openCount, agentCount] = prepare('SELECT pending + running, agents FROM count').get() ?? [];
    if (openCount !== openTasks || agentCount !== agents) {
      throw new Error(
        `The database can't be copied: it counts ${openCount} open tasks and ${agentCount} agents, and has ` +
          `${openTasks} and ${agents}.`,
      );
    }
    return { openTasks, agents };
  } finally {
    sqlite.close();
  }
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

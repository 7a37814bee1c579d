/** Finds out whether a program can be run, and whether enough files can be opened for it. */
import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { devNull } from 'node:os';
import { delimiter, join } from 'node:path';

/**
 * How many files must be free before a program is started. The start opens eight for a moment, and other
 * threads of this process may open some more. With fewer it must not be tried: when a start of Node's fails
 * late, it leaves open the pipes that it had opened.
 */
export const FILES_PER_START = 10;

/** Whether there is an executable file of that name or path. */
export function canRun(name: string, env: NodeJS.ProcessEnv): boolean {
  const folders = name.includes('/') ? [''] : (env.PATH ?? '').split(delimiter);
  return folders.some((folder) => {
    const path = folder === '' ? name : join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}

/** Whether this process may open so many more files. It opens them, for a moment. */
export function checkFreeFiles(count: number): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync(devNull, 'r'));
    return true;
  } catch {
    return false;
  } finally {
    for (const file of opened) closeSync(file);
  }
}

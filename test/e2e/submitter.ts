/**
 * Submits many tasks at once in a process of its own, so that their sockets are not among the descriptors of
 * the process that all suites share. As a program: `submitter.ts URL COUNT FIELDS` prints the ids as JSON.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { submit } from './plain-calls.ts';

/** More than this at once may take a busy machine longer than a call has. */
const UNDER_WAY_MAX = 200;

/** Submits this many tasks with these fields; resolves with their ids, if all are accepted. */
export async function submitMany(url: string, count: number, more: object): Promise<readonly string[]> {
  const words = [import.meta.filename, url, String(count), JSON.stringify(more)];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  return JSON.parse(stdout) as readonly string[];
}

if (import.meta.main) {
  const [url = '', count = '0', more = '{}'] = process.argv.slice(2);
  const ids: string[] = [];
  let left = Number(count);
  const submitNext = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      ids.push(await submit(url, JSON.parse(more)));
    }
  };
  await Promise.all(Array.from({ length: UNDER_WAY_MAX }, submitNext));
  console.log(JSON.stringify(ids));
}

/** How many files and connections this process may have open, and how many it has. */
import { readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';

/** Counts if the system does not say: less than macOS and the BSDs allow Node. */
const USUAL = 10_000;

/** Reads the limit; Node has raised it to the hard limit at its start. */
export function readDescriptorsMax(): number {
  try {
    const [, limit] = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    if (limit === 'unlimited') return Number.POSITIVE_INFINITY;
    return Number(limit) || USUAL;
  } catch {
    return USUAL;
  }
}

const OPEN = '/proc/self/fd';

/** How many are open; null where the system does not say. Since Linux 6.2 it need not list them. */
export async function countDescriptors(): Promise<number | null> {
  try {
    const { size } = await stat(OPEN);
    return size > 0 ? size : (await readdir(OPEN)).length;
  } catch {
    return null;
  }
}

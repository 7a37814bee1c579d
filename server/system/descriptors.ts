/** How many files and connections this process may have open, and how many it has. */
import { readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';

/** Assumed if the system does not say. macOS and the BSDs allow Node more. */
const USUAL = 10_000;

/** Reads the limit. At its start, Node has raised it to the hard limit. */
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

/**
 * Counts open files and connections; null if the system does not say. Since Linux 6.2 they need not be
 * listed.
 */
export async function countDescriptors(): Promise<number | null> {
  try {
    const { size } = await stat(OPEN);
    return size > 0 ? size : (await readdir(OPEN)).length;
  } catch {
    return null;
  }
}

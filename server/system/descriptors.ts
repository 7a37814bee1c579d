/** How many files and connections this process may have open, as the system limits it. */
import { readFileSync } from 'node:fs';

/** What counts where the system does not say: less than what macOS and the BSDs allow Node. */
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

/**
 * A wall clock that a test sets while a program runs under it, as a person or NTP sets that of a host; the
 * monotonic clock stays as it is. libfaketime reads the shift from a file at each look at the clock.
 */
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type SteppedClock = {
  /** The environment of a program that has this clock; empty without the libraries. */
  readonly env: Readonly<Record<string, string>>;
  /** Sets it apart from the real one, in milliseconds. */
  set(shiftMs: number): void;
  dispose(): void;
};

const FAKETIME = 'faketime/libfaketimeMT.so.1';

/** Prints that a suite does not run where the libraries are missing. Throws then where `CI` is set. */
export function canStepClocks(suite: string, libraries: readonly string[] = []): boolean {
  if ([FAKETIME, ...libraries].every((name) => findLibrary(name) !== null)) return true;
  const message = `${suite}: NOT RUN, because libfaketime is not installed here (apt-get install faketime)`;
  if (process.env.CI) throw new Error(message);
  console.error(`\n${'!'.repeat(message.length)}\n${message}\n${'!'.repeat(message.length)}\n`);
  return false;
}

/** Creates one; `below` are libraries that are loaded before libfaketime. */
export function createSteppedClock(shiftMs = 0, below: readonly string[] = []): SteppedClock {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-clock-'));
  const file = join(folder, 'shift');
  function set(newShiftMs: number): void {
    writeFileSync(`${file}.new`, `${newShiftMs < 0 ? '' : '+'}${newShiftMs / 1_000}\n`);
    renameSync(`${file}.new`, file);
  }
  set(shiftMs);
  const libraries = [...below, FAKETIME].map(findLibrary);
  const env = {
    LD_PRELOAD: libraries.join(' '),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  };
  return {
    env: libraries.includes(null) ? {} : env,
    set,
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Finds a shared library by its name in the folders of this machine's architecture. */
function findLibrary(name: string): string | null {
  for (const root of ['/usr/lib', '/lib']) {
    if (!existsSync(root)) continue;
    const folders = readdirSync(root).filter((folder) => folder.endsWith('-linux-gnu'));
    const found = folders.map((folder) => join(root, folder, name)).find((path) => existsSync(path));
    if (found !== undefined) return found;
  }
  return null;
}

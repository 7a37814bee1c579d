/**
 * A wall clock that a test sets while a program runs under it, as a person or NTP sets that of a host. The
 * monotonic clock stays as it is. libfaketime reads the shift from a file whenever the program reads the
 * clock.
 */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLOCK_LIBRARIES, findLibrary } from './tools.ts';

export type SteppedClock = {
  /** The environment of a program that has this clock; empty without the libraries. */
  readonly env: Readonly<Record<string, string>>;
  /** Sets the clock so many milliseconds apart from the real one. */
  set(shiftMs: number): void;
  dispose(): void;
};

/** Creates the clock. `below` are libraries that are loaded before libfaketime. */
export function createSteppedClock(shiftMs = 0, below: readonly string[] = []): SteppedClock {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-clock-'));
  const file = join(folder, 'shift');
  function set(newShiftMs: number): void {
    writeFileSync(`${file}.new`, `${newShiftMs < 0 ? '' : '+'}${newShiftMs / 1_000}\n`);
    renameSync(`${file}.new`, file);
  }
  set(shiftMs);
  const libraries = [...below, CLOCK_LIBRARIES.faketime].map(findLibrary);
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

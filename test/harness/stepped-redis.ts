/**
 * A real Redis whose wall clock a test sets while it runs, as a person or NTP sets that of its host; its
 * monotonic clock stays as it is. libfaketime reads the shift from a file at each look at the clock. It
 * cannot begin below jemalloc, which asks for the time while it begins, so the server gets the allocator of
 * the C library.
 */
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RedisProcess, startRedis } from './redis-process.ts';

export type SteppedRedis = RedisProcess & {
  /** Sets its wall clock apart from the real one, in milliseconds. */
  setClock(shiftMs: number): void;
};

const LIBRARIES = ['faketime/libfaketimeMT.so.1', 'libc_malloc_debug.so.0'].map(findLibrary).reverse();

/** Prints that a suite does not run where the libraries are missing. Throws then where `CI` is set. */
export function canStepClocks(suite: string): boolean {
  if (!LIBRARIES.includes(null)) return true;
  const message = `${suite}: NOT RUN, because libfaketime is not installed here (apt-get install faketime)`;
  if (process.env.CI) throw new Error(message);
  console.error(`\n${'!'.repeat(message.length)}\n${message}\n${'!'.repeat(message.length)}\n`);
  return false;
}

/** Starts one; `settings` as for every Redis. Without the libraries its clock stays the real one. */
export async function startSteppedRedis(
  shiftMs = 0,
  settings: readonly string[] = [],
): Promise<SteppedRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-clock-'));
  const file = join(folder, 'shift');
  function setClock(newShiftMs: number): void {
    writeFileSync(`${file}.new`, `${newShiftMs < 0 ? '' : '+'}${newShiftMs / 1_000}\n`);
    renameSync(`${file}.new`, file);
  }
  setClock(shiftMs);
  const faked = {
    LD_PRELOAD: LIBRARIES.join(' '),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  };
  const redis = await startRedis(settings, undefined, LIBRARIES.includes(null) ? {} : faked);
  return {
    ...redis,
    setClock,
    async dispose() {
      await redis.dispose();
      rmSync(folder, { recursive: true, force: true });
    },
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

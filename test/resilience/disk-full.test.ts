/**
 * A full disk under the real gateway: a small file system in memory where that may be mounted (root only),
 * and everywhere a limit on the size of files, which is lifted from outside.
 */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { expectSurvival } from './outage.ts';

/** How often the disk fills; `OUTAGE_TIMES` asks for more. */
const TIMES = Number(process.env.OUTAGE_TIMES ?? 1);
const DISK_BYTES = 16 * 1_024 * 1_024;

function mount(mountPoint: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', mountPoint], {
    stdio: 'ignore',
  });
}

/** Writes until nothing fits any more. */
function fill(file: string): void {
  const descriptor = openSync(file, 'w');
  try {
    for (let bytes = 1 << 20; bytes >= 1; ) {
      try {
        writeSync(descriptor, Buffer.alloc(bytes));
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
        bytes >>= 1;
      }
    }
  } finally {
    closeSync(descriptor);
  }
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-full-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a full disk', { timeout: 240_000 + TIMES * 60_000 }, () => {
  test('is an outage that ends when there is space again', { tags: 'mount' }, async () => {
    const mountPoint = join(folder, 'disk');
    mkdirSync(mountPoint);
    mount(mountPoint);
    const ballast = join(mountPoint, 'ballast');
    try {
      await expectSurvival(
        join(mountPoint, 'gateway.db'),
        'disk-full',
        {
          begin: () => fill(ballast),
          end: () => rmSync(ballast),
        },
        /store is full/,
        TIMES,
      );
    } finally {
      execFileSync('umount', [mountPoint]);
    }
  });

  test('by a limit on the size of files does not kill the process, and is over when it is lifted', async () => {
    const limit = (pid: number, bytes: string) =>
      execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
    expect(() => limit(process.pid, 'unlimited')).not.toThrow();
    await expectSurvival(
      join(folder, 'gateway.db'),
      'file-size-limit',
      {
        begin: ({ pid }) => void limit(pid, '0'),
        end: ({ pid }) => void limit(pid, 'unlimited'),
      },
      /store is full|disk of the store fails/,
      TIMES,
    );
  });
});

/**
 * A full disk under the real gateway and under load: a limit on the size of files, which is lifted from
 * outside. A file system that fills is in `disk-stages.test.ts`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { expectSurvival } from './outage.ts';

/** How often the disk fills; `OUTAGE_TIMES` asks for more. */
const TIMES = Number(process.env.OUTAGE_TIMES ?? 1);
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-full-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a full disk', { timeout: 240_000 + TIMES * 60_000 }, () => {
  test('by a limit on the size of files does not kill the process, and is over when it is lifted', async () => {
    const limit = (pid: number, bytes: string) =>
      execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
    expect(() => limit(process.pid, 'unlimited')).not.toThrow();
    await expectSurvival(
      join(folder, 'gateway.db'),
      'file-size-limit',
      [
        {
          begin: ({ pid }) => void limit(pid, '0'),
          end: ({ pid }) => void limit(pid, 'unlimited'),
        },
      ],
      /store is full|disk of the store fails/,
      TIMES,
    );
  });
});

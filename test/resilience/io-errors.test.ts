/**
 * Errors of the disk under the real gateway: a tracer that is attached to it answers its writes, or its
 * fsyncs, with an error, and is detached again. What an fsync that failed leaves behind after a power cut is
 * another suite's.
 * @module-tag strace
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startGateway } from '../harness/gateway-process.ts';
import { expectSurvival, OUTAGE_SECONDS, type Outage, readLogOfOutage } from './outage.ts';

/** How often each error begins and ends; `OUTAGE_TIMES` asks for more. */
const TIMES = Number(process.env.OUTAGE_TIMES ?? 1);

let folder: string;
let tracer: ChildProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-io-'));
});
afterEach(async () => {
  await detach();
  rmSync(folder, { recursive: true, force: true });
});

/** Lets these system calls of a running process, and of threads it starts meanwhile, fail with an error. */
async function attach(pid: number, calls: string, error: string): Promise<void> {
  const inject = `inject=${calls}:error=${error}`;
  const started = spawn('strace', ['-f', '-p', String(pid), '-o', '/dev/null', '-e', inject]);
  tracer = started;
  let printed = '';
  await new Promise<void>((resolve, reject) => {
    started.once('exit', (code) => reject(new Error(`strace ended with ${code}: ${printed}`)));
    started.stderr?.on('data', (text) => {
      printed += text;
      if (printed.includes('attached')) resolve();
    });
  });
}

async function detach(): Promise<void> {
  if (!tracer) return;
  const ended = once(tracer, 'exit');
  tracer.kill('SIGTERM');
  tracer = undefined;
  await ended;
}

const failing = (calls: string, error: string): Outage => ({
  begin: ({ pid }) => attach(pid, calls, error),
  end: detach,
});

describe('an error of the disk', { timeout: 240_000 + TIMES * 60_000 }, () => {
  const file = (): string => join(folder, 'gateway.db');

  test('on writes is an outage that is over when they succeed again', async () => {
    await expectSurvival(
      file(),
      'write-errors',
      failing('pwrite64', 'EIO'),
      /disk of the store fails/,
      TIMES,
    );
  });

  test('on fsyncs is an outage: what was written and is not synced is not acknowledged', async () => {
    await expectSurvival(
      file(),
      'fsync-errors',
      failing('fsync,fdatasync', 'EIO'),
      /disk of the store fails/,
      TIMES,
    );
  });

  test(`that lasts ${OUTAGE_SECONDS} s is logged in one line when it begins, and in one when it is over`, async () => {
    const gateway = await startGateway({ STORE: `sqlite:${file()}` });
    const lines = await readLogOfOutage(gateway, failing('pwrite64', 'EIO'));
    await gateway.stop();
    // Both at the highest level: so they are the two lines of every level above `debug`.
    expect(lines).toEqual([
      expect.objectContaining({ level: 'error', msg: 'the store is out; the file is being reopened' }),
      expect.objectContaining({ level: 'error', msg: 'the store is back' }),
    ]);
  });

  test('that now and then fails a write is never a wrong answer', async () => {
    await expectSurvival(
      file(),
      'writes-that-fail-now-and-then',
      failing('pwrite64,fdatasync', 'EIO:when=7+23'),
      /disk of the store fails/,
      TIMES,
    );
  });
});

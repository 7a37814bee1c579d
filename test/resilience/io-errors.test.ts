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
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { get, getAdmin, post, submit, subscribe } from '../e2e/plain-calls.ts';
import { SECRET, startGateway } from '../harness/gateway-process.ts';
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

/** Does this to system calls of a running process, and of threads it starts meanwhile. */
async function attach(pid: number, calls: string, what: string): Promise<void> {
  const inject = `inject=${calls}:${what}`;
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
  begin: ({ pid }) => attach(pid, calls, `error=${error}`),
  end: detach,
});

describe('an error of the disk', { timeout: 240_000 + TIMES * 60_000 }, () => {
  const file = (): string => join(folder, 'gateway.db');

  test('on writes, then on fsyncs: what is not synced is not acknowledged, and it is over when they succeed', async () => {
    const outages = [failing('pwrite64', 'EIO'), failing('fsync,fdatasync', 'EIO')];
    await expectSurvival(file(), 'disk-errors', outages, /disk of the store fails/, TIMES);
  });

  test(`that lasts ${OUTAGE_SECONDS} s is logged in one line when it begins, and in one when it is over`, async () => {
    const gateway = await startGateway({ STORE: `sqlite:${file()}` });
    const lines = await readLogOfOutage(gateway, failing('pwrite64', 'EIO'));
    await gateway.stop();
    expect(lines).toEqual([
      expect.objectContaining({ level: 'error', msg: 'the store takes no writes: it tries again' }),
      expect.objectContaining({ level: 'info', msg: 'the store takes writes again' }),
    ]);
  });

  test('that holds back an fsync shows nothing new to any reader, and what is old to all', async () => {
    const gateway = await startGateway({ STORE: `sqlite:${file()}` });
    const url = gateway.baseUrl;
    const old = await submit(url, { cli_session_id: 's', queue_timeout: 600 });
    const stream = await subscribe(url, 's');
    const read = async (): Promise<unknown> => {
      const [task, { body }] = await Promise.all([
        get(url, `/api/cli/tasks/${old}`),
        getAdmin(url, '/api/admin/tasks'),
      ]);
      const ids = (body.tasks as { request_id: string }[]).map(({ request_id }) => request_id);
      return { status: task.body.status, ids, events: stream.events.length };
    };
    /** Calls while fsyncs are held back, and reads what others see; then the disk goes on. */
    const readMeanwhile = async (call: () => Promise<unknown>): Promise<readonly unknown[]> => {
      await attach(gateway.pid, 'fsync,fdatasync', 'delay_enter=60000000');
      let isAcknowledged = false;
      const called = call().finally(() => {
        isAcknowledged = true;
      });
      const seen: unknown[] = [];
      while (seen.length < 20) seen.push(await read());
      expect(isAcknowledged).toBe(false);
      await detach();
      await called;
      return seen;
    };
    let added = '';
    const before = await read();
    const seen = await readMeanwhile(async () => {
      added = await submit(url, { cli_session_id: 's', queue_timeout: 600 });
    });
    expect(new Set(seen.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(before)]));
    const cancelled = await readMeanwhile(() =>
      post(url, `/api/cli/tasks/${old}/cancel?auth=${SECRET}`, undefined),
    );
    const expected = { status: 'pending', ids: [added, old], events: 0 };
    expect(cancelled).toEqual(cancelled.map(() => expected));
    await vi.waitFor(async () => expect(await read()).toEqual({ ...expected, status: 'failed', events: 1 }));
    stream.leave();
    await gateway.stop();
  });

  test('that now and then fails a write is never a wrong answer', async () => {
    const outages = [failing('pwrite64,fdatasync', 'EIO:when=7+23')];
    await expectSurvival(file(), 'writes-that-fail-now-and-then', outages, /disk of the store fails/, TIMES);
  });
});

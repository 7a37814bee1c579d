/** The outbox: the file that keeps an agent’s undelivered outcomes for its next start. */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { createOutbox, type KeptReport } from '../../sdk/agent/outbox.ts';
import { agent, clock, create, events, gateway, offer, startPulling } from './agent-fixture.ts';
import { json } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { elapse, until } from './sdk-clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'task-gateway-outbox-'));
let files = 0;
const nextFile = (): string => {
  files += 1;
  return join(folder, `${files}.jsonl`);
};
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const LOCKED_AND_KILLED = `
  const { lockFile } = await import(process.env.LOCK);
  await lockFile(process.env.FILE);
  process.kill(process.pid, 'SIGKILL');`;

const report = (request_id: string): KeptReport => ({
  request_id,
  agent_id: 'a',
  status: 'success',
  result: { output: '完成\n' },
});

describe('an outbox', () => {
  test('holds after a restart what was kept and not removed', async () => {
    const file = nextFile();
    const errors: unknown[] = [];
    const first = createOutbox(file, (error) => errors.push(error));
    expect(await first.open()).toEqual([]);
    await Promise.all(['t1', 't2', 't3'].map((id) => first.keep(report(id))));
    await first.remove('t2');
    // Not closed: the process was killed. What it left is what is in the file now.
    const left = nextFile();
    copyFileSync(file, left);
    const second = createOutbox(left, (error) => errors.push(error));
    expect(await second.open()).toEqual([report('t1'), report('t3')]);
    await second.remove('t1');
    await second.remove('t3');
    expect(readFileSync(left, 'utf8')).toBe('');
    await second.close();
    await second.close();
    await first.close();
    expect(errors).toEqual([]);
  });

  test('ignores a last line that a crash left incomplete at any byte, and reports any other broken line', async () => {
    const line = `${JSON.stringify({ keep: report('t2') })}\n`;
    const bytes = Buffer.from(line);
    const whole = `${JSON.stringify({ keep: report('t1') })}\n`;
    const errors: unknown[] = [];
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const file = nextFile();
      writeFileSync(file, whole);
      appendFileSync(file, bytes.subarray(0, cut));
      const outbox = createOutbox(file, (error) => errors.push(error));
      const expected = cut === bytes.length ? [report('t1'), report('t2')] : [report('t1')];
      expect(await outbox.open(), `cut at ${cut}`).toEqual(expected);
      await outbox.keep(report('t3'));
      await outbox.close();
      const again = createOutbox(file, (error) => errors.push(error));
      expect(await again.open()).toEqual([...expected, report('t3')]);
      await again.close();
    }
    expect(errors).toEqual([]);
    const file = nextFile();
    writeFileSync(file, `garbage\n${whole}`);
    const outbox = createOutbox(file, (error) => errors.push(error));
    expect(await outbox.open()).toEqual([report('t1')]);
    expect(errors).toHaveLength(1);
    await outbox.close();
  });

  test('stays small however many outcomes pass through it, and keeps those that are not delivered', async () => {
    const file = nextFile();
    const errors: unknown[] = [];
    const outbox = createOutbox(file, (error) => errors.push(error));
    await outbox.open();
    await outbox.keep(report('stays'));
    for (let n = 0; n < 600; n += 1) {
      await outbox.keep(report(`t${n}`));
      await outbox.remove(`t${n}`);
    }
    expect(readFileSync(file, 'utf8').split('\n').length).toBeLessThan(1_010);
    await outbox.close();
    const again = createOutbox(file, (error) => errors.push(error));
    expect(await again.open()).toEqual([report('stays')]);
    await again.close();
    expect(errors).toEqual([]);
  });

  test('skips a line that is no outcome, and loses nothing that follows a torn one', async () => {
    const file = nextFile();
    const good = JSON.stringify({ keep: report('t2') });
    const torn = JSON.stringify({ keep: report('t1') }).slice(0, 40);
    const wrong = ['null', '5', '{}', '{"keep":null}', '{"keep":{"request_id":5}}', '[]'];
    writeFileSync(file, `${[...wrong, torn + good].join('\n')}\n`);
    const errors: unknown[] = [];
    const outbox = createOutbox(file, (error) => errors.push(error));
    expect(await outbox.open()).toEqual([report('t2')]);
    expect(errors).toHaveLength(wrong.length + 1);
    await outbox.close();
  });

  test('is used by one agent at a time; the lock of one that was killed does not stay', async () => {
    const file = nextFile();
    const first = createOutbox(file, () => undefined);
    await first.open();
    await first.keep(report('t1'));
    const second = createOutbox(file, () => undefined);
    await expect(second.open()).rejects.toMatchObject({ code: 'invalid_option' });
    await second.close();
    await first.close();
    expect(await second.open()).toEqual([report('t1')]);
    await second.close();
    const killed = spawnSync(process.execPath, ['--input-type=module', '-e', LOCKED_AND_KILLED], {
      env: { FILE: file, LOCK: new URL('../../sdk/agent/file-lock.ts', import.meta.url).href },
    });
    expect(killed.signal).toBe('SIGKILL');
    const third = createOutbox(file, () => undefined);
    expect(await third.open()).toEqual([report('t1')]);
    await third.close();
  });

  test('follows no link that waits where it writes, and is its owner’s alone', async () => {
    const file = nextFile();
    const victim = nextFile();
    writeFileSync(victim, 'precious');
    symlinkSync(victim, `${file}.new`);
    writeFileSync(file, '', { mode: 0o666 });
    chmodSync(file, 0o666);
    const outbox = createOutbox(file, () => undefined);
    await outbox.open();
    await outbox.keep(report('t1'));
    await outbox.close();
    expect(readFileSync(victim, 'utf8')).toBe('precious');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(lstatSync(file).isFile()).toBe(true);
  });

  test('writes everything anew after a write that failed', async () => {
    const file = nextFile();
    const errors: unknown[] = [];
    const outbox = createOutbox(file, (error) => errors.push(error));
    await outbox.open();
    await outbox.keep(report('t1'));
    const { prototype } = (await open(file, 'r').then(async (handle) => {
      await handle.close();
      return handle.constructor;
    })) as { prototype: FileHandle };
    const append = vi.spyOn(prototype, 'appendFile').mockImplementationOnce(async function (
      this: FileHandle,
    ) {
      await this.write('{"keep":{"request_id":"t2"');
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    });
    await outbox.keep(report('t2'));
    append.mockRestore();
    expect(errors).toHaveLength(1);
    await outbox.keep(report('t3'));
    const { ino } = statSync(file);
    await outbox.keep(report('t4'));
    expect(statSync(file).ino, 'then it appends again').toBe(ino);
    const left = nextFile();
    copyFileSync(file, left);
    await outbox.close();
    const again = createOutbox(left, (error) => errors.push(error));
    expect(await again.open()).toEqual(['t1', 't2', 't3', 't4'].map((id) => report(id)));
    await again.close();
    expect(errors).toHaveLength(1);
  });

  test('is on disk with its name before anything is appended to it', async () => {
    const file = nextFile();
    const { prototype } = (await open(folder, 'r').then(async (handle) => {
      await handle.close();
      return handle.constructor;
    })) as { prototype: FileHandle };
    const synced: string[] = [];
    const sync = vi.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
      const kind = (await this.stat()).isDirectory() ? 'folder' : 'file';
      const isRenamed = existsSync(file) && !existsSync(`${file}.new`);
      synced.push(`${kind} ${isRenamed ? 'after' : 'before'} the rename`);
      await this.datasync();
    });
    const append = vi.spyOn(prototype, 'appendFile').mockImplementation(async function (this: FileHandle) {
      synced.push('append');
    });
    const outbox = createOutbox(file, () => undefined);
    try {
      await outbox.open();
      await outbox.keep(report('t1'));
    } finally {
      sync.mockRestore();
      append.mockRestore();
      await outbox.close();
    }
    expect(synced).toEqual(['file before the rename', 'folder after the rename', 'append']);
  });

  test('does not open when its name can’t be brought to disk', async () => {
    const file = nextFile();
    const { prototype } = (await open(folder, 'r').then(async (handle) => {
      await handle.close();
      return handle.constructor;
    })) as { prototype: FileHandle };
    const sync = vi.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
      if ((await this.stat()).isDirectory())
        throw Object.assign(new Error('no such device'), { code: 'EIO' });
    });
    const outbox = createOutbox(file, () => undefined);
    await expect(outbox.open()).rejects.toMatchObject({ code: 'EIO' });
    sync.mockRestore();
    await outbox.close();
  });

  test('without a file keeps nothing and does not fail', async () => {
    const outbox = createOutbox(undefined, () => undefined);
    expect(await outbox.open()).toEqual([]);
    await outbox.keep(report('t1'));
    await outbox.remove('t1');
    await outbox.close();
  });
});

describe('an agent with an outbox', () => {
  test('reports after a restart what it could not report before, and does not take that task again', async () => {
    const outbox = nextFile();
    const first = await startPulling({ outbox, handler: () => '完成' });
    gateway.respondToReport = () => json(problem(503, 'store_unavailable'), 503);
    await offer('t1');
    await until(() => readFileSync(outbox, 'utf8') !== '', 'the outcome is in the file');
    await elapse(clock, first.stop({ drainMs: 0, graceMs: 0 }), 500);
    expect(readFileSync(outbox, 'utf8')).not.toBe('');

    const second = create({ outbox, handler: () => 'never' });
    await second.start();
    expect(gateway.registration).toMatchObject({ request_ids: ['t1'] });
    await until(() => gateway.outcomes.has('t1'), 'the outcome is reported');
    expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success', result: { output: '完成' } });
    await until(() => readFileSync(outbox, 'utf8') === '', 'the file is empty');
    await offer('t1');
    expect(events.filter(({ kind }) => kind === 'taken')).toEqual([]);
  });

  test('removes an outcome that the gateway does not want', async () => {
    const outbox = nextFile();
    writeFileSync(outbox, `${JSON.stringify({ keep: { ...report('t1'), agent_id: '译者 1' } })}\n`);
    const created = create({ outbox });
    gateway.respondToReport = () => json(problem(404, 'task_not_found'), 404);
    await created.start();
    await until(() => readFileSync(outbox, 'utf8') === '', 'the file is empty');
    expect(events).toContainEqual(expect.objectContaining({ kind: 'dropped', request_id: 't1' }));
  });

  test('reports another agent’s outcome under that agent’s id', async () => {
    const outbox = nextFile();
    writeFileSync(outbox, `${JSON.stringify({ keep: report('t1') })}\n`);
    await create({ outbox }).start();
    expect(gateway.registration).toMatchObject({ request_ids: [] });
    await until(() => gateway.outcomes.has('t1'), 'the outcome is reported');
    expect(gateway.outcomes.get('t1')).toMatchObject({ agent_id: 'a' });
  });

  test('does not start when the file can’t be opened', async () => {
    const created = create({ outbox: join(folder, 'no', 'such', 'folder') });
    await expect(created.start()).rejects.toMatchObject({ code: 'ENOENT' });
    expect(agent?.state).toBe('stopped');
  });
});

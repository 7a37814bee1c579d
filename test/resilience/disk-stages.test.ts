/**
 * A disk that fills under the real gateway, on a file system of its own (only root may mount one): each
 * stage, what it refuses and what it still does, and the way back.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { get, getAdmin, post, submit, subscribe } from '../e2e/plain-calls.ts';
import { printFigure } from '../harness/figures.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { MACHINE_SLACK_MS } from '../harness/slack.ts';

const MIB = 2 ** 20;
const SMALL_DISK = 64 * MIB;
const BACK_WITHIN_MS = 2_000 + MACHINE_SLACK_MS;
const WAIT = { timeout: 60_000, interval: 20 };

let folder: string;
let disk: string;
let gateway: GatewayProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-stages-'));
  disk = join(folder, 'disk');
  mkdirSync(disk);
});
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
  unmount(disk);
  rmSync(folder, { recursive: true, force: true });
});

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: 'ignore' });
}

/** A file system in memory. */
function mountSmall(): void {
  run('mount', '-t', 'tmpfs', '-o', `size=${SMALL_DISK}`, 'tmpfs', disk);
}

function unmount(mountPoint: string): void {
  try {
    run('umount', mountPoint);
  } catch {
    // Nothing was mounted.
  }
}

const freeBytes = (): number => {
  const { bavail, bsize } = statfsSync(disk);
  return bavail * bsize;
};

/** Fills the disk until this much is left. */
function leave(bytes: number): void {
  const taken = Math.max(0, freeBytes() - bytes);
  if (taken > 0) run('fallocate', '-l', String(taken), join(disk, `ballast-${bytes}`));
}

function empty(): void {
  run('find', disk, '-name', 'ballast-*', '-delete');
}

async function start(): Promise<string> {
  gateway = await startGateway({ STORE: `sqlite:${join(disk, 'gateway.db')}`, OPEN_TASKS_MAX: '20000' });
  return gateway.baseUrl;
}

const AGENT = { auth: SECRET, agent_id: 'A' };
const register = (url: string, agent_id: string) =>
  post(url, '/api/agent/register', {
    auth: SECRET,
    agent_id,
    endpoint: 'pull',
    agent_tags: ['e2e'],
    max_concurrent: 100,
  });
const cancel = (url: string, id: string) =>
  post(url, `/api/cli/tasks/${id}/cancel?auth=${SECRET}`, undefined);
const report = (url: string, request_id: string, chars: number) =>
  post(url, '/api/agent/result', {
    ...AGENT,
    request_id,
    status: 'success',
    result: { output: 'x'.repeat(chars) },
  });

async function expectStage(url: string, stage: number, said: RegExp): Promise<void> {
  await vi.waitFor(async () => {
    const answer = await fetch(`${url}/readyz`);
    expect(answer.status).toBe(stage < 2 ? 200 : 503);
    expect(await answer.text()).toMatch(said);
  }, WAIT);
  // A gateway renders its metrics at most once a second.
  await vi.waitFor(async () => {
    const page = await fetch(`${url}/metrics`, { headers: { 'X-Admin-Auth': ADMIN_SECRET } });
    const found = /^task_gateway_disk_stage (.*)$/m.exec(await page.text());
    expect(found?.[1]).toBe(String(stage));
  }, WAIT);
}

/** The lines of the log about the store. */
function readLog(): readonly string[] {
  return (gateway?.output() ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => String(JSON.parse(line).msg))
    .filter((message) => message.includes('the store'));
}

describe('a disk that fills', () => {
  test('refuses in two stages, is read to the last, and comes back', { tags: 'mount' }, async () => {
    mountSmall();
    const url = await start();
    expect((await register(url, 'A')).status).toBe(200);
    const ids: string[] = [];
    for (let n = 0; n < 80; n += 1) {
      const id = await submit(url, { cli_session_id: 's' });
      ids.push(id);
    }
    const take = async (): Promise<string> => {
      const claimed = (await post(url, '/api/agent/claim', { ...AGENT, wait: 5 })).body.request_id;
      ids.splice(ids.indexOf(String(claimed)), 1);
      return String(claimed);
    };
    const [first, second, third] = [await take(), await take(), await take()];
    await expectStage(url, 0, /ok/);

    leave(SMALL_DISK / 8 - MIB);
    await expectStage(
      url,
      1,
      /The disk of the store is nearly full: new tasks, agents and output are refused/,
    );
    const refused = await fetch(`${url}/api/cli/tasks`, {
      method: 'POST',
      body: JSON.stringify({ auth: SECRET, task_type: 't', task_tags: ['e2e'], payload: {} }),
    });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('Retry-After')).toMatch(/^\d+$/);
    expect(await refused.text()).toMatch(/nearly full: it takes no new tasks, agents and output now/);
    expect((await register(url, 'B')).status).toBe(503);
    expect((await report(url, first, 70_000)).status).toBe(200);

    expect((await report(url, second, 1_000)).status).toBe(200);
    expect((await cancel(url, third)).status).toBe(200);

    leave(0);
    const open = ids.pop() ?? '';
    for (let status = 200; status === 200; ) status = (await cancel(url, ids.pop() ?? '')).status;
    await expectStage(url, 2, /The store is full/);
    expect((await cancel(url, open)).status).toBe(503);
    expect((await get(url, `/api/cli/tasks/${first}`)).body.status).toBe('success');
    expect((await get(url, `/api/cli/tasks/${open}`)).status).toBe(200);
    expect((await getAdmin(url, '/api/admin/tasks')).status).toBe(200);
    const stream = await subscribe(url, 's');
    await vi.waitFor(() => expect(stream.events.length).toBeGreaterThanOrEqual(3), WAIT);
    stream.leave();

    empty();
    const startMs = performance.now();
    await vi.waitFor(async () => expect((await cancel(url, open)).status).toBe(200), WAIT);
    const backMs = performance.now() - startMs;
    expect(backMs).toBeLessThan(BACK_WITHIN_MS);
    await expectStage(url, 0, /ok/);
    await submit(url);
    printFigure('disk-stages:back-after', Math.round(backMs), 'ms');
    expect(readLog().slice(0, 2)).toEqual([
      'the disk of the store is nearly full: new tasks, agents and output are refused',
      'the store takes no writes: it tries again',
    ]);
    // The disk is looked at twice a second, so either may be seen first.
    expect(readLog().slice(2).toSorted()).toEqual([
      'the disk of the store has space again: everything is accepted',
      'the store takes writes again',
    ]);
  });
});

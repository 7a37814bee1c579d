/** One store file and more than one gateway, at once, one after the other, or of another version. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { get, submit } from '../e2e/plain-calls.ts';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';

/**
 * A gateway that found the file locked would wait up to ten seconds; so much more than a start may be nothing
 * else.
 */
const LOCK_WAIT_MS = 6_000;

let folder: string;
let started: GatewayProcess[];
let mounted: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-second-'));
  started = [];
  mounted = [];
});
afterEach(async () => {
  for (const gateway of started) await gateway.stop();
  for (const at of mounted) execFileSync('umount', [at]);
  rmSync(folder, { recursive: true, force: true });
});

const fileOf = (): string => join(folder, 'gateway.db');

async function start(file = fileOf()): Promise<GatewayProcess> {
  const gateway = await startGateway({ STORE: `sqlite:${file}` });
  started.push(gateway);
  return gateway;
}

/** Starts one and measures it: how long a start takes depends on what else the machine does. */
async function measureStart(): Promise<{ readonly gateway: GatewayProcess; readonly tookMs: number }> {
  const startMs = performance.now();
  const gateway = await start();
  return { gateway, tookMs: performance.now() - startMs };
}

/** The names and digests of all files in the folder but the lock. */
function listDigests(): readonly string[] {
  return readdirSync(folder)
    .filter((name) => !name.endsWith('.lock'))
    .sort()
    .map(
      (name) =>
        `${name} ${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}`,
    );
}

describe('a second gateway on the same file', () => {
  test('is refused with a sentence that says what to do, and the first goes on', async () => {
    const first = await start();
    const request_id = await submit(first.baseUrl, { queue_timeout: 60 });
    const refused = start();
    await expect(refused).rejects.toThrow(/gateway\.db is in use by another process/);
    await expect(refused).rejects.toThrow(/Stop that process, or name another file/);
    expect((await get(first.baseUrl, `/api/cli/tasks/${request_id}`)).body.status).toBe('pending');
  });

  test('starts at once when the first was killed, though it left its lock file, and takes over what it had', async () => {
    const { gateway: first, tookMs: aloneMs } = await measureStart();
    const request_id = await submit(first.baseUrl, { queue_timeout: 60 });
    await first.kill();
    expect(readdirSync(folder)).toContain('gateway.db.lock');
    const { gateway: second, tookMs } = await measureStart();
    expect(tookMs).toBeLessThan(aloneMs + LOCK_WAIT_MS);
    expect((await get(second.baseUrl, `/api/cli/tasks/${request_id}`)).body.status).toBe('pending');
  });

  test('that waits for the first starts as soon as that one is killed', async () => {
    const { gateway: first, tookMs: aloneMs } = await measureStart();
    const second = start();
    // At random the second is anywhere between the start of its process and the wait for the lock.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2_000));
    await first.kill();
    const startMs = performance.now();
    await second;
    expect(performance.now() - startMs).toBeLessThan(aloneMs + LOCK_WAIT_MS);
  });
});

/** Makes a second name of the database by mounting it over an empty file. */
function mountFile(file: string, at: string): void {
  writeFileSync(at, '');
  execFileSync('mount', ['--bind', file, at], { stdio: 'ignore' });
}

describe('a database with two names', () => {
  test('by a hard link is refused under both, also while nothing else has it open', async () => {
    const first = await start();
    const request_id = await submit(first.baseUrl, { queue_timeout: 60 });
    mkdirSync(join(folder, 'other'));
    const other = join(folder, 'other', 'linked.db');
    linkSync(fileOf(), other);
    await expect(start(other)).rejects.toThrow(/linked\.db has 2 names \(hard links\).*Copy the file/);
    await first.stop();
    await expect(start()).rejects.toThrow(/gateway\.db has 2 names/);
    rmSync(other);
    const again = await start();
    expect((await get(again.baseUrl, `/api/cli/tasks/${request_id}`)).body.status).toBe('pending');
  });

  test('by a mount of the file is refused while another process has it open under its first name', {
    tags: 'mount',
  }, async () => {
    const first = await start();
    const request_id = await submit(first.baseUrl, { queue_timeout: 60 });
    mkdirSync(join(folder, 'other'));
    const other = join(folder, 'other', 'mounted.db');
    mountFile(fileOf(), other);
    mounted.push(other);
    await expect(start(other)).rejects.toThrow(/mounted\.db is in use by another process under another name/);
    expect((await get(first.baseUrl, `/api/cli/tasks/${request_id}`)).body.status).toBe('pending');
    await first.stop();
    const second = await start(other);
    expect((await get(second.baseUrl, `/api/cli/tasks/${request_id}`)).body.status).toBe('pending');
    await second.stop();
  });
});

describe('a file of another kind', () => {
  test('of a newer format is refused, naming both versions, and stays as it is', async () => {
    const first = await start();
    await submit(first.baseUrl, { queue_timeout: 60 });
    await first.stop();
    const sqlite = new DatabaseSync(fileOf());
    sqlite.exec('PRAGMA user_version = 99');
    sqlite.close();
    const before = listDigests();
    await expect(start()).rejects.toThrow(
      /format version 99, this gateway reads version 1\. Start the gateway that wrote it; .* name another file/,
    );
    expect(listDigests()).toEqual(before);
  });

  test('of another program is refused and stays as it is, also while that program has it open', async () => {
    const theirs = new DatabaseSync(fileOf());
    theirs.exec('CREATE TABLE songs (title TEXT)');
    const before = listDigests();
    await expect(start()).rejects.toThrow(
      /belongs to another program, or to a gateway before version 2\. Name a file/,
    );
    expect(listDigests()).toEqual(before);
    theirs.exec("PRAGMA journal_mode = WAL; INSERT INTO songs VALUES ('one')");
    await expect(start()).rejects.toThrow(
      /belongs to another program, or to a gateway before version 2\. Name a file/,
    );
    theirs.exec("INSERT INTO songs VALUES ('two')");
    expect(theirs.prepare('SELECT count(*) AS n FROM songs').get()?.n).toBe(2);
    theirs.close();
  });
});

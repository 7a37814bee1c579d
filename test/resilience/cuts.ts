/**
 * Power cuts, tried: a life of the real gateway is recorded under strace, its files are rebuilt as a cut would leave
 * them at points spread over that life, and what had been answered by then is looked for.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileHere } from '../../server/engines/embedded/open.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { get, post, submit } from '../e2e/plain-calls.ts';
import { SECRET, startGateway } from '../harness/gateway-process.ts';
import { SILENT } from '../harness/silent-log.ts';
import { CUTS, createDisk } from './disk.ts';
import { type Operation, readRecording, STRACE, STRACE_CALLS } from './recording.ts';

const LANES = 6;
const LIFE_MAX_MS = 60_000;

/** What had been answered by the time of a cut, by task. */
export type Promised = { readonly submitted: ReadonlySet<string>; readonly succeeded: ReadonlySet<string> };

/** Says what of that a database file lacks. */
export type FindLost = (file: string, promised: Promised) => Promise<readonly string[]>;

/** Why strace can't be used here; undefined when it can. */
export function findTracingObstacle(): string | undefined {
  try {
    execFileSync('strace', ['-f', '-e', 'trace=none', 'true'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'strace is not installed or may not trace here (Debian: apt-get install strace)';
  }
}

/** Runs the real gateway under strace until so many tasks were submitted, claimed and reported; `more` goes to strace. */
export async function recordLife(
  folder: string,
  tasks: number,
  more: readonly string[] = [],
): Promise<readonly Operation[]> {
  const log = join(folder, 'operations.log');
  const database = join(folder, 'data');
  const gateway = await startGateway(
    { STORE: `sqlite:${database}/gateway.db`, PATH: process.env.PATH ?? '' },
    [...STRACE, STRACE_CALLS, ...more, '-o', log],
  );
  const url = gateway.baseUrl;
  const agent = { auth: SECRET, agent_id: 'cutter' };
  const body = { ...agent, endpoint: 'pull', agent_tags: ['e2e'], max_concurrent: 20 };
  const endMs = performance.now() + LIFE_MAX_MS;
  while ((await post(url, '/api/agent/register', body)).status !== 200) refuseEndless(endMs);
  let left = tasks;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      refuseEndless(endMs);
      const submitted = await submit(url, { cli_session_id: 'cut', queue_timeout: 60 }).catch(
        () => undefined,
      );
      if (submitted !== undefined) left -= 1;
      const claim = await post(url, '/api/agent/claim', { ...agent, wait: submitted === undefined ? 0 : 5 });
      if (claim.status !== 200) continue;
      const { request_id } = claim.body;
      await post(url, '/api/agent/result', {
        ...agent,
        request_id,
        status: 'success',
        result: { output: '好' },
      });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  await gateway.stop();
  return readRecording(log, database);
}

function refuseEndless(endMs: number): void {
  if (performance.now() > endMs) throw new Error('the recorded life took longer than a minute');
}

/** So many places spread over the whole life. */
export function spread(operations: readonly Operation[], count: number): ReadonlySet<number> {
  return new Set(
    Array.from({ length: count }, (_, n) => Math.floor(((n + 1) * operations.length) / count) - 1),
  );
}

/** So many places spread over what came shortly behind each failed fsync: `reach` operations. */
export function spreadBehindFailures(
  operations: readonly Operation[],
  count: number,
  reach: number,
): ReadonlySet<number> {
  const near = operations.flatMap(({ kind }, at) =>
    kind === 'failed sync' ? Array.from({ length: reach }, (_, n) => at + n) : [],
  );
  const places = [...new Set(near)].filter((at) => at < operations.length);
  return new Set(places.filter((_, n) => (n * count) % places.length < count));
}

/** Goes through the operations and cuts behind those at the given places, in all ways; stops at the first loss. */
export async function tryCuts(
  operations: readonly Operation[],
  places: ReadonlySet<number>,
  findLost: FindLost,
): Promise<{ readonly tried: number; readonly promises: number; readonly lost: readonly string[] }> {
  // In memory if there is such a folder: nothing here depends on a disk.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'task-gateway-cut-'));
  const disk = createDisk();
  const submitted = new Set<string>();
  const succeeded = new Set<string>();
  let tried = 0;
  let lost: readonly string[] = [];
  try {
    for (const [at, operation] of operations.entries()) {
      disk.follow(operation);
      if (operation.kind === 'answer') noteAnswer(operation.text, submitted, succeeded);
      for (const how of CUTS) {
        if (!places.has(at) || submitted.size === 0 || lost.length > 0) continue;
        tried += 1;
        disk.cut(how, folder, Math.random);
        const found = await findLost(join(folder, 'gateway.db'), { submitted, succeeded }).catch(tellError);
        lost = found.map((one) => `cut after operation ${at} (${how}): ${one}`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { tried, promises: submitted.size + succeeded.size, lost };
}

function tellError(error: unknown): readonly string[] {
  return [error instanceof Error ? error.message : String(error)];
}

/** What a caller was told: a task that was accepted, a report that was. */
function noteAnswer(text: string, submitted: Set<string>, succeeded: Set<string>): void {
  const id = /"request_id":"([^"]+)"/.exec(text)?.[1];
  if (!text.startsWith('HTTP/1.1 200') || id === undefined) return;
  if (text.includes('"status":"pending"')) submitted.add(id);
  if (text.includes('"accepted":true')) succeeded.add(id);
}

/** Asks the engine alone. */
export const findLostByEngine: FindLost = async (file, { submitted, succeeded }) => {
  const openStorage = () => openFileHere(file);
  const store = await createEmbeddedStore({ openStorage, clock: createClock(), log: SILENT });
  try {
    const lost: string[] = [];
    for (const id of submitted) {
      const state = (await store.get('task', id))?.value;
      if (!state || !(await store.get('input', id))) lost.push(`${id} was submitted`);
      if (succeeded.has(id) && state?.status !== 'success') lost.push(`${id} had succeeded`);
    }
    return lost;
  } finally {
    await store.close();
  }
};

/** Starts the real gateway on the file and asks it over HTTP. */
export const findLostByGateway: FindLost = async (file, { submitted, succeeded }) => {
  const gateway = await startGateway({ STORE: `sqlite:${file}` });
  try {
    const lost: string[] = [];
    for (const id of submitted) {
      const { status, body } = await get(gateway.baseUrl, `/api/cli/tasks/${id}`);
      if (status !== 200) lost.push(`${id} was submitted and is answered ${status}`);
      else if (succeeded.has(id) && body.status !== 'success') lost.push(`${id} had succeeded`);
    }
    return lost;
  } finally {
    await gateway.kill();
  }
};

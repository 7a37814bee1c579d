/**
 * Power cuts: a run of the real gateway is recorded under strace, its files are rebuilt as a cut would leave
 * them at points spread over that run, and what was acknowledged before each cut is looked up.
 */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSqliteStore } from '../../server/engines/sqlite/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { get, post, submit } from '../e2e/plain-calls.ts';
import { openFileHere } from '../engines/sqlite-under-test.ts';
import { SECRET, startGateway } from '../harness/gateway-process.ts';
import { SILENT } from '../harness/silent-log.ts';
import { CUTS, createDisk } from './disk.ts';
import { type Operation, readRecording, STRACE, STRACE_CALLS } from './recording.ts';

const LANES = 6;
const RUN_MAX_MS = 240_000;

/** What was acknowledged before a cut, by task; of its output, how many pieces were stored or shown. */
type Promised = {
  readonly submitted: ReadonlySet<string>;
  readonly succeeded: ReadonlySet<string>;
  readonly pieces: ReadonlyMap<string, number>;
};

/** Resolves with what of that a database file lacks. */
export type FindLost = (file: string, promised: Promised) => Promise<readonly string[]>;

/**
 * Runs the real gateway under strace until this many tasks were submitted, claimed and reported, in this many
 * parts with a pause between two; `more` goes to strace.
 */
export async function recordRun(
  folder: string,
  tasks: number,
  { more = [], parts = 1 }: { readonly more?: readonly string[]; readonly parts?: number } = {},
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
  const endMs = performance.now() + RUN_MAX_MS;
  const file = join(database, 'gateway.db');
  while ((await post(url, '/api/agent/register', body)).status !== 200) requireTimeLeft(endMs);
  let left = 0;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      requireTimeLeft(endMs);
      const submitted = await submit(url, { cli_session_id: 'cut', queue_timeout: 60 }).catch(
        () => undefined,
      );
      if (submitted !== undefined) left -= 1;
      const claim = await post(url, '/api/agent/claim', { ...agent, wait: submitted === undefined ? 0 : 5 });
      if (claim.status !== 200) continue;
      const request_id = String(claim.body.request_id);
      await writeOutput(url, agent, request_id);
      await post(url, '/api/agent/result', {
        ...agent,
        request_id,
        status: 'success',
        result: { output: '好' },
      });
    }
  };
  for (let part = 1; part <= parts; part += 1) {
    const movedMs = statSync(file).mtimeMs;
    left = tasks / parts;
    await Promise.all(Array.from({ length: LANES }, lane));
    // In the pause the log is moved into the database, so that the next part begins it anew.
    for (; part < parts && statSync(file).mtimeMs === movedMs; await sleep(20)) requireTimeLeft(endMs);
  }
  await gateway.stop();
  return readRecording(log, database);
}

/** Two pieces by two calls; then a client reads them. */
async function writeOutput(
  url: string,
  agent: { readonly auth: string; readonly agent_id: string },
  request_id: string,
): Promise<void> {
  for (const [from, pieces] of [
    [0, pieceOf(request_id, 1)],
    [1, pieceOf(request_id, 2)],
  ] as const)
    await post(url, '/api/agent/output', { ...agent, request_id, writer: 'cutter', from, pieces: [pieces] });
  await get(url, `/api/cli/tasks/${request_id}/output`);
}

function pieceOf(request_id: string, n: number) {
  return { data: { request_id, n } };
}

function requireTimeLeft(endMs: number): void {
  if (performance.now() > endMs) throw new Error(`the recorded run took longer than ${RUN_MAX_MS} ms`);
}

/** This many operations, spread over the whole run; by index. */
export function spread(operations: readonly Operation[], count: number): ReadonlySet<number> {
  return new Set(
    Array.from({ length: count }, (_, n) => Math.floor(((n + 1) * operations.length) / count) - 1),
  );
}

/** This many operations, spread over the `reach` operations after each failed fsync; by index. */
export function spreadBehindFailures(
  operations: readonly Operation[],
  count: number,
  reach: number,
): ReadonlySet<number> {
  const near = operations.flatMap(({ kind }, at) =>
    kind === 'failed sync' ? Array.from({ length: reach }, (_, n) => at + n) : [],
  );
  const indexes = [...new Set(near)].filter((at) => at < operations.length);
  return new Set(indexes.filter((_, n) => (n * count) % indexes.length < count));
}

/**
 * Goes through the operations and cuts after those at the given indexes, in all ways; stops at the first
 * loss.
 */
export async function tryCuts(
  operations: readonly Operation[],
  cutAfter: ReadonlySet<number>,
  findLost: FindLost,
): Promise<{
  readonly tried: number;
  readonly promises: number;
  readonly pieces: number;
  readonly lost: readonly string[];
}> {
  // In memory if there is such a folder: nothing here depends on a disk.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'task-gateway-cut-'));
  const disk = createDisk();
  const submitted = new Set<string>();
  const succeeded = new Set<string>();
  const pieces = new Map<string, number>();
  let tried = 0;
  let lost: readonly string[] = [];
  try {
    for (const [at, operation] of operations.entries()) {
      disk.follow(operation);
      if (operation.kind === 'answer') noteAnswer(operation.text, submitted, succeeded, pieces);
      for (const how of CUTS) {
        if (!cutAfter.has(at) || submitted.size === 0 || lost.length > 0) continue;
        tried += 1;
        disk.cut(how, folder, Math.random);
        const found = await findLost(join(folder, 'gateway.db'), { submitted, succeeded, pieces }).catch(
          describeError,
        );
        lost = found.map((one) => `cut after operation ${at} (${how}): ${one}`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { tried, promises: submitted.size + succeeded.size, pieces: pieces.size, lost };
}

function describeError(error: unknown): readonly string[] {
  return [error instanceof Error ? error.message : String(error)];
}

/** Notes what a response acknowledges or shows: an accepted task, report or output, a page of output. */
function noteAnswer(
  text: string,
  submitted: Set<string>,
  succeeded: Set<string>,
  pieces: Map<string, number>,
): void {
  const id = /"request_id":"([^"]+)"/.exec(text)?.[1];
  if (!text.startsWith('HTTP/1.1 200') || id === undefined) return;
  const count = /"(?:next|last)":(\d+)/.exec(text)?.[1];
  if (count !== undefined) {
    pieces.set(id, Math.max(Number(count), pieces.get(id) ?? 0));
    return;
  }
  if (text.includes('"status":"pending"')) submitted.add(id);
  if (text.includes('"accepted":true')) succeeded.add(id);
}

/** Looks with the engine alone. */
export const findLostByEngine: FindLost = async (file, { submitted, succeeded, pieces }) => {
  const store = createSqliteStore(openFileHere(file), { clock: createClock(), log: SILENT });
  try {
    const lost: string[] = [];
    for (const id of submitted) {
      const state = (await store.get('task', id))?.value;
      if (!state || !(await store.get('input', id))) lost.push(`${id} was submitted`);
      if (succeeded.has(id) && state?.status !== 'success') lost.push(`${id} had succeeded`);
    }
    for (const [id, count] of pieces) {
      const stored = (await store.readOutput(id, 0, 9)).pieces.map(({ json }) => json);
      const expected = [1, 2].slice(0, Math.max(count, stored.length));
      if (JSON.stringify(stored) !== JSON.stringify(expected.map((n) => JSON.stringify(pieceOf(id, n)))))
        lost.push(`${id} had ${count} pieces and has ${stored}`);
    }
    return lost;
  } finally {
    await store.close();
  }
};

/** Starts the real gateway on the file and looks over HTTP. */
export const findLostByGateway: FindLost = async (file, { submitted, succeeded }) => {
  const gateway = await startGateway({ STORE: `sqlite:${file}` });
  try {
    const lost: string[] = [];
    for (const id of submitted) {
      const { status, body } = await get(gateway.baseUrl, `/api/cli/tasks/${id}`);
      if (status !== 200) lost.push(`${id} was submitted and is now ${status}`);
      else if (succeeded.has(id) && body.status !== 'success') lost.push(`${id} had succeeded`);
    }
    return lost;
  } finally {
    await gateway.kill();
  }
};

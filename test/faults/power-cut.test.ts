/**
 * A power cut at any point: the operations of the real process on its files are recorded under load, the files are
 * rebuilt as a cut would leave them, and the engine opens them. What had been answered by then is there.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openFileHere } from '../../server/engines/embedded/open.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { post, submit } from '../e2e/wire.ts';
import { SECRET, startGateway } from '../fakes/gateway-process.ts';
import { SILENT } from '../fakes/silence.ts';
import { CUTS, createDisk } from './disk.ts';
import { type Operation, readRecording, STRACE, STRACE_CALLS } from './recording.ts';

/** How many cuts are tried; `CUT_POINTS` asks for more. */
const POINTS = Number(process.env.CUT_POINTS ?? 2_000);
const TASKS = 150;

/** Why the recording cannot be made here; undefined when it can. */
function findObstacle(): string | undefined {
  try {
    execFileSync('strace', ['-f', '-e', 'trace=none', 'true'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'strace is not installed or may not trace here (Debian: apt-get install strace)';
  }
}

const obstacle = findObstacle();
if (obstacle !== undefined) console.warn(`NOT TRIED: power cuts. ${obstacle}.`);

test('where the tests must be complete, power cuts are tried', () => {
  if (process.env.CI === 'true') expect(obstacle).toBeUndefined();
});

test.skipIf(obstacle !== undefined)(
  `${POINTS} power cuts lose nothing that was answered`,
  { timeout: 600_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'task-gateway-cut-'));
    try {
      const operations = await record(folder);
      const { tried, promises } = await tryCuts(operations, join(folder, 'after'));
      console.log(`${tried} cuts in ${operations.length} operations; up to ${promises} answers to keep`);
      expect(promises).toBeGreaterThanOrEqual(TASKS);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

/** Runs the real gateway under strace while tasks are submitted, claimed and reported. */
async function record(folder: string): Promise<readonly Operation[]> {
  const log = join(folder, 'operations.log');
  const database = join(folder, 'data');
  const gateway = await startGateway(
    { STORE: `sqlite:${database}/gateway.db`, PATH: process.env.PATH ?? '' },
    [...STRACE, STRACE_CALLS, '-o', log],
  );
  const url = gateway.baseUrl;
  const agent = { auth: SECRET, agent_id: 'cutter' };
  await post(url, '/api/agent/register', {
    ...agent,
    endpoint: 'pull',
    agent_tags: ['e2e'],
    max_concurrent: 20,
  });
  const lane = async (): Promise<void> => {
    for (let n = 0; n < TASKS / 6; n += 1) {
      await submit(url, { cli_session_id: 'cut', queue_timeout: 60 });
      const { status, body } = await post(url, '/api/agent/claim', { ...agent, wait: 5 });
      if (status !== 200) continue;
      const { request_id } = body;
      await post(url, '/api/agent/result', {
        ...agent,
        request_id,
        status: 'success',
        result: { output: '好' },
      });
    }
  };
  await Promise.all(Array.from({ length: 6 }, lane));
  await gateway.stop();
  return readRecording(log, database);
}

/** Goes through the operations and cuts at points spread over all of them, each in another way. */
async function tryCuts(
  operations: readonly Operation[],
  folder: string,
): Promise<{ readonly tried: number; readonly promises: number }> {
  const disk = createDisk();
  const submitted = new Set<string>();
  const succeeded = new Set<string>();
  const every = Math.max(1, Math.floor((operations.length * CUTS.length) / POINTS));
  let point = 0;
  let tried = 0;
  for (const operation of operations) {
    disk.follow(operation);
    if (operation.kind === 'answer') noteAnswer(operation.text, submitted, succeeded);
    for (const how of CUTS) {
      point += 1;
      if (point % every !== 0) continue;
      tried += 1;
      disk.cut(how, folder, Math.random);
      const lost = await findLost(join(folder, 'gateway.db'), submitted, succeeded);
      expect(lost, `cut after operation ${point / CUTS.length} (${how})`).toEqual([]);
    }
  }
  return { tried, promises: submitted.size + succeeded.size };
}

/** What a caller was told: a task that was accepted, a report that was. */
function noteAnswer(text: string, submitted: Set<string>, succeeded: Set<string>): void {
  const id = /"request_id":"([^"]+)"/.exec(text)?.[1];
  if (!text.startsWith('HTTP/1.1 200') || id === undefined) return;
  if (text.includes('"status":"pending"')) submitted.add(id);
  if (text.includes('"accepted":true')) succeeded.add(id);
}

async function findLost(
  file: string,
  submitted: ReadonlySet<string>,
  succeeded: ReadonlySet<string>,
): Promise<readonly string[]> {
  if (submitted.size === 0) return [];
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
}

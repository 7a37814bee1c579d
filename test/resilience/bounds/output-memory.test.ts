/** What output takes of the heap: a reader that follows a task, and a task whose agent writes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildCall, send } from '../../contract/usual-calls.ts';
import { printFigure } from '../../harness/figures.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../../harness/gateway-process.ts';
import { INSPECTED, measureHeapOf } from '../../harness/heap.ts';

const TASKS = 1_000;
const READ_TASKS = 6;
/** As many as one task may have. */
const READERS = 100;
const READER_BYTES_MAX = 40_000;
/** A task that writes is acknowledged, too: its history has an entry more. */
const WRITING_BYTES_MAX = 1_024;
const agent_id = 'a';
const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const folder = mkdtempSync(join(tmpdir(), 'task-gateway-heap-'));

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({ ...INSPECTED, STORE: `sqlite:${folder}/gateway.db` });
  await ask('registerAgent', { agent_id, agent_tags: ['w'], max_concurrent: TASKS });
});
afterAll(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function ask(operationId: Parameters<typeof buildCall>[0], body = {}, id?: string) {
  const { status, text } = await send(gateway.baseUrl, buildCall(operationId, secrets, body, id));
  expect(status).toBe(200);
  return JSON.parse(text);
}

/** Tasks that the agent has, fifty at a time. */
async function forEach<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < all.length; from += 50) await Promise.all(all.slice(from, from + 50).map(work));
}

async function submitTasks(count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  const task = { task_tags: ['w'], timeout: 3_600 };
  await forEach(Array.from({ length: count }), async () => {
    ids.push((await ask('submitTask', task)).request_id);
  });
  await forEach(ids, (id) =>
    expect.poll(async () => (await ask('getTask', {}, id)).status, { timeout: 60_000 }).toBe('running'),
  );
  return ids;
}

/** Follows the output of a task; resolves with what ends it, once its first frame has come. */
function follow(request_id: string): Promise<() => void> {
  const { path } = buildCall('readOutput', secrets, {}, request_id);
  return new Promise((resolve, reject) => {
    const headers = { accept: 'text/event-stream' };
    const sent = request(gateway.baseUrl + path, { headers, agent: false }, (response) => {
      response.on('error', () => undefined);
      response.once('data', () => resolve(() => void sent.destroy()));
    });
    sent.once('error', reject).end();
  });
}

test('a task that writes takes 1 KiB at most, and a reader 40 KB', { timeout: 300_000 }, async () => {
  const ids = await submitTasks(TASKS);
  const write = (from: number) => (request_id: string) =>
    ask('writeOutput', { agent_id, request_id, from, pieces: [{ text: 'page 1\n' }] });
  await forEach(ids.slice(0, 20), write(0));
  const before = await measureHeapOf(gateway);
  const others = ids.slice(20);
  for (const from of [0, 1, 2]) await forEach(others, write(from));
  const written = await measureHeapOf(gateway);
  const writingBytes = (written - before) / others.length;
  printFigure('heap-of-a-writing-task', writingBytes, 'bytes');

  const first = await follow(ids[0] ?? '');
  const beforeReaders = await measureHeapOf(gateway);
  const ends: (() => void)[] = [first];
  const followed = ids.slice(1, 1 + READ_TASKS).flatMap((id) => Array.from({ length: READERS }, () => id));
  await forEach(followed, async (id) => ends.push(await follow(id)));
  const readerBytes = ((await measureHeapOf(gateway)) - beforeReaders) / followed.length;
  for (const end of ends) end();
  printFigure('heap-of-a-reader', readerBytes, 'bytes');
  expect(writingBytes).toBeLessThan(WRITING_BYTES_MAX);
  expect(readerBytes).toBeLessThan(READER_BYTES_MAX);
});

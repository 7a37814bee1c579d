/**
 * What the worst call of each operation costs on a store that is filled to its limits: no piece of the main
 * thread is long, and the CPU of all threads is bounded, whatever callers and agents choose.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS, send } from '../../contract/usual-calls.ts';
import { makeFolder } from '../../harness/folder.ts';
import { type GatewayProcess, startGateway } from '../../harness/gateway-process.ts';
import { type FullStore, fillFile } from './full-store.ts';
import { buildWaiting, ROWS } from './worst-calls.ts';

/** The longest uninterrupted piece of the main thread, and the CPU of all threads, for one call. */
const PIECE_MAX_MS = 25;
const CPU_MAX_MS = 25;
const ELEMENT_MAX_MS = 0.1;
/** One `JSON.parse` of a body above 64 KiB may be such a piece. */
const PARSE_MAX_MS = 60;
const LARGE_BODY_BYTES = 65_536;
const ROUNDS = 5;
/** What `calibrate()` takes on the machine that the bounds were written for. */
const CALIBRATED_MS = 20;

const folder = makeFolder();
let store: FullStore;
let gateway: GatewayProcess;
let watchUrl = '';
let scale = 1;

beforeAll(async () => {
  scale = Math.max(1, calibrate() / CALIBRATED_MS);
  const file = join(folder.path, 'full.db');
  store = await fillFile(file);
  const preload = new URL('./watched-process.ts', import.meta.url).href;
  gateway = await startGateway({ STORE: `sqlite:${file}`, NODE_OPTIONS: `--import=${preload}` });
  watchUrl = `http://127.0.0.1:${/watched on port (\d+)/.exec(gateway.output())?.[1]}`;
}, 300_000);
afterAll(async () => {
  await gateway?.stop();
  folder.remove();
}, 30_000);

/** CPU time of a fixed piece of work, the least of five. */
function calibrate(): number {
  let leastMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.threadCpuUsage();
    const words = new Map<string, number>();
    for (let n = 0; n < 60_000; n += 1) words.set(`word-${n % 5_000}`, n);
    JSON.parse(JSON.stringify([...words]));
    const { user, system } = process.threadCpuUsage(before);
    leastMs = Math.min(leastMs, (user + system) / 1_000);
  }
  return leastMs;
}

/** CPU of each thread of the gateway until now, in ms. */
function readThreads(): ReadonlyMap<string, number> {
  const tasks = `/proc/${gateway.pid}/task`;
  const readMs = (id: string): number =>
    Number(readFileSync(`${tasks}/${id}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  return new Map(readdirSync(tasks).map((id) => [id, readMs(id)]));
}

/** CPU of all threads since then; a thread that has ended meanwhile is left out. */
function readCpuMs(before: ReadonlyMap<string, number>): number {
  return [...readThreads()].reduce((sum, [id, ms]) => sum + ms - (before.get(id) ?? 0), 0);
}

async function watch(path: 'begin' | 'end'): Promise<number> {
  return Number(await (await fetch(`${watchUrl}/${path}`)).text());
}

const table: string[] = [];
afterAll(() => console.log(['operation | at | piece ms | CPU ms | bound', ...table].join('\n')));

test('each operation of the document has a row', () => {
  expect(OPERATIONS.filter((operation) => (ROWS[operation] ?? []).length === 0)).toEqual([]);
});

describe.each(OPERATIONS)('%s', (operation) => {
  test.each(ROWS[operation])('$at', { timeout: 120_000 }, async ({ at, call, elements = 0 }) => {
    let [leastMs, pieceMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let round = 0; round < ROUNDS; round += 1) {
      const built = call(store, 2 * round);
      const before = readThreads();
      const { status } = await send(gateway.baseUrl, built);
      leastMs = Math.min(leastMs, readCpuMs(before));
      expect(status, `${built.method} ${built.path}`).toBeLessThan(400);
      await watch('begin');
      await send(gateway.baseUrl, call(store, 2 * round + 1));
      pieceMs = Math.min(pieceMs, await watch('end'));
    }
    const { body = '' } = call(store, 0);
    const pieceMaxMs = (body.length > LARGE_BODY_BYTES ? PARSE_MAX_MS : PIECE_MAX_MS) * scale;
    const cpuMaxMs = Math.max(CPU_MAX_MS, elements * ELEMENT_MAX_MS) * scale;
    table.push([operation, at, pieceMs.toFixed(1), leastMs.toFixed(1), cpuMaxMs.toFixed(0)].join(' | '));
    expect(pieceMs).toBeLessThanOrEqual(pieceMaxMs);
    expect(leastMs).toBeLessThanOrEqual(cpuMaxMs);
  });
});

test('what falls due later: the waits of 20 tasks with 64 unknown tags end', {
  timeout: 60_000,
}, async () => {
  const submit = () => send(gateway.baseUrl, buildWaiting());
  const submitted = await Promise.all(Array.from({ length: 20 }, submit));
  const ids = submitted.map(({ text }) => (JSON.parse(text) as { request_id: string }).request_id);
  await watch('begin');
  const readStatus = async (id: string): Promise<unknown> => {
    const { text } = await send(gateway.baseUrl, ROWS.getTask[0].call({ ended: [id], held: [] }, 0));
    return (JSON.parse(text) as { status: unknown }).status;
  };
  for (const id of ids) await expect.poll(() => readStatus(id), { timeout: 20_000 }).toBe('failed');
  const pieceMs = await watch('end');
  table.push(['(due)', '20 waits end', pieceMs.toFixed(1), '', ''].join(' | '));
  expect(pieceMs).toBeLessThanOrEqual(PIECE_MAX_MS * scale);
});
